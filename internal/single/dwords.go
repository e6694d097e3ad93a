package single

import (
	"fmt"
	"strings"

	"github.com/nvmepass/nvmepass/nvme"
)

// Dword is one command dword with the parts that the specification gives it.
type Dword struct {
	Number int    `json:"cdw"`
	Hex    string `json:"value"`
	Parts  []Part `json:"parts"`
}

// Part is a field of a command dword.
type Part struct {
	// Bits are its highest and lowest, such as "15:0".
	Bits  string `json:"bits"`
	Name  string `json:"name"`
	Value uint32 `json:"value"`
	// Meaning explains it, "" where there is nothing to add.
	Meaning string `json:"meaning,omitempty"`
}

// part is the place of a field.
type part struct {
	dword, high, low int
	name             string
	meaning          func(c *nvme.Command, v uint32) string
}

// DecodeDwords explains dwords 2, 3 and 10 to 15. Bits of commands that are not
// known, and reserved ones that are set, show as such.
func DecodeDwords(r *Request) []Dword {
	c := &r.Command
	parts := partsOf(r)
	var all []Dword
	for _, d := range []struct {
		n int
		v uint32
	}{{2, c.CDW2}, {3, c.CDW3}, {10, c.CDW10}, {11, c.CDW11}, {12, c.CDW12}, {13, c.CDW13}, {14, c.CDW14}, {15, c.CDW15}} {
		w := Dword{Number: d.n, Hex: fmt.Sprintf("0x%08x", d.v), Parts: []Part{}}
		known := uint32(0)
		for _, p := range parts {
			if p.dword != d.n {
				continue
			}
			mask := uint32(uint64(1)<<(p.high-p.low+1) - 1)
			known |= mask << p.low
			v := d.v >> p.low & mask
			x := Part{Bits: fmt.Sprintf("%d:%d", p.high, p.low), Name: p.name, Value: v}
			if p.high == p.low {
				x.Bits = fmt.Sprint(p.low)
			}
			if p.meaning != nil {
				x.Meaning = p.meaning(c, v)
			}
			w.Parts = append(w.Parts, x)
		}
		if rest := d.v &^ known; rest != 0 && len(parts) > 0 {
			w.Parts = append(w.Parts, Part{Bits: "31:0", Name: "reserved", Value: rest, Meaning: "bits that the specification does not use here"})
		}
		all = append(all, w)
	}
	return all
}

func partsOf(r *Request) []part {
	op := r.Command.Opcode
	switch r.Set {
	case nvme.SetAdmin:
		return adminParts[op]
	case nvme.SetNVM, nvme.SetZNS:
		if p := blockParts(r.Layout, op); p != nil {
			return p
		}
		return otherParts[op]
	}
	return nil
}

// zeroBased explains a count whose field holds one less.
func zeroBased(what string) func(*nvme.Command, uint32) string {
	return func(_ *nvme.Command, v uint32) string {
		return fmt.Sprintf("%d %s (the field is zero-based)", uint64(v)+1, what)
	}
}

// words explains values by name.
func words(names map[uint32]string) func(*nvme.Command, uint32) string {
	return func(_ *nvme.Command, v uint32) string { return names[v] }
}

func slba(c *nvme.Command, _ uint32) string {
	return fmt.Sprintf("SLBA 0x%x", c.SLBA())
}

func prchk(_ *nvme.Command, v uint32) string {
	var checked []string
	for i, name := range []string{"reference tag", "application tag", "guard"} {
		if v>>i&1 != 0 {
			checked = append(checked, name)
		}
	}
	if checked == nil {
		return "checks nothing"
	}
	return "checks " + strings.Join(checked, ", ")
}

var directives = words(map[uint32]string{0: "none", 1: "streams", 2: "placement (FDP)"})

func sizeOfDwords(_ *nvme.Command, v uint32) string { return fmt.Sprintf("%d bytes", (uint64(v)+1)*4) }

