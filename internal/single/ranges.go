package single

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/nvme"
)

// blockRange is one of --range.
type blockRange struct{ slba, blocks uint64 }

// blockRanges reads --range SLBA:BLOCKS, or makes one range of --start-block and
// --blocks.
func (o *Options) blockRanges() ([]blockRange, error) {
	if len(o.Ranges) == 0 {
		return []blockRange{{o.StartBlock, max(1, o.Blocks)}}, nil
	}
	if o.StartBlock != 0 || o.Blocks != 0 {
		return nil, &badflag.Error{Flag: "--range", Value: strconv.Quote(o.Ranges[0]), Problem: "--start-block and --blocks say a range already", Remedy: "give all of them by --range"}
	}
	var all []blockRange
	for _, s := range o.Ranges {
		first, count, ok := strings.Cut(s, ":")
		slba, err := strconv.ParseUint(first, 0, 64)
		blocks, err2 := strconv.ParseUint(count, 0, 64)
		if !ok || err != nil || err2 != nil || blocks == 0 {
			return nil, &badflag.Error{Flag: "--range", Value: strconv.Quote(s), Problem: "is no range", Remedy: "give SLBA:BLOCKS with at least one block, such as 0x100:8"}
		}
		all = append(all, blockRange{slba, blocks})
	}
	return all, nil
}

func trim(o *Options, t *Target, _ *Source) (*Request, error) {
	ranges, err := o.blockRanges()
	if err != nil {
		return nil, err
	}
	r := &Request{Effect: Writes}
	var list []nvme.DSMRange
	first, end := ^uint64(0), uint64(0)
	for _, x := range ranges {
		if x.blocks > 1<<32-1 {
			return nil, &badflag.Error{Flag: "--blocks", Value: fmt.Sprint(x.blocks), Problem: "a range of trim has at most 4294967295 blocks", Remedy: "split it"}
		}
		d := nvme.DSMRange{SLBA: x.slba, NLB: uint32(x.blocks)}
		list, r.Data = append(list, d), d.AppendTo(r.Data)
		first, end = min(first, x.slba), max(end, x.slba+x.blocks)
	}
	if r.Command, err = nvme.NewDSM(t.NSID, list, nvme.DSMDeallocate, t.Limits); err != nil {
		return nil, err
	}
	r.Offset, r.Length = byteRange(t.Layout, first, end-first)
	return r, nil
}

func copyBlocks(o *Options, t *Target, _ *Source) (*Request, error) {
	ranges, err := o.blockRanges()
	if err != nil {
		return nil, err
	}
	io, err := o.io(t)
	if err != nil {
		return nil, err
	}
	opts := nvme.CopyOptions{Write: io, Limits: t.Copy, ReadPRACT: io.PRACT, ReadPRCHK: io.PRCHK}
	if t.Layout.PI != nvme.PINone && t.Layout.PIFormat != nvme.Guard16 {
		opts.Format = nvme.CopyFormat1
	}
	r := &Request{Effect: Writes}
	var list []nvme.CopyRange
	var total uint64
	for _, x := range ranges {
		if x.blocks > nvme.MaxNLB {
			return nil, &badflag.Error{Flag: "--blocks", Value: fmt.Sprint(x.blocks), Problem: fmt.Sprintf("a source range has at most %d blocks", nvme.MaxNLB), Remedy: "split it"}
		}
		c := nvme.CopyRange{SLBA: x.slba, NLB: uint32(x.blocks), RefTag: x.slba, StorageTag: o.StorageTag, AppTag: o.AppTag, AppMask: o.AppMask}
		list, r.Data = append(list, c), c.AppendTo(r.Data, opts.Format, t.Layout)
		total += x.blocks
	}
	if r.Command, err = nvme.NewCopy(t.NSID, t.Layout, o.Destination, list, opts); err != nil {
		return nil, err
	}
	o.refTag(t.Layout, &r.Command)
	r.Offset, r.Length = byteRange(t.Layout, o.Destination, total)
	return r, nil
}
