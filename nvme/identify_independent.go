package nvme

import "encoding/binary"

// IdentifyIndependentNamespace is the I/O command set independent Identify
// Namespace data structure (CNS 08h).
type IdentifyIndependentNamespace struct {
	NSFEAT   uint8  `json:"nsfeat"`
	NMIC     uint8  `json:"nmic"`
	RESCAP   uint8  `json:"rescap"`
	FPI      uint8  `json:"fpi"`
	ANAGRPID uint32 `json:"anagrpid"`
	NSATTR   uint8  `json:"nsattr"`
	NVMSETID uint16 `json:"nvmsetid"`
	ENDGID   uint16 `json:"endgid"`
	NSTAT    uint8  `json:"nstat"`
	KPIOS    uint8  `json:"kpios"`
	MAXKT    uint16 `json:"maxkt"`
	RGRPID   uint32 `json:"rgrpid"`
}

// DecodeIdentifyIndependentNamespace reads the command set independent
// Identify Namespace data structure of [IdentifySize] bytes.
func DecodeIdentifyIndependentNamespace(b []byte) (*IdentifyIndependentNamespace, error) {
	if err := need("I/O command set independent Identify Namespace", b, IdentifySize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	return &IdentifyIndependentNamespace{
		NSFEAT:   b[0],
		NMIC:     b[1],
		RESCAP:   b[2],
		FPI:      b[3],
		ANAGRPID: le.Uint32(b[4:]),
		NSATTR:   b[8],
		NVMSETID: le.Uint16(b[10:]),
		ENDGID:   le.Uint16(b[12:]),
		NSTAT:    b[14],
		KPIOS:    b[15],
		MAXKT:    le.Uint16(b[16:]),
		RGRPID:   le.Uint32(b[20:]),
	}, nil
}

// Ready reports that the namespace is ready for commands.
func (n *IdentifyIndependentNamespace) Ready() bool { return n.NSTAT&1 != 0 }

// Rotational reports rotational media.
func (n *IdentifyIndependentNamespace) Rotational() bool { return n.NSFEAT>>4&1 != 0 }