// blockParts are those of reads, writes and their like; nil for others.
func blockParts(l nvme.Layout, op nvme.Opcode) []part {
	var protection, data, writes bool
	switch op {
	case nvme.OpRead, nvme.OpCompare:
		protection, data = true, true
	case nvme.OpWrite, nvme.OpZoneAppend:
		protection, data, writes = true, true, true
	case nvme.OpWriteZeroes:
		protection, writes = true, true
	case nvme.OpVerify:
		protection = true
	case nvme.OpWriteUncorrectable:
		writes = true
	default:
		return nil
	}
	p := []part{
		{10, 31, 0, "SLBA, low half", slba}, {11, 31, 0, "SLBA, high half", nil},
		{12, 15, 0, "NLB", zeroBased("blocks")},
	}
	if op == nvme.OpZoneAppend {
		p[0].name, p[1].name = "ZSLBA, low half", "ZSLBA, high half"
		p = append(p, part{12, 25, 25, "PIREMAP", nil})
	}
	if writes {
		p = append(p, part{12, 23, 20, "DTYPE", directives}, part{13, 31, 16, "DSPEC", nil})
	}
	if op == nvme.OpWriteZeroes {
		p[len(p)-2].high = 22
		p = append(p, part{12, 23, 23, "NSZ", nil}, part{12, 25, 25, "DEAC", nil})
	}
	if protection {
		p = append(p, part{12, 24, 24, "STC", nil}, part{12, 28, 26, "PRCHK", prchk}, part{12, 29, 29, "PRACT", nil}, part{12, 30, 30, "FUA", nil}, part{12, 31, 31, "LR", nil})
		tags := "reference tag"
		if l.StorageTagBits > 0 {
			tags = "storage and reference tag"
		}
		p = append(p,
			part{2, 31, 0, "LBST/ILBRT, high part", nil}, part{3, 31, 0, "LBST/ILBRT, middle part", nil},
			part{14, 31, 0, "LBST/ILBRT, low part", func(c *nvme.Command, _ uint32) string {
				if l.PI == nvme.PINone {
					return ""
				}
				return fmt.Sprintf("%s; expected reference tag 0x%x", tags, c.RefTag(l))
			}},
			part{15, 15, 0, "LBAT", nil}, part{15, 31, 16, "LBATM", nil})
	}
	if data && op != nvme.OpCompare {
		p = append(p, part{13, 7, 0, "DSM", nil})
	}
	return p
}

var otherParts = map[nvme.Opcode][]part{
	nvme.OpFlush: {},
	nvme.OpDSM: {
		{10, 7, 0, "NR", zeroBased("ranges")},
		{11, 0, 0, "IDR", nil}, {11, 1, 1, "IDW", nil}, {11, 2, 2, "AD", words(map[uint32]string{1: "deallocate"})},
	},
	nvme.OpCopy: {
		{10, 31, 0, "SDLBA, low half", func(c *nvme.Command, _ uint32) string { return fmt.Sprintf("SDLBA 0x%x", c.SLBA()) }},
		{11, 31, 0, "SDLBA, high half", nil},
		{12, 7, 0, "NR", zeroBased("ranges")}, {12, 11, 8, "DESFMT", nil}, {12, 14, 12, "PRCHKR", prchk}, {12, 15, 15, "PRACTR", nil},
		{12, 23, 20, "DTYPE", directives}, {12, 24, 24, "STCW", nil}, {12, 25, 25, "STCR", nil},
		{12, 28, 26, "PRCHKW", prchk}, {12, 29, 29, "PRACTW", nil}, {12, 30, 30, "FUA", nil}, {12, 31, 31, "LR", nil},
		{13, 31, 16, "DSPEC", nil}, {14, 31, 0, "LBST/ILBRT, low part", nil}, {15, 15, 0, "LBAT", nil}, {15, 31, 16, "LBATM", nil},
	},
	nvme.OpZoneMgmtSend: {
		{10, 31, 0, "SLBA, low half", slba}, {11, 31, 0, "SLBA, high half", nil},
		{13, 7, 0, "ZSA", words(map[uint32]string{1: "close", 2: "finish", 3: "open", 4: "reset", 5: "offline", 0x10: "set descriptor extension", 0x11: "flush ZRWA"})},
		{13, 8, 8, "select all", nil}, {13, 9, 9, "ZSASO", nil},
	},
	nvme.OpZoneMgmtRecv: {
		{10, 31, 0, "SLBA, low half", slba}, {11, 31, 0, "SLBA, high half", nil},
		{12, 31, 0, "NUMD", sizeOfDwords},
		{13, 7, 0, "ZRA", words(map[uint32]string{0: "report zones", 1: "extended report zones"})}, {13, 15, 8, "ZRASF", nil}, {13, 16, 16, "partial", nil},
	},
	nvme.OpIOMgmtRecv: {{10, 7, 0, "MO", words(map[uint32]string{1: "reclaim unit handle status"})}, {10, 31, 16, "MOS", nil}, {11, 31, 0, "NUMD", sizeOfDwords}},
	nvme.OpIOMgmtSend: {{10, 7, 0, "MO", words(map[uint32]string{1: "reclaim unit handle update"})}, {10, 31, 16, "MOS", nil}},
}

