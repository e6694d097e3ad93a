package single

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// Target is what a command is for.
type Target struct {
	// Path is the node, "" in a dry run without device.
	Path string
	NSID uint32
	Set  nvme.CommandSet
	// Layout has an LBASize of 0 where it is not known.
	Layout nvme.Layout
	Limits nvme.Limits
	Copy   nvme.CopyLimits
	// ErrorEntries is the length of the controller's error log in entries, 0
	// where it is not known.
	ErrorEntries uint32
	// ZoneExtension is the size of a zone descriptor extension in bytes.
	ZoneExtension uint32
}

// DeviceTarget is a namespace that is open.
func DeviceTarget(d *passthru.Device) Target {
	l := d.Limits()
	t := Target{
		Path: d.Path(), NSID: d.NSID(), Set: d.CommandSet(), Layout: d.Layout(),
		Limits: nvme.Limits{Set: d.CommandSet(), NSID: d.NSID(), Blocks: l.Blocks, MaxTransfer: l.MaxTransfer, MaxAppend: l.MaxAppend},
	}
	if d.Controller().ONCS.Copy() {
		t.Copy = d.Namespace().CopyLimits()
	}
	return t
}

// ControllerTarget is a controller that is open; nsid is that of the node it was
// named by, 0 for none.
func ControllerTarget(c *passthru.Controller, nsid uint32) Target {
	id := c.Identity()
	return Target{Path: c.Path(), NSID: nsid, Set: nvme.SetAdmin, Limits: nvme.Limits{Set: nvme.SetAdmin}, ErrorEntries: uint32(id.ELPE) + 1}
}

// ParseLayout reads how a logical block lies in memory, for dry runs without a
// device: items lba=BYTES, ms=BYTES, extended, pi=TYPE, guard=16|32|64, first and
// sts=BITS, apart by commas, such as "lba=4096,ms=8,pi=1".
func ParseLayout(s string) (nvme.Layout, error) {
	var l nvme.Layout
	bad := func(problem string) (nvme.Layout, error) {
		return nvme.Layout{}, &badflag.Error{Flag: "--layout", Value: strconv.Quote(s), Problem: problem, Remedy: "give for example lba=512, or lba=4096,ms=8,extended,pi=1,guard=16,first,sts=0"}
	}
	for item := range strings.SplitSeq(s, ",") {
		key, value, has := strings.Cut(strings.TrimSpace(item), "=")
		var n uint64
		if has {
			var err error
			if n, err = strconv.ParseUint(value, 10, 32); err != nil {
				return bad(fmt.Sprintf("%q is no number", value))
			}
		}
		switch {
		case key == "lba" && has:
			l.LBASize = uint32(n)
		case key == "ms" && has && n <= 0xffff:
			l.MetadataSize = uint16(n)
		case key == "extended" && !has:
			l.Extended = true
		case key == "pi" && has && n <= 3:
			l.PI = nvme.PIType(n)
		case key == "guard" && (n == 16 || n == 32 || n == 64):
			l.PIFormat = map[uint64]nvme.PIFormat{16: nvme.Guard16, 32: nvme.Guard32, 64: nvme.Guard64}[n]
		case key == "first" && !has:
			l.PIFirst = true
		case key == "sts" && has && n <= 64:
			l.StorageTagBits = uint8(n)
		default:
			return bad(fmt.Sprintf("%q is not understood", item))
		}
	}
	if err := l.Validate(); err != nil {
		return bad(err.Error())
	}
	return l, nil
}
