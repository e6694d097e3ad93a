package nvme

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// IdentifySize is the size in bytes of every Identify data structure.
const IdentifySize = 4096

// IdentifyController is the Identify Controller data structure (CNS 01h, base
// specification, "Identify Controller Data Structure"). Fields keep the
// specification's names, units and encodings; methods interpret them. Text
// is trimmed and safe to print. JSON keys are those of nvme-cli.
type IdentifyController struct {
	VID   uint16 `json:"vid"`
	SSVID uint16 `json:"ssvid"`
	// SN, MN and FR are serial number, model number and firmware revision.
	SN  string `json:"sn"`
	MN  string `json:"mn"`
	FR  string `json:"fr"`
	RAB uint8  `json:"rab"`
	// IEEE is the OUI as a number, most significant byte first.
	IEEE uint32 `json:"ieee"`
	CMIC CMIC   `json:"cmic"`
	// MDTS is the maximum data transfer size as an exponent: see
	// [IdentifyController.MaxDataTransfer].
	MDTS      uint8   `json:"mdts"`
	CNTLID    uint16  `json:"cntlid"`
	VER       Version `json:"ver"`
	RTD3R     uint32  `json:"rtd3r"`
	RTD3E     uint32  `json:"rtd3e"`
	OAES      uint32  `json:"oaes"`
	CTRATT    CTRATT  `json:"ctratt"`
	RRLS      uint16  `json:"rrls"`
	BPCAP     uint8   `json:"bpcap"`
	NSSL      uint32  `json:"nssl"`
	PLSI      uint8   `json:"plsi"`
	CNTRLTYPE uint8   `json:"cntrltype"`
	FGUID     GUID    `json:"fguid"`
	// CRDT are the command retry delay times 1 to 3, in 100 ms.
	CRDT   [3]uint16 `json:"crdt"`
	CRCAP  uint8     `json:"crcap"`
	NVMSR  uint8     `json:"nvmsr"`
	VWCI   uint8     `json:"vwci"`
	MEC    uint8     `json:"mec"`
	OACS   OACS      `json:"oacs"`
	ACL    uint8     `json:"acl"`
	AERL   uint8     `json:"aerl"`
	FRMW   FRMW      `json:"frmw"`
	LPA    LPA       `json:"lpa"`
	ELPE   uint8     `json:"elpe"`
	NPSS   uint8     `json:"npss"`
	AVSCC  uint8     `json:"avscc"`
	APSTA  uint8     `json:"apsta"`
	WCTEMP uint16    `json:"wctemp"`
	CCTEMP uint16    `json:"cctemp"`
	MTFA   uint16    `json:"mtfa"`
	HMPRE  uint32    `json:"hmpre"`
	HMMIN  uint32    `json:"hmmin"`
	// TNVMCAP and UNVMCAP are total and unallocated capacity in bytes.
	TNVMCAP   Uint128 `json:"tnvmcap"`
	UNVMCAP   Uint128 `json:"unvmcap"`
	RPMBS     uint32  `json:"rpmbs"`
	EDSTT     uint16  `json:"edstt"`
	DSTO      uint8   `json:"dsto"`
	FWUG      uint8   `json:"fwug"`
	KAS       uint16  `json:"kas"`
	HCTMA     uint16  `json:"hctma"`
	MNTMT     uint16  `json:"mntmt"`
	MXTMT     uint16  `json:"mxtmt"`
	SANICAP   uint32  `json:"sanicap"`
	HMMINDS   uint32  `json:"hmminds"`
	HMMAXD    uint16  `json:"hmmaxd"`
	NSETIDMAX uint16  `json:"nsetidmax"`
	ENDGIDMAX uint16  `json:"endgidmax"`
	ANATT     uint8   `json:"anatt"`
	ANACAP    uint8   `json:"anacap"`
	ANAGRPMAX uint32  `json:"anagrpmax"`
	NANAGRPID uint32  `json:"nanagrpid"`
	PELS      uint32  `json:"pels"`
	DOMAINID  uint16  `json:"domainid"`
	MEGCAP    Uint128 `json:"megcap"`
	// SQES and CQES are queue entry sizes as exponents, minimum in the low
	// and maximum in the high half.
	SQES    uint8   `json:"sqes"`
	CQES    uint8   `json:"cqes"`
	MAXCMD  uint16  `json:"maxcmd"`
	NN      uint32  `json:"nn"`
	ONCS    ONCS    `json:"oncs"`
	FUSES   uint16  `json:"fuses"`
	FNA     FNA     `json:"fna"`
	VWC     VWC     `json:"vwc"`
	AWUN    uint16  `json:"awun"`
	AWUPF   uint16  `json:"awupf"`
	ICSVSCC uint8   `json:"icsvscc"`
	NWPC    uint8   `json:"nwpc"`
	ACWU    uint16  `json:"acwu"`
	OCFS    OCFS    `json:"ocfs"`
	SGLS    SGLS    `json:"sgls"`
	MNAN    uint32  `json:"mnan"`
	MAXDNA  Uint128 `json:"maxdna"`
	MAXCNA  uint32  `json:"maxcna"`
	SUBNQN  string  `json:"subnqn"`
	IOCCSZ  uint32  `json:"ioccsz"`
	IORCSZ  uint32  `json:"iorcsz"`
	ICDOFF  uint16  `json:"icdoff"`
	FCATT   uint8   `json:"fcatt"`
	MSDBD   uint8   `json:"msdbd"`
	OFCS    uint16  `json:"ofcs"`
	// PowerStates are the NPSS+1 power state descriptors.
	PowerStates []PowerState `json:"psds"`
}

