package single

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/nvme"
)

// prinfo bits of nvme-cli: PRACT and the three checks.
const (
	prinfoPRACT = 8
	maxPRInfo   = 15
)

// io are the options that reads, writes and their like share.
func (o *Options) io(t *Target) (nvme.IOOptions, error) {
	if o.PRInfo > maxPRInfo {
		return nvme.IOOptions{}, &badflag.Error{Flag: "--prinfo", Value: fmt.Sprint(o.PRInfo), Problem: "has four bits: 8 PRACT, 4 guard, 2 application tag, 1 reference tag", Remedy: "give 0 to 15"}
	}
	if o.DirType > 15 {
		return nvme.IOOptions{}, &badflag.Error{Flag: "--dir-type", Value: fmt.Sprint(o.DirType), Problem: "has four bits", Remedy: "give 1 for streams or 2 for placement (FDP)"}
	}
	io := nvme.IOOptions{
		FUA: o.FUA, LR: o.LR, PRACT: o.PRInfo&prinfoPRACT != 0, PRCHK: nvme.PRCheck(o.PRInfo & 7),
		AppTag: o.AppTag, AppMask: o.AppMask, StorageTag: o.StorageTag, CheckStorageTag: o.CheckStorageTag,
		Hint: nvme.AccessHint(o.Hint), Directive: nvme.DirectiveType(o.DirType), DSPEC: o.DirSpec, RefTag: o.RefTag,
		Limits: t.Limits,
	}
	if t.Layout.PI == nvme.PIType1 {
		io.RefTag = 0 // the builder derives it; see refTag
	}
	return io, nil
}

// refTag stores a reference tag that was given where the builder takes that of
// the address: a wrong one on purpose is what tests of drives need.
func (o *Options) refTag(l nvme.Layout, c *nvme.Command) {
	if l.PI == nvme.PIType1 && o.HasRefTag {
		c.SetRefTag(l, o.RefTag)
	}
}

type blockBuilder func(nsid uint32, l nvme.Layout, slba uint64, nlb uint32, o nvme.IOOptions) (nvme.Command, error)

// blockCount is how many blocks a command covers: what was said, or what the
// data holds.
func (o *Options) blockCount(host nvme.Layout, data []byte) (uint32, error) {
	n := o.Blocks
	size := o.DataSize
	if size == 0 {
		size = uint64(len(data))
	}
	if size != 0 {
		from, err := host.Blocks(size)
		if err != nil {
			return 0, &badflag.Error{Flag: "--data-size", Value: fmt.Sprint(size), Problem: err.Error(), Remedy: "give whole blocks, or only --blocks"}
		}
		if n != 0 && n != from {
			return 0, &badflag.Error{Flag: "--data-size", Value: fmt.Sprint(size), Problem: fmt.Sprintf("that is %d blocks of layout %s, and --blocks says %d", from, host, n), Remedy: "let them agree, or give only one"}
		}
		n = from
	}
	if n == 0 {
		n = 1
	}
	if n > nvme.MaxNLB {
		return 0, &badflag.Error{Flag: "--blocks", Value: fmt.Sprint(n), Problem: fmt.Sprintf("one command covers 1 to %d blocks", nvme.MaxNLB), Remedy: "split it"}
	}
	return uint32(n), nil
}

// hostLayout is how blocks lie in memory with the given protection action.
func hostLayout(l nvme.Layout, io *nvme.IOOptions) nvme.Layout {
	if io.PRACT {
		return l.UnderPRACT()
	}
	return l
}

// withData builds read, write, compare and append.
func withData(build blockBuilder, effect Effect) func(o *Options, t *Target, in *Source) (*Request, error) {
	return func(o *Options, t *Target, in *Source) (*Request, error) {
		io, err := o.io(t)
		if err != nil {
			return nil, err
		}
		host := hostLayout(t.Layout, &io)
		var data []byte
		if o.Blocks == 0 && o.DataSize == 0 {
			if data, err = in.whole(); err != nil {
				return nil, err
			}
		}
		n, err := o.blockCount(host, data)
		if err != nil {
			return nil, err
		}
		if md := host.MetadataLen(n); o.MetadataSize != 0 && o.MetadataSize != md {
			return nil, &badflag.Error{Flag: "--metadata-size", Value: fmt.Sprint(o.MetadataSize), Problem: fmt.Sprintf("%d blocks of layout %s have %d bytes of separate metadata", n, host, md), Remedy: "give that, or leave it out"}
		}
		cmd, err := build(t.NSID, t.Layout, o.StartBlock, n, io)
		if err != nil {
			return nil, err
		}
		o.refTag(t.Layout, &cmd)
		r := &Request{Command: cmd, Data: data, Effect: effect}
		if cmd.MetadataLen == 0 && in.Metadata != nil && cmd.IsWrite() {
			return nil, &badflag.Error{Flag: "--metadata", Problem: fmt.Sprintf("layout %s moves no separate metadata", host), Remedy: "leave it out"}
		}
		if err := r.fill(in); err != nil {
			return nil, err
		}
		if effect == Writes {
			r.Offset, r.Length = byteRange(t.Layout, o.StartBlock, uint64(n))
		}
		return r, nil
	}
}

// fill completes the buffers by the command's lengths and direction.
func (r *Request) fill(in *Source) (err error) {
	n, md := uint64(r.Command.DataLen), uint64(r.Command.MetadataLen)
	if r.FromDrive() {
		r.Data, r.Metadata = in.blank(n), in.blank(md)
		return nil
	}
	if uint64(len(r.Data)) != n {
		if r.Data, err = in.data(n); err != nil {
			return err
		}
	}
	r.Metadata, err = in.metadata(md)
	return err
}

func byteRange(l nvme.Layout, slba, blocks uint64) (offset, length uint64) {
	return slba * uint64(l.LBASize), blocks * uint64(l.LBASize)
}

// withoutData builds verify, write zeroes and write uncorrectable.
func withoutData(build blockBuilder, effect Effect) func(o *Options, t *Target, in *Source) (*Request, error) {
	return func(o *Options, t *Target, _ *Source) (*Request, error) {
		io, err := o.io(t)
		if err != nil {
			return nil, err
		}
		n, err := o.blockCount(t.Layout, nil)
		if err != nil {
			return nil, err
		}
		cmd, err := build(t.NSID, t.Layout, o.StartBlock, n, io)
		if err != nil {
			return nil, err
		}
		o.refTag(t.Layout, &cmd)
		r := &Request{Command: cmd, Effect: effect}
		if effect == Writes {
			r.Offset, r.Length = byteRange(t.Layout, o.StartBlock, uint64(n))
		}
		return r, nil
	}
}

func writeZeroes(o *Options, t *Target, in *Source) (*Request, error) {
	return withoutData(func(nsid uint32, l nvme.Layout, slba uint64, nlb uint32, io nvme.IOOptions) (nvme.Command, error) {
		return nvme.NewWriteZeroes(nsid, l, slba, nlb, o.Deallocate, io)
	}, Writes)(o, t, in)
}

func flush(_ *Options, t *Target, _ *Source) (*Request, error) {
	return &Request{Command: nvme.NewFlush(t.NSID)}, nil
}
