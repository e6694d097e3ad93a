package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/single"
	"github.com/nvmepass/nvmepass/internal/units"
	"github.com/nvmepass/nvmepass/nvme"
)

// singleFlags are the flags of one io or admin subcommand as given.
type singleFlags struct {
	verb *single.Verb
	opts single.Options

	layout         string
	data, metadata string
	prefill        *byte
	output         string
	rawBinary      bool
	dryRun         bool
	showCommand    bool
	latency        bool
	allowWrite     bool
	allowAdmin     bool
	force          bool
	cns, lid, fid  string
	opcode         string
	given          func(name string) bool
}

// nvmeCLINames lets flags be written by nvme-cli's other names.
func nvmeCLINames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	switch name {
	case "slba", "start-lba", "zslba":
		name = "start-block"
	case "input-file":
		name = "data"
	case "lid":
		name = "log-id"
	case "lpo":
		name = "offset"
	case "fid":
		name = "feature-id"
	case "sdlba":
		name = "dest-block"
	case "nlb":
		name = "blocks"
	case "output-format":
		name = "output"
	}
	return pflag.NormalizedName(name)
}

// refusedValue is a flag of nvme-cli that means something else here.
type refusedValue struct{ why string }

func (v refusedValue) String() string   { return "" }
func (v refusedValue) Set(string) error { return fmt.Errorf("%s", v.why) }
func (v refusedValue) Type() string     { return "" }

// byteValue is a byte, 0 being different from not given.
type byteValue struct{ b **byte }

func (v byteValue) String() string {
	if v.b == nil || *v.b == nil {
		return ""
	}
	return fmt.Sprintf("0x%02x", **v.b)
}

func (v byteValue) Set(s string) error {
	n, err := strconv.ParseUint(s, 0, 8)
	if err != nil {
		return fmt.Errorf("need a byte, 0 to 0xff")
	}
	b := byte(n)
	*v.b = &b
	return nil
}

func (v byteValue) Type() string { return "BYTE" }

// millisValue is a time limit: milliseconds as nvme-cli has it, or with a unit.
type millisValue struct{ ms *uint32 }

func (v millisValue) String() string {
	if v.ms == nil || *v.ms == 0 {
		return ""
	}
	return fmt.Sprintf("%dms", *v.ms)
}

func (v millisValue) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		d, derr := units.ParseDuration(s)
		if derr != nil || d%time.Millisecond != 0 || d/time.Millisecond > 1<<32-1 {
			return fmt.Errorf("need milliseconds such as 5000, or a time with a unit such as 5s")
		}
		n = uint64(d / time.Millisecond)
	}
	if n == 0 {
		return fmt.Errorf("must be above 0; leave it out for the driver's default")
	}
	*v.ms = uint32(n)
	return nil
}

func (v millisValue) Type() string { return "MS" }

func (f *singleFlags) add(fl *pflag.FlagSet) {
	fl.SetNormalizeFunc(nvmeCLINames)
	o := &f.opts
	f.given = fl.Changed
	for _, name := range f.verb.Flags {
		f.addOne(fl, name)
	}
	whole := ""
	if f.verb.Admin {
		whole = "; 0 for the controller, 0xffffffff for all namespaces"
	}
	fl.Uint32VarP(&o.NSID, "namespace-id", "n", 0, "namespace `NSID` (default that of DEVICE"+whole+")")
	fl.Var(millisValue{&o.TimeoutMS}, "timeout", "the driver's limit for the command, in ms or with a unit (default the driver's own)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the encoded command and send nothing; needs no DEVICE if --namespace-id"+f.layoutHint()+" says enough")
	if !f.verb.Admin {
		fl.StringVar(&f.layout, "layout", "", "with --dry-run: how a block lies in memory, such as lba=4096,ms=8,pi=1 (default that of DEVICE)")
	}
	fl.BoolVar(&f.showCommand, "show-command", false, "print the encoded command beside what came of it")
	fl.BoolVarP(&f.latency, "latency", "T", false, "print how long it took, as the caller sees it: with the hand-over to the ring's thread and its start")
	if f.verb.Effect == single.Writes || f.verb.Name == "raw" {
		fl.BoolVar(&f.allowWrite, "allow-write", false, "let the command change data")
		fl.BoolVar(&f.force, "force-overwrite", false, "also where the namespace is in use, partitioned or holds a file system")
	}
	if f.verb.Admin && (f.verb.Effect != single.Reads || f.verb.Name == "raw") {
		fl.BoolVar(&f.allowAdmin, "allow-admin-effects", false, "let the command change settings, firmware or namespaces of the controller")
	}
	outputs := "text, json"
	if f.verb.Receives {
		outputs += " or binary (the drive's data alone)"
	}
	fl.StringVarP(&f.output, "output", "o", "text", "`FORMAT` of the result on standard output: "+outputs)
}