const (
	powerStatesAt  = 2048
	powerStateSize = 32
	maxPowerStates = 32
)

// DecodeIdentifyController reads an Identify Controller data structure. b
// must hold [IdentifySize] bytes; what lies beyond is ignored.
func DecodeIdentifyController(b []byte) (*IdentifyController, error) {
	if err := need("Identify Controller", b, IdentifySize); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	c := &IdentifyController{
		VID:       le.Uint16(b[0:]),
		SSVID:     le.Uint16(b[2:]),
		SN:        fixedString(b[4:24]),
		MN:        fixedString(b[24:64]),
		FR:        fixedString(b[64:72]),
		RAB:       b[72],
		IEEE:      uint32(b[75])<<16 | uint32(b[74])<<8 | uint32(b[73]),
		CMIC:      CMIC(b[76]),
		MDTS:      b[77],
		CNTLID:    le.Uint16(b[78:]),
		VER:       Version(le.Uint32(b[80:])),
		RTD3R:     le.Uint32(b[84:]),
		RTD3E:     le.Uint32(b[88:]),
		OAES:      le.Uint32(b[92:]),
		CTRATT:    CTRATT(le.Uint32(b[96:])),
		RRLS:      le.Uint16(b[100:]),
		BPCAP:     b[102],
		NSSL:      le.Uint32(b[104:]),
		PLSI:      b[110],
		CNTRLTYPE: b[111],
		FGUID:     GUID(b[112:128]),
		CRDT:      [3]uint16{le.Uint16(b[128:]), le.Uint16(b[130:]), le.Uint16(b[132:])},
		CRCAP:     b[134],
		NVMSR:     b[253],
		VWCI:      b[254],
		MEC:       b[255],
		OACS:      OACS(le.Uint16(b[256:])),
		ACL:       b[258],
		AERL:      b[259],
		FRMW:      FRMW(b[260]),
		LPA:       LPA(b[261]),
		ELPE:      b[262],
		NPSS:      b[263],
		AVSCC:     b[264],
		APSTA:     b[265],
		WCTEMP:    le.Uint16(b[266:]),
		CCTEMP:    le.Uint16(b[268:]),
		MTFA:      le.Uint16(b[270:]),
		HMPRE:     le.Uint32(b[272:]),
		HMMIN:     le.Uint32(b[276:]),
		TNVMCAP:   uint128At(b[280:]),
		UNVMCAP:   uint128At(b[296:]),
		RPMBS:     le.Uint32(b[312:]),
		EDSTT:     le.Uint16(b[316:]),
		DSTO:      b[318],
		FWUG:      b[319],
		KAS:       le.Uint16(b[320:]),
		HCTMA:     le.Uint16(b[322:]),
		MNTMT:     le.Uint16(b[324:]),
		MXTMT:     le.Uint16(b[326:]),
		SANICAP:   le.Uint32(b[328:]),
		HMMINDS:   le.Uint32(b[332:]),
		HMMAXD:    le.Uint16(b[336:]),
		NSETIDMAX: le.Uint16(b[338:]),
		ENDGIDMAX: le.Uint16(b[340:]),
		ANATT:     b[342],
		ANACAP:    b[343],
		ANAGRPMAX: le.Uint32(b[344:]),
		NANAGRPID: le.Uint32(b[348:]),
		PELS:      le.Uint32(b[352:]),
		DOMAINID:  le.Uint16(b[356:]),
		MEGCAP:    uint128At(b[368:]),
		SQES:      b[512],
		CQES:      b[513],
		MAXCMD:    le.Uint16(b[514:]),
		NN:        le.Uint32(b[516:]),
		ONCS:      ONCS(le.Uint16(b[520:])),
		FUSES:     le.Uint16(b[522:]),
		FNA:       FNA(b[524]),
		VWC:       VWC(b[525]),
		AWUN:      le.Uint16(b[526:]),
		AWUPF:     le.Uint16(b[528:]),
		ICSVSCC:   b[530],
		NWPC:      b[531],
		ACWU:      le.Uint16(b[532:]),
		OCFS:      OCFS(le.Uint16(b[534:])),
		SGLS:      SGLS(le.Uint32(b[536:])),
		MNAN:      le.Uint32(b[540:]),
		MAXDNA:    uint128At(b[544:]),
		MAXCNA:    le.Uint32(b[560:]),
		SUBNQN:    terminatedString(b[768:1024]),
		IOCCSZ:    le.Uint32(b[1792:]),
		IORCSZ:    le.Uint32(b[1796:]),
		ICDOFF:    le.Uint16(b[1800:]),
		FCATT:     b[1802],
		MSDBD:     b[1803],
		OFCS:      le.Uint16(b[1804:]),
	}
	n := min(int(c.NPSS)+1, maxPowerStates)
	c.PowerStates = make([]PowerState, n)
	for i := range c.PowerStates {
		c.PowerStates[i] = decodePowerState(b[powerStatesAt+i*powerStateSize:])
	}
	return c, nil
}

