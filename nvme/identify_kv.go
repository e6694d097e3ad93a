package nvme

import "encoding/binary"

// IdentifyKVNamespace is the Identify Namespace data structure of the key value
// command set (CNS 05h with CSI 01h).
type IdentifyKVNamespace struct {
	// NSZE and NUSE are size and utilization in bytes.
	NSZE   uint64 `json:"nsze"`
	NUSE   uint64 `json:"nuse"`
	NSFEAT uint8  `json:"nsfeat"`
	// NKVF is the number of key value formats, zero-based.
	NKVF   uint8 `json:"nkvf"`
	NMIC   uint8 `json:"nmic"`
	RESCAP uint8 `json:"rescap"`
	FPI    uint8 `json:"fpi"`
	// NOVG is the granularity that values are best sized to, in bytes; 0 if
	// not reported.
	NOVG     uint32 `json:"novg"`
	ANAGRPID uint32 `json:"anagrpid"`
	NSATTR   uint8  `json:"nsattr"`
	NVMSETID uint16 `json:"nvmsetid"`
	ENDGID   uint16 `json:"endgid"`
	NGUID    GUID   `json:"nguid"`
	EUI64    EUI64  `json:"eui64"`
	// Formats are the key value formats; unused ones are zero.
	Formats [maxKVFormats]KVFormat `json:"kvf"`
}

// KVFormat is one key value format.
type KVFormat struct {
	// KML is the longest key in bytes.
	KML  uint16 `json:"kml"`
	FOPT uint8  `json:"fopt"`
	// VML is the longest value in bytes.
	VML uint32 `json:"vml"`
	// MNK is the most keys; 0 for no limit but the namespace's size.
	MNK uint32 `json:"mnk"`
}

const (
	maxKVFormats = 16
	kvFormatsAt  = 72
	kvFormatSize = 16
)

// DecodeIdentifyKVNamespace reads the key value Identify Namespace data
// structure of [IdentifySize] bytes.
func DecodeIdentifyKVNamespace(b []byte) (*IdentifyKVNamespace, error) {
	if err := need("Identify Namespace for the key value command set", b, IdentifySize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	n := &IdentifyKVNamespace{
		NSZE:     le.Uint64(b),
		NUSE:     le.Uint64(b[16:]),
		NSFEAT:   b[24],
		NKVF:     b[25],
		NMIC:     b[26],
		RESCAP:   b[27],
		FPI:      b[28],
		NOVG:     le.Uint32(b[32:]),
		ANAGRPID: le.Uint32(b[36:]),
		NSATTR:   b[43],
		NVMSETID: le.Uint16(b[44:]),
		ENDGID:   le.Uint16(b[46:]),
		NGUID:    GUID(b[48:64]),
		EUI64:    EUI64(b[64:72]),
	}
	for i := range n.Formats {
		f := b[kvFormatsAt+i*kvFormatSize:]
		n.Formats[i] = KVFormat{KML: le.Uint16(f), FOPT: f[3], VML: le.Uint32(f[4:]), MNK: le.Uint32(f[8:])}
	}
	return n, nil
}