func (f *singleFlags) layoutHint() string {
	if f.verb.NeedsLayout {
		return " and --layout"
	}
	return ""
}

const blockCountWhy = "nvme-cli's --block-count is zero-based, so that 0 means one block; here give --blocks, which counts from one (--block-count 7 there is --blocks 8 here)"

func (f *singleFlags) addOne(fl *pflag.FlagSet, name string) {
	o := &f.opts
	switch name {
	case "start-block":
		fl.Uint64VarP(&o.StartBlock, name, "s", 0, "first logical block (nvme-cli: also --slba)")
	case "blocks":
		what := "how many logical blocks, counted from one"
		if f.verb.Sends {
			what += " (default as many as the data has)"
		} else {
			what += " (default 1)"
		}
		fl.Uint64Var(&o.Blocks, name, 0, what)
		fl.VarP(refusedValue{blockCountWhy}, "block-count", "c", "")
		_ = fl.MarkHidden("block-count")
	case "data-size":
		fl.Uint64VarP(&o.DataSize, name, "z", 0, "bytes of data; has to agree with --blocks, or says it")
	case "metadata-size":
		fl.Uint64VarP(&o.MetadataSize, name, "y", 0, "bytes of separate metadata; has to agree with --blocks")
	case "data":
		what := "FILE that receives the drive's data as it is, - for standard output (default a dump on standard output)"
		switch {
		case f.verb.Sends && f.verb.Receives:
			what = "FILE with the data to send (default, or -, standard input), or that receives it"
		case f.verb.Sends:
			what = "FILE with the data to send (default, or -, standard input; nvme-cli: also --input-file)"
		}
		fl.StringVarP(&f.data, name, "d", "", what)
	case "metadata":
		what := "FILE that receives separate metadata as it is"
		if f.verb.Sends {
			what = "FILE with the separate metadata to send"
			if f.verb.Receives {
				what += ", or that receives it"
			}
		}
		fl.StringVarP(&f.metadata, name, "M", "", what)
	case "prefill":
		fl.VarP(byteValue{&f.prefill}, name, "p", "byte that fills the buffers where no data was given; for reads, before the drive fills them")
	case "raw-binary":
		fl.BoolVarP(&f.rawBinary, name, "b", false, "the same as -o binary")
	case "dsm":
		fl.Uint8Var(&o.Hint, name, 0, "dataset management hint, bits 0 to 7 of CDW13")
	case "force-unit-access":
		fl.BoolVarP(&o.FUA, name, "f", false, "the data has to be on the media when the command completes")
	case "limited-retry":
		fl.BoolVarP(&o.LR, name, "l", false, "the drive should make less effort to recover")
	case "prinfo":
		fl.Uint8Var(&o.PRInfo, name, 0, "protection: 8 PRACT, 4 check guard, 2 application tag, 1 reference tag; the sum")
	case "app-tag":
		fl.Uint16VarP(&o.AppTag, name, "a", 0, "application tag")
	case "app-tag-mask":
		fl.Uint16VarP(&o.AppMask, name, "m", 0, "mask of the application tag")
	case "ref-tag":
		fl.Uint64VarP(&o.RefTag, name, "r", 0, "initial reference tag (default with protection type 1 that of the address)")
	case "storage-tag":
		fl.Uint64Var(&o.StorageTag, name, 0, "storage tag")
	case "storage-tag-check":
		fl.BoolVar(&o.CheckStorageTag, name, false, "check the storage tag")
	case "dir-type":
		fl.Uint8Var(&o.DirType, name, 0, "directive: 1 streams, 2 placement (FDP)")
	case "dir-spec":
		fl.Uint16Var(&o.DirSpec, name, 0, "stream or placement identifier")
	case "deac":
		fl.BoolVar(&o.Deallocate, name, false, "deallocate the blocks as well")
	case "range":
		fl.StringArrayVar(&o.Ranges, name, nil, "SLBA:BLOCKS; may be repeated, instead of --start-block and --blocks")
	case "dest-block":
		fl.Uint64Var(&o.Destination, name, 0, "first block of the destination (nvme-cli: --sdlba)")
	case "descs":
		fl.Uint32Var(&o.Descriptors, name, 0, "most zones to list (default 63, one page)")
	case "state":
		fl.StringVar(&o.State, name, "", "only zones that are empty, implicitly-open, explicitly-open, closed, full, read-only or offline")
	case "partial":
		fl.BoolVar(&o.Partial, name, false, "count the zones that are listed instead of all")
	case "extended":
		fl.BoolVar(&o.Extended, name, false, "with the zones' descriptor extensions")
	case "select-all":
		fl.BoolVarP(&o.SelectAll, name, "a", false, "all zones that the action fits")
	case "zrwa":
		fl.BoolVar(&o.ZRWA, name, false, "with a random write area")
	default:
		f.addRaw(fl, name)
	}
}