// DefaultMinPageSize is the minimum memory page size of a controller whose
// CAP.MPSMIN is 0, as nearly all are; CAP cannot be read by Identify.
const DefaultMinPageSize = 4096

// MaxDataTransfer is the most bytes that one command may transfer:
// minPageSize (CAP.MPSMIN in bytes, 0 for [DefaultMinPageSize]) times 2^MDTS.
// 0 means no limit. A value beyond an int64 is clamped to the largest int64.
// The limit covers metadata that is part of the data buffer unless CTRATT
// says otherwise ([CTRATT.MDTSExcludesMetadata]). The kernel may allow less.
func (c *IdentifyController) MaxDataTransfer(minPageSize uint64) uint64 {
	return pagesLimit(c.MDTS, minPageSize)
}

// pagesLimit is minPageSize times 2^exp, 0 for exponent 0, clamped.
func pagesLimit(exp uint8, minPageSize uint64) uint64 {
	if exp == 0 {
		return 0
	}
	if minPageSize == 0 {
		minPageSize = DefaultMinPageSize
	}
	if bits.Len64(minPageSize)+int(exp) > 63 {
		return math.MaxInt64
	}
	return minPageSize << exp
}

// OUI is the IEEE organizationally unique identifier, "00-53-fe".
func (c *IdentifyController) OUI() string {
	return fmt.Sprintf("%02x-%02x-%02x", c.IEEE>>16&0xff, c.IEEE>>8&0xff, c.IEEE&0xff)
}

// Type names the controller type (CNTRLTYPE).
func (c *IdentifyController) Type() string {
	switch c.CNTRLTYPE {
	case 0:
		return "not reported"
	case 1:
		return "I/O"
	case 2:
		return "discovery"
	case 3:
		return "administrative"
	}
	return fmt.Sprintf("unknown (%d)", c.CNTRLTYPE)
}

// PowerState is one power state descriptor.
type PowerState struct {
	// MP is the maximum power in 0.01 W, or 0.0001 W with MXPS: see
	// [PowerState.MaxPower].
	MP   uint16 `json:"max_power"`
	MXPS bool   `json:"max_power_scale"`
	// NOPS marks a state in which no I/O is processed.
	NOPS bool `json:"non-operational_state"`
	// ENLAT and EXLAT are entry and exit latency in microseconds.
	ENLAT uint32 `json:"entry_lat"`
	EXLAT uint32 `json:"exit_lat"`
	// RRT, RRL, RWT and RWL rank the state against the others, 0 is best.
	RRT uint8 `json:"read_tput"`
	RRL uint8 `json:"read_lat"`
	RWT uint8 `json:"write_tput"`
	RWL uint8 `json:"write_lat"`
	// IDLP and ACTP are idle and active power in units of their scales IPS
	// and APS.
	IDLP uint16 `json:"idle_power"`
	IPS  uint8  `json:"idle_scale"`
	ACTP uint16 `json:"active_power"`
	APW  uint8  `json:"active_power_work"`
	APS  uint8  `json:"active_scale"`
}

func decodePowerState(b []byte) PowerState {
	le := binary.LittleEndian
	return PowerState{
		MP:    le.Uint16(b),
		MXPS:  b[3]&1 != 0,
		NOPS:  b[3]&2 != 0,
		ENLAT: le.Uint32(b[4:]),
		EXLAT: le.Uint32(b[8:]),
		RRT:   b[12] & 0x1f,
		RRL:   b[13] & 0x1f,
		RWT:   b[14] & 0x1f,
		RWL:   b[15] & 0x1f,
		IDLP:  le.Uint16(b[16:]),
		IPS:   b[18] >> 6,
		ACTP:  le.Uint16(b[20:]),
		APW:   b[22] & 7,
		APS:   b[22] >> 6,
	}
}

// MaxPower is the maximum power in microwatts, 0 if not reported.
func (p PowerState) MaxPower() uint64 {
	if p.MXPS {
		return uint64(p.MP) * 100
	}
	return uint64(p.MP) * 10000
}

// EntryLatency is how long the state takes to enter at most.
func (p PowerState) EntryLatency() time.Duration { return time.Duration(p.ENLAT) * time.Microsecond }

// ExitLatency is how long the state takes to leave at most.
func (p PowerState) ExitLatency() time.Duration { return time.Duration(p.EXLAT) * time.Microsecond }
