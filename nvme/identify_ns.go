package nvme

import (
	"encoding/binary"
	"fmt"
)

// IdentifyNamespace is the Identify Namespace data structure of the NVM
// command set (CNS 00h, NVM command set specification). Fields keep the
// specification's names, units and encodings. JSON keys are those of nvme-cli.
type IdentifyNamespace struct {
	// NSZE, NCAP and NUSE are size, capacity and utilization in logical
	// blocks.
	NSZE   uint64 `json:"nsze"`
	NCAP   uint64 `json:"ncap"`
	NUSE   uint64 `json:"nuse"`
	NSFEAT NSFEAT `json:"nsfeat"`
	// NLBAF is the number of LBA formats that share all capabilities,
	// zero-based; NULBAF is the number of further ones with capabilities of
	// their own.
	NLBAF  uint8 `json:"nlbaf"`
	NULBAF uint8 `json:"nulbaf"`
	// FLBAS holds the current format: see [IdentifyNamespace.FormatIndex].
	FLBAS  uint8  `json:"flbas"`
	MC     MC     `json:"mc"`
	DPC    DPC    `json:"dpc"`
	DPS    DPS    `json:"dps"`
	NMIC   uint8  `json:"nmic"`
	RESCAP uint8  `json:"rescap"`
	FPI    uint8  `json:"fpi"`
	DLFEAT DLFEAT `json:"dlfeat"`
	// NAWUN to NOIOB are in logical blocks; NAWUN, NAWUPF and NACWU are
	// zero-based and valid only with NSFEAT.AtomicWrites.
	NAWUN  uint16 `json:"nawun"`
	NAWUPF uint16 `json:"nawupf"`
	NACWU  uint16 `json:"nacwu"`
	NABSN  uint16 `json:"nabsn"`
	NABO   uint16 `json:"nabo"`
	NABSPF uint16 `json:"nabspf"`
	NOIOB  uint16 `json:"noiob"`
	// NVMCAP is the capacity in bytes.
	NVMCAP Uint128 `json:"nvmcap"`
	// NPWG to NOWS are preferred granularities in logical blocks,
	// zero-based.
	NPWG uint16 `json:"npwg"`
	NPWA uint16 `json:"npwa"`
	NPDG uint16 `json:"npdg"`
	NPDA uint16 `json:"npda"`
	NOWS uint16 `json:"nows"`
	// MSSRL, MCL and MSRC limit copy: blocks of one source range, blocks of
	// one command, and ranges of one command (zero-based).
	MSSRL    uint16 `json:"mssrl"`
	MCL      uint32 `json:"mcl"`
	MSRC     uint8  `json:"msrc"`
	KPIOS    uint8  `json:"kpios"`
	KPIODAAG uint32 `json:"kpiodaag"`
	ANAGRPID uint32 `json:"anagrpid"`
	NSATTR   uint8  `json:"nsattr"`
	NVMSETID uint16 `json:"nvmsetid"`
	ENDGID   uint16 `json:"endgid"`
	NGUID    GUID   `json:"nguid"`
	EUI64    EUI64  `json:"eui64"`
	// Formats are the NLBAF+1+NULBAF LBA formats.
	Formats []LBAFormat `json:"lbafs"`
}

const (
	lbaFormatsAt  = 128
	maxLBAFormats = 64
	minLBADS      = 9
	maxLBADS      = 31 // so that LBASize fits 32 bits
)

// LBAFormat is one LBA format.
type LBAFormat struct {
	// MS is the metadata of one block in bytes.
	MS uint16 `json:"ms"`
	// LBADS is the data of one block as a power of two; below 9 the format
	// is not available.
	LBADS uint8 `json:"ds"`
	// RP is the relative performance, 0 (best) to 3.
	RP uint8 `json:"rp"`
}

// Size is the data of one block in bytes, 0 if the format is not available.
func (f LBAFormat) Size() uint32 {
	if f.LBADS < minLBADS || f.LBADS > maxLBADS {
		return 0
	}
	return 1 << f.LBADS
}