// addRaw adds the flags of raw and of admin commands.
func (f *singleFlags) addRaw(fl *pflag.FlagSet, name string) {
	o := &f.opts
	switch name {
	case "opcode":
		fl.StringVarP(&f.opcode, name, "O", "", "opcode, such as 0x02")
		for _, zero := range []string{"flags", "rsvd"} {
			fl.Var(refusedValue{"the kernel refuses every value but 0; leave it out"}, zero, "")
			_ = fl.MarkHidden(zero)
		}
	case "cdw":
		for _, n := range []int{2, 3, 10, 11, 12, 13, 14, 15} {
			fl.Uint32Var(&o.CDW[n], fmt.Sprintf("cdw%d", n), 0, fmt.Sprintf("command dword %d", n))
		}
	case "cdw11", "cdw12":
		n, _ := strconv.Atoi(name[3:])
		fl.Uint32Var(&o.CDW[n], name, 0, fmt.Sprintf("command dword %d, for features that use it", n))
	case "data-len":
		to := &o.DataLen
		if f.verb.Name != "raw" {
			to = &o.FeatureLen
		}
		fl.Uint32VarP(to, name, "l", 0, "bytes of data that the command moves")
	case "metadata-len":
		fl.Uint32VarP(&o.MetadataLen, name, "m", 0, "bytes of separate metadata that it moves")
	case "read":
		fl.BoolVarP(&o.Read, name, "r", false, "data comes from the drive, as bit 0 of the opcode has to say")
	case "write":
		fl.BoolVarP(&o.Write, name, "w", false, "data goes to the drive, as bit 0 of the opcode has to say")
	case "cns":
		fl.StringVar(&f.cns, name, "", "structure, a number or "+single.CNSNames.String()+" (default namespace for a namespace's node, else controller)")
	case "cntid":
		fl.Uint16Var(&o.CNTID, name, 0, "controller identifier")
	case "cnssid":
		fl.Uint16Var(&o.CNSSpecID, name, 0, "CNS specific identifier: an NVM set, a domain, a format index")
	case "csi":
		fl.Uint8Var(&o.CSI, name, 0, "command set: 0 NVM, 1 key value, 2 zoned")
	case "uuid-index":
		fl.Uint8Var(&o.UUIDIndex, name, 0, "UUID index, 0 to 127")
	case "log-id":
		fl.StringVar(&f.lid, name, "", "log page, a number or "+single.LIDNames.String())
	case "log-len":
		fl.Uint32Var(&o.LogLen, name, 0, "bytes to read (default the whole page where its length is known)")
	case "offset":
		fl.Uint64Var(&o.Offset, name, 0, "first byte of the page to read (nvme-cli: --lpo)")
	case "lsp":
		fl.Uint8Var(&o.LSP, name, 0, "log specific parameter")
	case "lsi":
		fl.Uint16Var(&o.LSI, name, 0, "log specific identifier, such as an endurance group")
	case "rae":
		fl.BoolVar(&o.RAE, name, false, "keep the asynchronous event that announced the page")
	case "feature-id":
		fl.StringVarP(&f.fid, name, "f", "", "feature, a number or "+single.FIDNames.String())
	case "sel":
		fl.Uint8VarP(&o.Select, name, "s", 0, "0 current, 1 default, 2 saved, 3 supported capabilities")
	case "value":
		fl.Uint32VarP(&o.Value, name, "V", 0, "value, CDW11")
	case "save":
		fl.BoolVar(&o.Save, name, false, "keep the value over power cycles")
	}
}

// parse checks what can be checked without a device.
func (f *singleFlags) parse() error {
	o := &f.opts
	o.HasRefTag = f.verb.Takes("ref-tag") && f.given("ref-tag")
	if f.rawBinary {
		if f.given("output") && f.output != "binary" {
			return usage("--raw-binary is -o binary, and -o %s was given: leave one out", f.output)
		}
		f.output = "binary"
	}
	allowed := slices.Clone(formats["io"])
	if f.verb.Receives {
		allowed = append(allowed, "binary")
	}
	if err := checkOutput(f.output, allowed...); err != nil {
		return err
	}
	if err := f.names(); err != nil {
		return err
	}
	for _, z := range []string{"blocks", "data-size", "metadata-size", "namespace-id", "descs", "log-len"} {
		if f.given(z) && f.zero(z) && (z != "namespace-id" || !f.verb.Admin) {
			return &badflag.Error{Flag: "--" + z, Value: "0", Problem: "must be above 0", Remedy: "leave the flag out for its default"}
		}
	}
	return f.checkUseless()
}

