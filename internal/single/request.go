package single

import (
	"fmt"
	"slices"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/nvme"
)

// Effect is what a command may do to a drive.
type Effect uint8

// Effects, the worse the higher.
const (
	// Reads leaves data and settings alone.
	Reads Effect = iota
	// Sets changes the controller, its settings or its firmware.
	Sets
	// Writes changes data, or may do so.
	Writes
)

// Request is a command that is ready to be sent.
type Request struct {
	// Name is the verb's.
	Name    string
	Set     nvme.CommandSet
	Layout  nvme.Layout
	Command nvme.Command
	// Data and Metadata go to the drive or take what comes from it, by the
	// direction of the opcode.
	Data, Metadata []byte
	Effect         Effect
	// Offset and Length are the bytes of the namespace that may change; Length
	// 0 is to its end.
	Offset, Length uint64
	// Log is how a log page is read that takes several commands.
	Log *nvme.LogOptions

	decode func(data []byte, result uint64) (any, error)
}

// FromDrive tells whether the command's data comes from the drive.
func (r *Request) FromDrive() bool { return !r.Command.IsWrite() }

// Verb is one subcommand.
type Verb struct {
	Name    string
	Aliases []string
	// Short is one line of help, Example a command line without the program.
	Short, Example string
	Admin          bool
	// Effect is what it does to a drive; that of raw commands depends.
	Effect Effect
	// Flags are the names of the options that it takes beside those that all
	// have.
	Flags []string
	// Sends and Receives say that data goes to or comes from the drive.
	Sends, Receives bool
	// NeedsLayout says that its lengths follow from the namespace's layout.
	NeedsLayout bool
	// NeedsNSID says that it is for a namespace.
	NeedsNSID bool
	// Zoned says that it is of the zoned command set.
	Zoned bool

	build func(o *Options, t *Target, in *Source) (*Request, error)
}

// Takes tells whether the verb has an option.
func (v *Verb) Takes(flag string) bool {
	return slices.Contains(v.Flags, flag)
}

// Prepare builds the command, takes its data from in, and holds it against the
// target.
func (v *Verb) Prepare(o *Options, t *Target, in *Source) (*Request, error) {
	own := *t
	if o.NSID != 0 {
		own.NSID = o.NSID
		if own.Limits.NSID != 0 && own.Limits.NSID != o.NSID {
			return nil, &badflag.Error{Flag: "--namespace-id", Value: fmt.Sprint(o.NSID),
				Problem: fmt.Sprintf("%s is namespace %d, and the kernel takes no other on its node", t.Path, t.Limits.NSID), Remedy: "leave it out, or name the other namespace's node"}
		}
	}
	if v.NeedsNSID && own.NSID == 0 {
		return nil, &badflag.Error{Flag: "--namespace-id", Problem: v.Name + " is for a namespace, and none is named", Remedy: "give it, or name a namespace's node such as /dev/ng0n1"}
	}
	if v.NeedsLayout && own.Layout.LBASize == 0 {
		return nil, &badflag.Error{Flag: "--layout", Problem: "without a device it is not known how long a block is", Remedy: "give --layout, such as lba=4096, or a DEVICE"}
	}
	r, err := v.build(o, &own, in)
	if err != nil {
		return nil, err
	}
	r.Name, r.Layout = v.Name, own.Layout
	if r.Set != nvme.SetAdmin {
		r.Set = own.Set
	}
	r.Command.TimeoutMS = o.TimeoutMS
	return r, v.check(r, &own)
}

// check holds what was built against the target once more, raw commands for the
// first time.
func (v *Verb) check(r *Request, t *Target) error {
	if r.Set != nvme.SetAdmin && t.Layout.LBASize == 0 {
		return nil // flush, or a raw command of a dry run without device
	}
	lim := t.Limits
	lim.Set = r.Set
	return nvme.Check(&r.Command, t.Layout, lim)
}
