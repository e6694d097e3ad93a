package nvme

import (
	"encoding/binary"
	"fmt"
)

// DecodeEnduranceGroups reads a list of endurance group identifiers of
// [IdentifySize] bytes (CNS 19h).
func DecodeEnduranceGroups(b []byte) ([]uint16, error) { return countedIDs("endurance group list", b) }

// NVMSet is one entry of an NVM set list (CNS 04h).
type NVMSet struct {
	NVMSETID uint16 `json:"nvmsetid"`
	ENDGID   uint16 `json:"endgid"`
	// RR4KT is the typical time of a random 4 KiB read in 100 ns.
	RR4KT uint32 `json:"rr4kt"`
	// OWS is the best size of writes in bytes.
	OWS uint32 `json:"ows"`
	// Total and Unallocated are capacities in bytes.
	Total       Uint128 `json:"tnvmsetcap"`
	Unallocated Uint128 `json:"unvmsetcap"`
}

// Domain is one entry of a domain list (CNS 18h); capacities are in bytes.
type Domain struct {
	ID          uint16  `json:"dom_id"`
	Total       Uint128 `json:"dom_cap"`
	Unallocated Uint128 `json:"unalloc_dom_cap"`
	// MaxGroup is the largest endurance group that the domain can hold.
	MaxGroup Uint128 `json:"max_egrp_dom_cap"`
}

// NVM set and domain lists have the same form.
const (
	capacityAt   = 128
	capacitySize = 128
)

// DecodeNVMSets reads an NVM set list of [IdentifySize] bytes.
func DecodeNVMSets(b []byte) ([]NVMSet, error) {
	entries, err := countedEntries("NVM set list", b, capacityAt, capacitySize)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	out := make([]NVMSet, len(entries))
	for i, e := range entries {
		out[i] = NVMSet{
			NVMSETID: le.Uint16(e), ENDGID: le.Uint16(e[2:]), RR4KT: le.Uint32(e[8:]), OWS: le.Uint32(e[12:]),
			Total: uint128At(e[16:]), Unallocated: uint128At(e[32:]),
		}
	}
	return out, nil
}

// DecodeDomains reads a domain list of [IdentifySize] bytes.
func DecodeDomains(b []byte) ([]Domain, error) {
	entries, err := countedEntries("domain list", b, capacityAt, capacitySize)
	if err != nil {
		return nil, err
	}
	out := make([]Domain, len(entries))
	for i, e := range entries {
		out[i] = Domain{ID: binary.LittleEndian.Uint16(e), Total: uint128At(e[16:]), Unallocated: uint128At(e[32:]), MaxGroup: uint128At(e[48:])}
	}
	return out, nil
}

// NamespaceGranularity is what sizes of namespaces are best multiples of, in
// bytes; 0 for none.
type NamespaceGranularity struct {
	Size     uint64 `json:"nszegran"`
	Capacity uint64 `json:"ncapgran"`
}

// NamespaceGranularities is a namespace granularity list (CNS 16h).
type NamespaceGranularities struct {
	// PerFormat means that entry i belongs to LBA format i; otherwise the
	// first entry belongs to all.
	PerFormat bool                   `json:"per_format"`
	Entries   []NamespaceGranularity `json:"entries"`
}

const (
	granularityAt   = 32
	granularitySize = 16
	maxGranularity  = 16
)

// DecodeNamespaceGranularities reads a namespace granularity list of
// [IdentifySize] bytes.
func DecodeNamespaceGranularities(b []byte) (*NamespaceGranularities, error) {
	if err := need("namespace granularity list", b, IdentifySize); err != nil {
		return nil, err
	}
	n := int(b[4]) + 1
	if n > maxGranularity {
		return nil, fmt.Errorf("namespace granularity list: %d entries; it holds at most %d", n, maxGranularity)
	}
	le := binary.LittleEndian
	g := &NamespaceGranularities{PerFormat: b[0]&1 != 0, Entries: make([]NamespaceGranularity, n)}
	for i := range g.Entries {
		e := b[granularityAt+i*granularitySize:]
		g.Entries[i] = NamespaceGranularity{Size: le.Uint64(e), Capacity: le.Uint64(e[8:])}
	}
	return g, nil
}