// DecodeIdentifyNamespace reads an Identify Namespace data structure of
// [IdentifySize] bytes. All zeros, as for a namespace that is not active,
// decode without an error: see [IdentifyNamespace.Active].
func DecodeIdentifyNamespace(b []byte) (*IdentifyNamespace, error) {
	if err := need("Identify Namespace", b, IdentifySize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	n := &IdentifyNamespace{
		NSZE:     le.Uint64(b[0:]),
		NCAP:     le.Uint64(b[8:]),
		NUSE:     le.Uint64(b[16:]),
		NSFEAT:   NSFEAT(b[24]),
		NLBAF:    b[25],
		FLBAS:    b[26],
		MC:       MC(b[27]),
		DPC:      DPC(b[28]),
		DPS:      DPS(b[29]),
		NMIC:     b[30],
		RESCAP:   b[31],
		FPI:      b[32],
		DLFEAT:   DLFEAT(b[33]),
		NAWUN:    le.Uint16(b[34:]),
		NAWUPF:   le.Uint16(b[36:]),
		NACWU:    le.Uint16(b[38:]),
		NABSN:    le.Uint16(b[40:]),
		NABO:     le.Uint16(b[42:]),
		NABSPF:   le.Uint16(b[44:]),
		NOIOB:    le.Uint16(b[46:]),
		NVMCAP:   uint128At(b[48:]),
		NPWG:     le.Uint16(b[64:]),
		NPWA:     le.Uint16(b[66:]),
		NPDG:     le.Uint16(b[68:]),
		NPDA:     le.Uint16(b[70:]),
		NOWS:     le.Uint16(b[72:]),
		MSSRL:    le.Uint16(b[74:]),
		MCL:      le.Uint32(b[76:]),
		MSRC:     b[80],
		KPIOS:    b[81],
		NULBAF:   b[82],
		KPIODAAG: le.Uint32(b[84:]),
		ANAGRPID: le.Uint32(b[92:]),
		NSATTR:   b[99],
		NVMSETID: le.Uint16(b[100:]),
		ENDGID:   le.Uint16(b[102:]),
		NGUID:    GUID(b[104:120]),
		EUI64:    EUI64(b[120:128]),
	}
	n.Formats = make([]LBAFormat, min(int(n.NLBAF)+1+int(n.NULBAF), maxLBAFormats))
	for i := range n.Formats {
		f := le.Uint32(b[lbaFormatsAt+4*i:])
		n.Formats[i] = LBAFormat{MS: uint16(f), LBADS: uint8(f >> 16), RP: uint8(f>>24) & 3}
	}
	return n, nil
}

// Active reports whether the namespace has a size: an inactive or unallocated
// namespace identifier yields a structure of zeros.
func (n *IdentifyNamespace) Active() bool { return n.NSZE != 0 }

// FormatIndex is the index of the current LBA format: bits 0 to 3 of FLBAS
// and, if the namespace has more than 16 formats, bits 5 and 6 above them.
func (n *IdentifyNamespace) FormatIndex() int {
	i := int(n.FLBAS & 0x0f)
	if len(n.Formats) > 16 {
		i |= int(n.FLBAS>>5&3) << 4
	}
	return i
}

// Extended reports whether metadata is transferred with the data of each
// block (FLBAS bit 4); it means nothing without metadata.
func (n *IdentifyNamespace) Extended() bool { return n.FLBAS>>4&1 != 0 }

// CurrentLayout is the layout of the current format with a 16-bit guard and
// no storage tag, which is right unless the controller has extended LBA
// formats ([CTRATT.ExtendedLBAFormats]): then use
// [IdentifyNamespace.LayoutWith].
func (n *IdentifyNamespace) CurrentLayout() (Layout, error) { return n.LayoutWith(nil) }

// LayoutWith is the layout of the current format with the guard format and
// storage tag from x; nil stands for a 16-bit guard and no storage tag.
func (n *IdentifyNamespace) LayoutWith(x *IdentifyNVMNamespace) (Layout, error) {
	i := n.FormatIndex()
	if i >= len(n.Formats) {
		return Layout{}, fmt.Errorf("identify namespace: FLBAS 0x%02x selects LBA format %d, but there are formats 0 to %d only",
			n.FLBAS, i, len(n.Formats)-1)
	}
	f := n.Formats[i]
	if f.Size() == 0 {
		if !n.Active() && f.LBADS == 0 {
			return Layout{}, fmt.Errorf("identify namespace: the namespace is not active (NSZE 0); name one of the active namespace list")
		}
		return Layout{}, fmt.Errorf("identify namespace: LBA format %d has LBADS %d; block sizes of 2^%d to 2^%d bytes are supported",
			i, f.LBADS, minLBADS, maxLBADS)
	}
	l := Layout{
		LBASize:      f.Size(),
		MetadataSize: f.MS,
		Extended:     f.MS != 0 && n.Extended(),
		PI:           n.DPS.Type(),
		PIFirst:      n.DPS.First(),
	}
	if x != nil && l.PI != PINone {
		format, err := x.Guard(i)
		if err != nil {
			return Layout{}, fmt.Errorf("identify namespace: %w", err)
		}
		l.PIFormat, l.StorageTagBits = format, x.Formats[i].STS()
	}
	if l.PI == PINone {
		l.PIFirst = false
	}
	if err := l.Validate(); err != nil {
		return Layout{}, fmt.Errorf("identify namespace: LBA format %d, DPS 0x%02x: %w", i, uint8(n.DPS), err)
	}
	return l, nil
}
