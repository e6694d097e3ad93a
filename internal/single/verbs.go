package single

import "github.com/nvmepass/nvmepass/nvme"

// Flags that several verbs share.
var (
	rangeFlags = []string{"start-block", "blocks"}
	piFlags    = []string{"prinfo", "app-tag", "app-tag-mask", "ref-tag", "storage-tag", "storage-tag-check"}
	sizeFlags  = []string{"data-size", "metadata-size", "data", "metadata"}
	mediaFlags = []string{"force-unit-access", "limited-retry"}
	placement  = []string{"dir-type", "dir-spec"}
	rawFlags   = []string{"opcode", "cdw", "data-len", "metadata-len", "data", "metadata", "read", "write", "prefill"}
)

func flags(groups ...[]string) (all []string) {
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// IOVerbs are the subcommands of nvmepass io.
func IOVerbs() []*Verb {
	verbs := []*Verb{
		{
			Name: "read", Short: "Read logical blocks and their metadata", Receives: true, NeedsLayout: true,
			Example: "io read /dev/ng0n1 --start-block 0x100 --blocks 8 --data out.bin",
			Flags:   flags(rangeFlags, sizeFlags, []string{"raw-binary", "dsm"}, mediaFlags, piFlags), build: withData(nvme.NewRead, Reads),
		},
		{
			Name: "write", Short: "Write logical blocks and their metadata", Sends: true, NeedsLayout: true, Effect: Writes,
			Example: "io write /dev/ng0n1 --start-block 16 --data in.bin --allow-write",
			Flags:   flags(rangeFlags, sizeFlags, []string{"prefill", "dsm"}, mediaFlags, placement, piFlags), build: withData(nvme.NewWrite, Writes),
		},
		{
			Name: "compare", Short: "Have the drive compare blocks with data; exit 4 if they differ", Sends: true, NeedsLayout: true,
			Example: "io compare /dev/ng0n1 --start-block 16 --data in.bin",
			Flags:   flags(rangeFlags, sizeFlags, []string{"prefill"}, mediaFlags, piFlags), build: withData(nvme.NewCompare, Reads),
		},
		{
			Name: "verify", Short: "Have the drive read blocks and check them, without a transfer", NeedsLayout: true,
			Example: "io verify /dev/ng0n1 --start-block 0 --blocks 256",
			Flags:   flags(rangeFlags, mediaFlags, piFlags), build: withoutData(nvme.NewVerify, Reads),
		},
		{
			Name: "flush", Short: "Make completed writes durable",
			Example: "io flush /dev/ng0n1", build: flush,
		},
		{
			Name: "trim", Aliases: []string{"deallocate", "dsm"}, Short: "Tell the drive that blocks are no longer needed", NeedsLayout: true, Effect: Writes,
			Example: "io trim /dev/ng0n1 --range 0:256 --range 0x1000:8 --allow-write",
			Flags:   flags(rangeFlags, []string{"range"}), build: trim,
		},
		{
			Name: "write-zeroes", Short: "Set blocks to zero without moving data", NeedsLayout: true, Effect: Writes,
			Example: "io write-zeroes /dev/ng0n1 --start-block 0 --blocks 64 --deac --allow-write",
			Flags:   flags(rangeFlags, []string{"deac"}, mediaFlags, placement, piFlags), build: writeZeroes,
		},
		{
			Name: "write-uncorrectable", Aliases: []string{"write-uncor"}, Short: "Mark blocks as unreadable, until they are written again", NeedsLayout: true, Effect: Writes,
			Example: "io write-uncorrectable /dev/ng0n1 --start-block 8 --allow-write",
			Flags:   flags(rangeFlags, placement), build: withoutData(nvme.NewWriteUncorrectable, Writes),
		},
		{
			Name: "copy", Short: "Have the drive copy ranges to one place", NeedsLayout: true, Effect: Writes,
			Example: "io copy /dev/ng0n1 --range 0:8 --range 64:8 --dest-block 1024 --allow-write",
			Flags:   flags(rangeFlags, []string{"range", "dest-block"}, mediaFlags, placement, piFlags), build: copyBlocks,
		},
		{
			Name: "append", Aliases: []string{"zone-append"}, Short: "Write at a zone's write pointer; the result is where", Zoned: true, Sends: true, NeedsLayout: true, Effect: Writes,
			Example: "io append /dev/ng0n1 --start-block 0x8000 --data in.bin --allow-write",
			Flags:   flags(rangeFlags, sizeFlags, []string{"prefill"}, mediaFlags, piFlags), build: withData(nvme.NewZoneAppend, Writes),
		},
		{
			Name: "zone-report", Aliases: []string{"report-zones"}, Short: "List zones with state and write pointer", Zoned: true, Receives: true, NeedsLayout: true,
			Example: "io zone-report /dev/ng0n1 --descs 10 --state full",
			Flags:   []string{"start-block", "descs", "state", "partial", "extended", "data", "raw-binary"}, build: zoneReport,
		},
		zoneVerb("open", "Open a zone explicitly", nvme.ZoneOpen, "zrwa"),
		zoneVerb("close", "Close a zone", nvme.ZoneClose),
		zoneVerb("finish", "Set a zone to full", nvme.ZoneFinish),
		zoneVerb("reset", "Empty a zone", nvme.ZoneReset),
		zoneVerb("offline", "Take a read-only zone offline, for good", nvme.ZoneOffline),
		{
			Name: "raw", Aliases: []string{"passthru", "io-passthru"}, Short: "Send any I/O command by its opcode", Sends: true, Receives: true,
			Example: "io raw /dev/ng0n1 --opcode 2 --cdw10 0x100 --cdw12 7 --data-len 4096 --raw-binary > out.bin",
			Flags:   flags(rawFlags, []string{"raw-binary"}), build: rawIO,
		},
	}
	for _, v := range verbs {
		v.NeedsNSID = true
	}
	return verbs
}

func zoneVerb(name, short string, action nvme.ZoneAction, more ...string) *Verb {
	return &Verb{
		Name: "zone-" + name, Aliases: []string{name + "-zone"}, Short: short, Zoned: true, NeedsLayout: true, Effect: Writes,
		Example: "io zone-" + name + " /dev/ng0n1 --start-block 0x8000 --allow-write",
		Flags:   append([]string{"start-block", "select-all"}, more...), build: zoneSend(action),
	}
}

// AdminVerbs are the subcommands of nvmepass admin.
func AdminVerbs() []*Verb {
	verbs := []*Verb{
		{
			Name: "identify", Short: "Read an Identify structure: controller, namespace, lists, descriptors", Receives: true,
			Example: "admin identify /dev/nvme0 --cns controller",
			Flags:   []string{"cns", "cntid", "cnssid", "csi", "uuid-index", "data", "raw-binary"}, build: identify,
		},
		{
			Name: "get-log", Short: "Read a log page, whole or in part", Receives: true,
			Example: "admin get-log /dev/nvme0 --log-id smart",
			Flags:   []string{"log-id", "log-len", "offset", "lsp", "lsi", "rae", "csi", "uuid-index", "data", "raw-binary"}, build: getLog,
		},
		{
			Name: "get-feature", Short: "Read the value of a feature", Receives: true,
			Example: "admin get-feature /dev/nvme0 --feature-id write-cache --sel 0",
			Flags:   []string{"feature-id", "sel", "cdw11", "data-len", "uuid-index", "data", "raw-binary"}, build: getFeature,
		},
		{
			Name: "set-feature", Short: "Set the value of a feature", Sends: true, Effect: Sets,
			Example: "admin set-feature /dev/nvme0 --feature-id write-cache --value 0 --allow-admin-effects",
			Flags:   []string{"feature-id", "value", "cdw12", "save", "data-len", "data", "uuid-index"}, build: setFeature,
		},
		{
			Name: "raw", Aliases: []string{"passthru", "admin-passthru"}, Short: "Send any admin command by its opcode, such as format or sanitize", Sends: true, Receives: true,
			Example: "admin raw /dev/nvme0 --opcode 6 --cdw10 1 --data-len 4096",
			Flags:   flags([]string{"opcode", "cdw", "data-len", "data", "read", "write", "prefill", "raw-binary"}), build: rawAdmin,
		},
	}
	for _, v := range verbs {
		v.Admin = true
	}
	return verbs
}
