package nvme

import "encoding/binary"

// CommandSets is a combination of command sets that can be on together: a bit
// for each command set identifier.
type CommandSets uint64

// Has reports whether the combination holds a command set.
func (c CommandSets) Has(s CommandSet) bool { return s < 64 && c>>s&1 != 0 }

// DecodeCommandSets reads the I/O command set data structure of
// [IdentifySize] bytes (CNS 1Ch): the combinations by their index, which the
// command set profile feature selects. Unused ones at the end are left out.
func DecodeCommandSets(b []byte) ([]CommandSets, error) {
	if err := need("I/O command set list", b, IdentifySize); err != nil {
		return nil, err
	}
	var out []CommandSets
	for i := range IdentifySize / 8 {
		if v := binary.LittleEndian.Uint64(b[8*i:]); v != 0 {
			out = append(out, make([]CommandSets, i-len(out))...)
			out = append(out, CommandSets(v))
		}
	}
	return out, nil
}

// UUIDAssociation says whose a vendor specific UUID is.
type UUIDAssociation uint8

// Associations of UUIDs.
const (
	UUIDNotAssociated UUIDAssociation = 0
	// UUIDOfVendor belongs to the vendor in [IdentifyController.VID].
	UUIDOfVendor UUIDAssociation = 1
	// UUIDOfSubsystemVendor belongs to the vendor in
	// [IdentifyController.SSVID].
	UUIDOfSubsystemVendor UUIDAssociation = 2
)

// VendorUUID is one entry of a UUID list.
type VendorUUID struct {
	UUID        GUID            `json:"uuid"`
	Association UUIDAssociation `json:"association"`
}

const uuidEntrySize = 32

// DecodeUUIDs reads a UUID list of [IdentifySize] bytes (CNS 17h), up to the
// first that is zero. Entry i has UUID index i+1, for
// [IdentifyOptions.UUIDIndex] and its likes.
func DecodeUUIDs(b []byte) ([]VendorUUID, error) {
	if err := need("UUID list", b, IdentifySize); err != nil {
		return nil, err
	}
	var out []VendorUUID
	for at := uuidEntrySize; at < IdentifySize; at += uuidEntrySize {
		u := VendorUUID{UUID: GUID(b[at+16:][:16]), Association: UUIDAssociation(b[at] & 3)}
		if u.UUID.IsZero() {
			break
		}
		out = append(out, u)
	}
	return out, nil
}