func (f *singleFlags) zero(name string) bool {
	o := &f.opts
	return map[string]bool{
		"blocks": o.Blocks == 0, "data-size": o.DataSize == 0, "metadata-size": o.MetadataSize == 0, "namespace-id": o.NSID == 0,
		"descs": o.Descriptors == 0, "log-len": o.LogLen == 0,
	}[name]
}

// names turns names of structures, pages and features into numbers.
func (f *singleFlags) names() error {
	o := &f.opts
	for _, n := range []struct {
		flag, value string
		names       single.Names
		need        bool
		set         func(v uint8)
	}{
		{"cns", f.cns, single.CNSNames, false, func(v uint8) { o.CNS, o.HasCNS = nvme.CNS(v), true }},
		{"log-id", f.lid, single.LIDNames, true, func(v uint8) { o.LID = nvme.LID(v) }},
		{"feature-id", f.fid, single.FIDNames, true, func(v uint8) { o.FID = nvme.FID(v) }},
		{"opcode", f.opcode, single.Names{}, true, func(v uint8) { o.Opcode = v }},
	} {
		if !f.verb.Takes(n.flag) {
			continue
		}
		if !f.given(n.flag) {
			if n.need {
				return &badflag.Error{Flag: "--" + n.flag, Problem: f.verb.Name + " needs it", Remedy: "give a number from 0 to 255" + orNames(n.names)}
			}
			continue
		}
		v, ok := n.names.Parse(n.value)
		if !ok {
			return &badflag.Error{Flag: "--" + n.flag, Value: strconv.Quote(n.value), Problem: "is not known", Remedy: "give a number from 0 to 255" + orNames(n.names)}
		}
		n.set(v)
	}
	return nil
}

func orNames(n single.Names) string {
	if len(n) == 0 {
		return ""
	}
	return ", or " + n.String()
}

// checkUseless refuses flags that would have no effect on what is asked for.
func (f *singleFlags) checkUseless() error {
	reads, o := f.receives(), &f.opts
	bare := f.verb.Name == "raw" && o.DataLen == 0
	for _, u := range []struct {
		name    string
		useless bool
		problem string
	}{
		{"layout", !f.dryRun, "without --dry-run the device itself says it"},
		{"latency", f.dryRun, "a dry run takes no time"},
		{"show-command", f.dryRun, "a dry run shows the command anyway"},
		{"allow-write", f.dryRun, "a dry run writes nothing"},
		{"force-overwrite", f.dryRun || !f.allowWrite, "without --allow-write nothing is written"},
		{"allow-admin-effects", f.dryRun, "a dry run sends nothing"},
		{"show-command", f.output == "binary", "-o binary leaves no room for it"},
		{"data", f.output == "binary" && reads, "-o binary is data on standard output already"},
		{"data", f.output != "text" && f.data == "-" && reads, "-o " + f.output + " needs standard output for itself"},
		{"data", f.dryRun && reads, "a dry run reads nothing"},
		{"metadata", f.dryRun && reads, "a dry run reads nothing"},
		{"data", bare, "--data-len says that no data moves"},
		{"raw-binary", bare, "--data-len says that no data moves"},
		{"prefill", bare && o.MetadataLen == 0, "--data-len says that no data moves"},
		{"metadata", f.verb.Name == "raw" && o.MetadataLen == 0, "--metadata-len says that there is none"},
		{"start-block", o.SelectAll, "--select-all is for all zones"},
		{"dir-spec", o.DirType == 0, "there is no --dir-type that it belongs to"},
		{"app-tag-mask", o.PRInfo&2 == 0, "bit 1 of --prinfo does not ask for a check of the application tag"},
	} {
		if f.given(u.name) && u.useless {
			return &badflag.Error{Flag: "--" + u.name, Problem: u.problem + ", so that the flag has no effect", Remedy: "leave it out"}
		}
	}
	if f.output == "binary" && f.dryRun {
		return usage("-o binary: a dry run has no data; use text or json")
	}
	if f.data == "-" && f.metadata == "-" {
		return usage("--data - and --metadata -: only one of them can be a standard stream; name a file for the other")
	}
	if !reads {
		return nil
	}
	for name, path := range map[string]string{"data": f.data, "metadata": f.metadata} {
		if path == "-" || !f.given(name) {
			continue
		}
		if err := checkFile("--"+name, path, "block.bin"); err != nil {
			return err
		}
	}
	return nil
}

// receives tells whether the data comes from the drive, for raw commands by the
// opcode.
func (f *singleFlags) receives() bool {
	if f.verb.Sends && f.verb.Receives {
		return f.opts.Opcode&1 == 0
	}
	return f.verb.Receives
}

// sends tells whether there is data that goes to the drive.
func (f *singleFlags) sends() bool {
	if f.verb.Name == "raw" {
		return f.opts.Opcode&1 != 0 && f.opts.DataLen > 0
	}
	return f.verb.Sends
}