func named(n Names) func(*nvme.Command, uint32) string {
	return func(_ *nvme.Command, v uint32) string { return n.Name(uint8(v)) }
}

var featureSelects = words(map[uint32]string{0: "current", 1: "default", 2: "saved", 3: "supported capabilities"})

var adminParts = map[nvme.Opcode][]part{
	nvme.AdminIdentify: {
		{10, 7, 0, "CNS", named(CNSNames)}, {10, 31, 16, "CNTID", nil}, {11, 15, 0, "CNSSID", nil}, {11, 31, 24, "CSI", nil}, {14, 6, 0, "UUID index", nil},
	},
	nvme.AdminGetLogPage: {
		{10, 7, 0, "LID", named(LIDNames)}, {10, 14, 8, "LSP", nil}, {10, 15, 15, "RAE", nil},
		{10, 31, 16, "NUMDL", func(c *nvme.Command, v uint32) string { return sizeOfDwords(c, c.CDW11&0xffff<<16|v) + " with NUMDU" }},
		{11, 15, 0, "NUMDU", nil}, {11, 31, 16, "LSI", nil},
		{12, 31, 0, "LPOL", func(c *nvme.Command, v uint32) string { return fmt.Sprintf("offset %d", uint64(c.CDW13)<<32|uint64(v)) }}, {13, 31, 0, "LPOU", nil},
		{14, 6, 0, "UUID index", nil}, {14, 23, 23, "OT", nil}, {14, 31, 24, "CSI", nil},
	},
	nvme.AdminGetFeatures: {
		{10, 7, 0, "FID", named(FIDNames)}, {10, 10, 8, "SEL", featureSelects}, {11, 31, 0, "feature specific", nil}, {14, 6, 0, "UUID index", nil},
	},
	nvme.AdminSetFeatures: {
		{10, 7, 0, "FID", named(FIDNames)}, {10, 31, 31, "SV", words(map[uint32]string{1: "kept over power cycles"})}, {11, 31, 0, "value", nil},
		{12, 31, 0, "feature specific", nil}, {13, 31, 0, "feature specific", nil}, {14, 6, 0, "UUID index", nil}, {15, 31, 0, "feature specific", nil},
	},
	nvme.AdminFormatNVM: {
		{10, 3, 0, "LBAFL", nil}, {10, 4, 4, "MSET", words(map[uint32]string{0: "separate", 1: "extended"})}, {10, 7, 5, "PI", nil}, {10, 8, 8, "PIL", nil},
		{10, 11, 9, "SES", words(map[uint32]string{0: "no secure erase", 1: "user data erase", 2: "cryptographic erase"})}, {10, 13, 12, "LBAFU", nil},
	},
	nvme.AdminSanitize: {
		{10, 2, 0, "SANACT", words(map[uint32]string{1: "exit failure mode", 2: "block erase", 3: "overwrite", 4: "crypto erase", 5: "exit media verification"})},
		{10, 3, 3, "AUSE", nil}, {10, 7, 4, "OWPASS", nil}, {10, 8, 8, "OIPBP", nil}, {10, 9, 9, "NDAS", nil}, {10, 10, 10, "EMVS", nil}, {11, 31, 0, "OVRPAT", nil},
	},
	nvme.AdminFWCommit:   {{10, 2, 0, "FS", nil}, {10, 5, 3, "CA", nil}, {10, 31, 31, "BPID", nil}},
	nvme.AdminFWDownload: {{10, 31, 0, "NUMD", sizeOfDwords}, {11, 31, 0, "OFST", func(_ *nvme.Command, v uint32) string { return fmt.Sprintf("offset %d", uint64(v)*4) }}},
	nvme.AdminSelfTest:   {{10, 3, 0, "STC", words(map[uint32]string{1: "short", 2: "extended", 15: "abort"})}},
	nvme.AdminNSMgmt:     {{10, 3, 0, "SEL", words(map[uint32]string{0: "create", 1: "delete"})}, {11, 31, 24, "CSI", nil}},
	nvme.AdminNSAttach:   {{10, 3, 0, "SEL", words(map[uint32]string{0: "attach", 1: "detach"})}},
}
