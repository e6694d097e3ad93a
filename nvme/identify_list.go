package nvme

import (
	"encoding/binary"
	"fmt"
)

// MaxListedNamespaces is the most entries of one namespace list.
const MaxListedNamespaces = IdentifySize / 4

// DecodeNamespaceList reads a list of namespace identifiers of [IdentifySize]
// bytes (CNS 02h, 07h, 10h, 1Ah), up to the first 0. A list of
// [MaxListedNamespaces] entries may go on: ask again from its last one.
func DecodeNamespaceList(b []byte) ([]uint32, error) {
	if err := need("namespace list", b, IdentifySize); err != nil {
		return nil, err
	}
	var ids []uint32
	for i := range MaxListedNamespaces {
		id := binary.LittleEndian.Uint32(b[4*i:])
		if id == 0 {
			break
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// NamespaceDescriptors are the identifiers of a namespace (CNS 03h). Missing
// ones are zero.
type NamespaceDescriptors struct {
	EUI64 EUI64 `json:"eui64"`
	NGUID GUID  `json:"nguid"`
	UUID  GUID  `json:"uuid"`
	// CSI is the command set of the namespace; HasCSI is false if the drive
	// does not say, which means [SetNVM].
	CSI    CommandSet `json:"csi"`
	HasCSI bool       `json:"has_csi"`
}

// Namespace identifier types.
const (
	nidtEUI64 = 1
	nidtNGUID = 2
	nidtUUID  = 3
	nidtCSI   = 4

	nidHeader = 4
)

// DecodeNamespaceDescriptors reads a namespace identification descriptor list
// of [IdentifySize] bytes. Descriptors of unknown types are skipped; one that
// passes the end, or a known one of a wrong length, is an error.
func DecodeNamespaceDescriptors(b []byte) (*NamespaceDescriptors, error) {
	if err := need("namespace identification descriptor list", b, IdentifySize); err != nil {
		return nil, err
	}
	d := &NamespaceDescriptors{}
	for at := 0; at+nidHeader <= IdentifySize; {
		typ, size := b[at], int(b[at+1])
		if size == 0 {
			break
		}
		if at+nidHeader+size > IdentifySize {
			return nil, fmt.Errorf("namespace identification descriptor list: descriptor of type %d at %d has %d bytes and passes the end at %d",
				typ, at, size, IdentifySize)
		}
		nid := b[at+nidHeader:][:size]
		want := size
		switch typ {
		case nidtEUI64:
			want = len(d.EUI64)
			copy(d.EUI64[:], nid)
		case nidtNGUID:
			want = len(d.NGUID)
			copy(d.NGUID[:], nid)
		case nidtUUID:
			want = len(d.UUID)
			copy(d.UUID[:], nid)
		case nidtCSI:
			want = 1
			d.CSI, d.HasCSI = CommandSet(nid[0]), true
		}
		if size != want {
			return nil, fmt.Errorf("namespace identification descriptor list: descriptor of type %d at %d has %d bytes instead of %d", typ, at, size, want)
		}
		at += nidHeader + size
	}
	return d, nil
}
