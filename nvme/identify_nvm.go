package nvme

import (
	"encoding/binary"
	"fmt"
)

// IdentifyNVMNamespace is the I/O command set specific Identify Namespace data
// structure of the NVM command set (CNS 05h with CSI 00h).
type IdentifyNVMNamespace struct {
	// LBSTM is the storage tag mask.
	LBSTM uint64 `json:"lbstm"`
	PIC   uint8  `json:"pic"`
	PIFA  uint8  `json:"pifa"`
	// Formats extend the LBA formats of the same index.
	Formats [maxLBAFormats]ExtendedLBAFormat `json:"elbafs"`
	// NPDGL, NPRG, NPRA, NORS and NPDAL are preferred granularities in
	// logical blocks.
	NPDGL uint32 `json:"npdgl"`
	NPRG  uint32 `json:"nprg"`
	NPRA  uint32 `json:"npra"`
	NORS  uint32 `json:"nors"`
	NPDAL uint32 `json:"npdal"`
}

// ExtendedLBAFormat is one extended LBA format.
type ExtendedLBAFormat uint32

// STS is the storage tag size in bits.
func (e ExtendedLBAFormat) STS() uint8 { return uint8(e & 0x7f) }

const (
	pifQualified = 3      // PIF: the format is in QPIF
	picQualified = 1 << 3 // PIC: QPIF is supported
)

// Guard is the guard format of the LBA format with the given index.
func (n *IdentifyNVMNamespace) Guard(index int) (PIFormat, error) {
	if index < 0 || index >= len(n.Formats) {
		return 0, fmt.Errorf("LBA format %d: there are 0 to %d", index, len(n.Formats)-1)
	}
	e := n.Formats[index]
	pif := PIFormat(e >> 7 & 3)
	if pif == pifQualified && n.PIC&picQualified != 0 {
		pif = PIFormat(e >> 9 & 15)
	}
	if pif > Guard64 {
		return 0, fmt.Errorf("LBA format %d: ELBAF 0x%08x has guard format %d; 0 (16-bit), 1 (32-bit) and 2 (64-bit) are known", index, uint32(e), pif)
	}
	return pif, nil
}

// DecodeIdentifyNVMNamespace reads the NVM command set specific Identify
// Namespace data structure of [IdentifySize] bytes.
func DecodeIdentifyNVMNamespace(b []byte) (*IdentifyNVMNamespace, error) {
	if err := need("Identify Namespace for the NVM command set", b, IdentifySize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	n := &IdentifyNVMNamespace{
		LBSTM: le.Uint64(b),
		PIC:   b[8],
		PIFA:  b[9],
		NPDGL: le.Uint32(b[268:]),
		NPRG:  le.Uint32(b[272:]),
		NPRA:  le.Uint32(b[276:]),
		NORS:  le.Uint32(b[280:]),
		NPDAL: le.Uint32(b[284:]),
	}
	for i := range n.Formats {
		n.Formats[i] = ExtendedLBAFormat(le.Uint32(b[12+4*i:]))
	}
	return n, nil
}

// IdentifyNVMController is the Identify Controller data structure of the NVM
// command set (CNS 06h with CSI 00h): size limits of commands without data.
type IdentifyNVMController struct {
	// VSL, WZSL and WUSL limit verify, write zeroes and write uncorrectable as
	// MDTS limits transfers; 0 means no limit: see
	// [IdentifyNVMController.MaxVerify] and its siblings.
	VSL  uint8 `json:"vsl"`
	WZSL uint8 `json:"wzsl"`
	WUSL uint8 `json:"wusl"`
	// DMRL, DMRSL and DMSL limit dataset management: ranges, blocks of one
	// range, blocks in all; 0 means no limit.
	DMRL  uint8  `json:"dmrl"`
	DMRSL uint32 `json:"dmrsl"`
	DMSL  uint64 `json:"dmsl"`
	// WZDSL limits write zeroes that deallocate, if it is not 0: see
	// [IdentifyNVMController.MaxDeallocatingWriteZeroes].
	WZDSL uint8 `json:"wzdsl"`
}

// DecodeIdentifyNVMController reads the NVM command set Identify Controller
// data structure of [IdentifySize] bytes.
func DecodeIdentifyNVMController(b []byte) (*IdentifyNVMController, error) {
	if err := need("Identify Controller for the NVM command set", b, IdentifySize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	return &IdentifyNVMController{
		VSL:   b[0],
		WZSL:  b[1],
		WUSL:  b[2],
		DMRL:  b[3],
		DMRSL: le.Uint32(b[4:]),
		DMSL:  le.Uint64(b[8:]),
		WZDSL: b[17],
	}, nil
}

// MaxVerify is the most bytes of one verify, 0 for no limit; minPageSize as in
// [IdentifyController.MaxDataTransfer].
func (c *IdentifyNVMController) MaxVerify(minPageSize uint64) uint64 {
	return pagesLimit(c.VSL, minPageSize)
}

// MaxWriteZeroes is the most bytes of one write zeroes, 0 for no limit.
func (c *IdentifyNVMController) MaxWriteZeroes(minPageSize uint64) uint64 {
	return pagesLimit(c.WZSL, minPageSize)
}

// MaxDeallocatingWriteZeroes is the most bytes of one write zeroes with
// deallocation (DEAC): that of WZDSL, or without one that of other write
// zeroes; 0 for no limit.
func (c *IdentifyNVMController) MaxDeallocatingWriteZeroes(minPageSize uint64) uint64 {
	if c.WZDSL == 0 {
		return c.MaxWriteZeroes(minPageSize)
	}
	return pagesLimit(c.WZDSL, minPageSize)
}

// MaxWriteUncorrectable is the most bytes of one write uncorrectable, 0 for no
// limit.
func (c *IdentifyNVMController) MaxWriteUncorrectable(minPageSize uint64) uint64 {
	return pagesLimit(c.WUSL, minPageSize)
}
