package single

import (
	"fmt"
	"slices"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

func raw(o *Options, t *Target, in *Source) (*Request, error) {
	cmd := nvme.Command{
		Opcode: nvme.Opcode(o.Opcode), NSID: t.NSID, CDW2: o.CDW[2], CDW3: o.CDW[3],
		CDW10: o.CDW[10], CDW11: o.CDW[11], CDW12: o.CDW[12], CDW13: o.CDW[13], CDW14: o.CDW[14], CDW15: o.CDW[15],
		DataLen: o.DataLen, MetadataLen: o.MetadataLen,
	}
	if o.Read && o.Write {
		return nil, &badflag.Error{Flag: "--read", Problem: "data cannot move both ways", Remedy: "give --read or --write, or neither: the opcode says it"}
	}
	if o.Read && cmd.IsWrite() || o.Write && !cmd.IsWrite() {
		flag, way := "--read", "to the drive"
		if o.Write {
			flag, way = "--write", "from the drive"
		}
		return nil, &badflag.Error{Flag: flag, Problem: fmt.Sprintf("bit 0 of opcode %#02x says that data moves %s, and the kernel goes by that", o.Opcode, way), Remedy: "leave it out"}
	}
	const most = 1 << 30
	if o.DataLen > most || o.MetadataLen > most {
		return nil, &badflag.Error{Flag: "--data-len", Value: fmt.Sprint(max(o.DataLen, o.MetadataLen)), Problem: fmt.Sprintf("above %d bytes, which no drive takes in one command", most), Remedy: "split it"}
	}
	r := &Request{Command: cmd}
	return r, r.fill(in)
}

func rawIO(o *Options, t *Target, in *Source) (*Request, error) {
	r, err := raw(o, t, in)
	if err != nil || !passthru.ChangesDrive(t.Set, r.Command.Opcode) {
		return r, err
	}
	r.Effect = Writes // whatever is not known: of the whole namespace
	if blocks := t.Set == nvme.SetNVM || t.Set == nvme.SetZNS; blocks && t.Layout.LBASize != 0 {
		switch r.Command.Opcode {
		case nvme.OpWrite, nvme.OpWriteUncorrectable, nvme.OpWriteZeroes:
			if !r.Command.NSZ() || r.Command.Opcode != nvme.OpWriteZeroes {
				r.Offset, r.Length = byteRange(t.Layout, r.Command.SLBA(), uint64(r.Command.NLB()))
			}
		}
	}
	return r, nil
}

// readingAdmin and settingAdmin are the admin commands that only read, and those
// that change the controller and no data. All others may change data.
var (
	readingAdmin = []nvme.Opcode{nvme.AdminIdentify, nvme.AdminGetLogPage, nvme.AdminGetFeatures}
	settingAdmin = []nvme.Opcode{
		nvme.AdminAbort, nvme.AdminKeepAlive, nvme.AdminSelfTest, nvme.AdminSetFeatures, nvme.AdminFWDownload, nvme.AdminFWCommit, nvme.AdminDirectiveRecv,
		nvme.AdminDirectiveSend, nvme.AdminMIRecv, nvme.AdminSecurityRecv, nvme.AdminGetLBAStatus, nvme.AdminNSAttach, nvme.AdminAsyncEvent, nvme.AdminLockdown,
	}
)

func rawAdmin(o *Options, t *Target, in *Source) (*Request, error) {
	r, err := raw(o, t, in)
	if err != nil {
		return nil, err
	}
	r.Set = nvme.SetAdmin
	switch op := r.Command.Opcode; {
	case slices.Contains(readingAdmin, op):
	case slices.Contains(settingAdmin, op):
		r.Effect = Sets
	default:
		r.Effect = Writes
	}
	if r.Command.Opcode == nvme.AdminIdentify {
		csi := nvme.CommandSet(r.Command.CDW11 >> 24)
		r.decode = identifyDecoder(nvme.CNS(r.Command.CDW10), csi)
	}
	return r, nil
}
