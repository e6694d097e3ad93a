package lab

import (
	"fmt"
	"time"

	"github.com/nvmepass/nvmepass/internal/units"
)

// Backend says where an emulated drive's data live.
type Backend string

// Backends of a drive.
const (
	// BackendNull keeps nothing and moves nothing: the fastest device there is. Reads leave the guest's buffer untouched
	// unless Drive.Zeroes is set, writes vanish.
	BackendNull Backend = "null"
	// BackendMemory keeps the data in the host's memory for the time of the run, or in a temporary file where /dev/shm has no
	// room for the whole drive.
	BackendMemory Backend = "memory"
	// BackendFile keeps the data in Drive.File.
	BackendFile Backend = "file"
)

// Format is the image format of a drive's data.
type Format string

// Image formats.
const (
	// FormatRaw stores block n at byte n times the block size. Files are sparse.
	FormatRaw Format = "raw"
	// FormatQcow2 lets a drive be larger than the largest file of the host's file system. Making one needs qemu-img.
	FormatQcow2 Format = "qcow2"
)

// Limits of a drive, QEMU's own where it has one.
const (
	maxDriveSize    = 1 << 50
	minDriveSize    = 1 << 20
	maxNamespaces   = 64  // per controller; QEMU takes 256
	maxControllers  = 24  // of all drives: slots 4 to 27 of the PCI root bus
	maxNSID         = 256 // QEMU 7.2 NVME_MAX_NAMESPACES
	maxErrorSectors = 256 // each is a rule of its own in blkdebug
	maxQueues       = 2047
	maxMetadata     = 128 // bytes; QEMU takes 65535, drives have 8, 16 or 64
	maxMDTS         = 12
	maxLatency      = 10 * time.Second
	maxIOPS         = 1e9
	maxBandwidth    = 1 << 40
)

// ErrorSectors is a range of 512-byte sectors of the backing store at which I/O fails. With a block size of 512 and no
// metadata before it, the sector is the LBA.
type ErrorSectors struct {
	// First sector that fails.
	First int64
	// Count of sectors, at most 256; 0 means no error is injected.
	Count int
}

// Drive describes one emulated NVMe controller and its namespaces. The zero value is a null drive of 1 GiB with blocks of 512
// bytes. Fields left zero take the default that their comment names.
type Drive struct {
	// Size of each namespace in bytes, data and metadata together; default 1 GiB.
	Size int64
	// Backend of the data; default BackendNull.
	Backend Backend
	// Format of the data; default FormatRaw.
	Format Format
	// File that holds the data with BackendFile. One that does not exist is made with Size bytes; one that exists keeps its
	// size when Size is 0.
	File string
	// Zeroes makes the null backend return zeroes, at the cost of writing them.
	Zeroes bool

	// LBA is the block size in bytes: a power of two from 512 to 65536; default 512.
	LBA int
	// Metadata is the count of metadata bytes per block; default 0.
	Metadata int
	// Extended places the metadata behind each block's data instead of in a buffer of its own.
	Extended bool
	// PI is the protection information type, 1 to 3, or 0 for none.
	PI int
	// PIF is the guard format: 0 for 16 bits, 2 for 64 bits.
	PIF int
	// PIFirst places the protection information in the first bytes of the metadata instead of the last.
	PIFirst bool
	// MDTS bounds a transfer to 4096 << MDTS bytes; 0 stands for the default 7 (512 KiB), a negative value for no limit.
	MDTS int

	// Zoned makes the namespaces zoned.
	Zoned bool
	// ZoneSize and ZoneCapacity of a zoned namespace in bytes; default 4 MiB and the whole zone.
	ZoneSize, ZoneCapacity int64
	// MaxOpen and MaxActive bound the open and active zones; 0 is no limit.
	MaxOpen, MaxActive int
	// ZASL bounds a zone append to 4096 << ZASL bytes; 0 is the limit of MDTS.
	ZASL int

	// IOPS and Bandwidth (bytes per second) slow the drive down; 0 is no limit.
	IOPS, Bandwidth int64
	// Latency of every request of the null backend.
	Latency time.Duration
	// ReadErrors and WriteErrors are sectors at which the backing store fails with EIO.
	ReadErrors, WriteErrors ErrorSectors
	// ErrorsOnce lets each of these sectors fail one access only.
	ErrorsOnce bool

	// Count of drives like this one; default 1.
	Count int
	// Namespaces of the controller; default 1, or as many as NSIDs.
	Namespaces int
	// NSIDs of the namespaces; default 1, 2, 3, ...
	NSIDs []int
	// Serial number; default lab0, lab1, ... by the place in Config.Drives.
	Serial string
	// Queues is the count of I/O queue pairs that the controller offers; default 64.
	Queues int
	// Multipath makes two controllers of one subsystem share the namespaces. The second takes a number of its own.
	Multipath bool
	// Hotplug puts the controller behind a PCIe port, from which VerbUnplug takes it.
	Hotplug bool
}

// Defaults of a drive's fields.
const (
	defaultDriveSize = 1 << 30
	defaultLBA       = 512
	defaultMDTS      = 7
	defaultQueues    = 64
	defaultZoneSize  = 4 << 20
)

// withDefaults returns d with every zero field that has a default filled in, except for File's own size.
func (d Drive) withDefaults() Drive {
	if d.Backend == "" {
		d.Backend = BackendNull
		if d.File != "" {
			d.Backend = BackendFile
		}
	}
	if d.Size == 0 && d.Backend != BackendFile {
		d.Size = defaultDriveSize
	}
	if d.Format == "" {
		d.Format = FormatRaw
	}
	if d.LBA == 0 {
		d.LBA = defaultLBA
	}
	if d.MDTS == 0 {
		d.MDTS = defaultMDTS
	}
	if d.Zoned && d.ZoneSize == 0 {
		d.ZoneSize = defaultZoneSize
	}
	if d.Count == 0 {
		d.Count = 1
	}
	if d.Namespaces == 0 {
		d.Namespaces = max(1, len(d.NSIDs))
	}
	if d.Queues == 0 {
		d.Queues = defaultQueues
	}
	return d
}

// nsid returns the NSID of the i-th namespace, from 0.
func (d Drive) nsid(i int) int {
	if i < len(d.NSIDs) {
		return d.NSIDs[i]
	}
	return i + 1
}

// controllers is the count of controllers of one drive.
func (d Drive) controllers() int {
	if d.Multipath {
		return 2
	}
	return 1
}

// DriveError reports an option of a drive that cannot be.
type DriveError struct {
	// Option is the name as in ParseDrive, Value what was asked.
	Option, Value string
	// Problem names the limit and the remedy.
	Problem string
}

// Error implements error.
func (e *DriveError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("lab: drive option %s: %s", e.Option, e.Problem)
	}
	return fmt.Sprintf("lab: drive option %s=%s: %s", e.Option, e.Value, e.Problem)
}

// Is makes every DriveError an ErrConfig.
func (e *DriveError) Is(target error) bool { return target == ErrConfig }

// Validate returns a *DriveError for the first option that QEMU or the driver would refuse.
func (d Drive) Validate() error {
	d = d.withDefaults()
	bad := func(option string, value any, format string, args ...any) error {
		return &DriveError{Option: option, Value: fmt.Sprint(value), Problem: fmt.Sprintf(format, args...)}
	}
	size := func(n int64) string { return units.FormatSize(n) }
	switch d.Backend {
	case BackendNull, BackendMemory:
		if d.File != "" {
			return bad("file", d.File, "only backend=file keeps its data in a file; leave one of the two out")
		}
	case BackendFile:
		if d.File == "" {
			return bad("backend", d.Backend, "needs file=PATH")
		}
		if n := d.Count * d.Namespaces; n > 1 {
			return bad("file", d.File, "one file holds one namespace, and count times ns is %d; name one drive per file", n)
		}
		if !printable(d.File, maxPath) {
			return bad("file", fmt.Sprintf("%q", d.File), "must be valid text of at most %d bytes without control characters", maxPath)
		}
	default:
		return bad("backend", d.Backend, "must be null, memory or file")
	}
	if d.Size != 0 && (d.Size < minDriveSize || d.Size > maxDriveSize) {
		return bad("size", size(d.Size), "must be from %s to %s", size(minDriveSize), size(maxDriveSize))
	}
	switch d.Format {
	case FormatRaw:
	case FormatQcow2:
		if d.Backend == BackendNull {
			return bad("format", d.Format, "the null backend keeps no image; use backend=memory or backend=file")
		}
	default:
		return bad("format", d.Format, "must be raw or qcow2")
	}
	if d.Zeroes && d.Backend != BackendNull {
		return bad("zeroes", 1, "only the null backend has the choice; unwritten blocks of the others read as zeroes anyway")
	}
	if err := d.validateFormat(bad); err != nil {
		return err
	}
	if err := d.validateZones(bad); err != nil {
		return err
	}
	return d.validateController(bad)
}

// refuse builds the error of one option.
type refuse func(option string, value any, format string, args ...any) error

func (d Drive) validateFormat(bad refuse) error {
	if d.LBA < 512 || d.LBA > 65536 || d.LBA&(d.LBA-1) != 0 {
		return bad("lba", d.LBA, "must be a power of two from 512 to 65536")
	}
	if d.Metadata < 0 || d.Metadata > maxMetadata {
		return bad("ms", d.Metadata, "must be from 0 to %d bytes per block", maxMetadata)
	}
	if d.Extended && d.Metadata == 0 {
		return bad("mset", 1, "there is no metadata to place; add ms=8, 16 or 64")
	}
	switch d.PIF {
	case 0, 2:
	default:
		return bad("pif", d.PIF, "QEMU has the 16-bit guard (0) and the 64-bit guard (2)")
	}
	if d.PI < 0 || d.PI > 3 {
		return bad("pi", d.PI, "must be a protection type from 1 to 3, or 0 for none")
	}
	if d.PI == 0 && d.PIF != 0 {
		return bad("pif", d.PIF, "a guard format needs protection information; add pi=1")
	}
	if d.PI == 0 && d.PIFirst {
		return bad("pil", 1, "there is no protection information to place; add pi=1")
	}
	if need := 8 + 4*d.PIF; d.PI > 0 && d.Metadata < need {
		return bad("pi", d.PI, "needs ms of at least %d with pif=%d", need, d.PIF)
	}
	if d.MDTS > maxMDTS {
		return bad("mdts", d.MDTS, "must be from 1 to %d (4096 << mdts bytes), or 0 for no limit", maxMDTS)
	}
	return nil
}

func (d Drive) validateZones(bad refuse) error {
	if !d.Zoned {
		for _, o := range []struct {
			name  string
			value int64
		}{{"zone-size", d.ZoneSize}, {"zone-capacity", d.ZoneCapacity}, {"max-open", int64(d.MaxOpen)}, {"max-active", int64(d.MaxActive)},
			{"zasl", int64(d.ZASL)}} {
			if o.value != 0 {
				return bad(o.name, o.value, "only a zoned drive has zones; add zoned")
			}
		}
		return nil
	}
	if d.ZoneSize < int64(d.LBA) || d.ZoneSize&(d.ZoneSize-1) != 0 {
		return bad("zone-size", units.FormatSize(d.ZoneSize), "must be a power of two (the kernel takes no other) of at least one block of %d bytes", d.LBA)
	}
	if d.Size != 0 && d.ZoneSize > d.Size/2 {
		return bad("zone-size", units.FormatSize(d.ZoneSize), "the drive of %s must hold two zones at least", units.FormatSize(d.Size))
	}
	if d.ZoneCapacity < 0 || d.ZoneCapacity > d.ZoneSize || d.ZoneCapacity%int64(d.LBA) != 0 {
		return bad("zone-capacity", units.FormatSize(d.ZoneCapacity), "must be whole blocks of %d bytes, at most the zone size of %s", d.LBA, units.FormatSize(d.ZoneSize))
	}
	if d.MaxOpen < 0 || d.MaxActive < 0 {
		return bad("max-open", min(d.MaxOpen, d.MaxActive), "must not be negative; leave it out for no limit")
	}
	if d.MaxActive > 0 && d.MaxOpen > d.MaxActive {
		return bad("max-open", d.MaxOpen, "must not exceed max-active=%d", d.MaxActive)
	}
	switch {
	case d.ZASL < 0 || d.ZASL > maxMDTS:
		return bad("zasl", d.ZASL, "must be from 1 to %d (4096 << zasl bytes); leave it out for the limit of mdts", maxMDTS)
	case d.MDTS > 0 && d.ZASL > d.MDTS:
		return bad("zasl", d.ZASL, "must not exceed mdts=%d", d.MDTS)
	}
	return nil
}

func (d Drive) validateController(bad refuse) error {
	if d.IOPS < 0 || d.IOPS > maxIOPS {
		return bad("iops", d.IOPS, "must be from 1 to 1000000000, or be left out for no limit")
	}
	if d.Bandwidth < 0 || d.Bandwidth > maxBandwidth {
		return bad("bw", d.Bandwidth, "must be from 1 to 1t bytes per second, or be left out for no limit")
	}
	if d.Latency < 0 || d.Latency > maxLatency {
		return bad("latency", d.Latency, "must be from 1ns to %v", maxLatency)
	}
	if d.Latency != 0 && d.Backend != BackendNull {
		return bad("latency", d.Latency, "only the null backend delays requests; use iops= or bw= to slow down the others")
	}
	for _, e := range []struct {
		option string
		at     ErrorSectors
	}{{"error-sectors", d.ReadErrors}, {"write-error-sectors", d.WriteErrors}} {
		if e.at.First < 0 || e.at.Count < 0 || e.at.Count > maxErrorSectors {
			return bad(e.option, e.at, "must be FIRST or FIRST+COUNT with a COUNT from 1 to %d", maxErrorSectors)
		}
		if d.Size != 0 && e.at.Count > 0 && e.at.First >= d.Size/512 {
			return bad(e.option, e.at, "the drive of %s ends at sector %d", units.FormatSize(d.Size), d.Size/512-1)
		}
	}
	if d.ErrorsOnce && d.ReadErrors.Count == 0 && d.WriteErrors.Count == 0 {
		return bad("errors-once", 1, "no sector fails; add error-sectors= or write-error-sectors=")
	}
	if d.Hotplug && (d.Multipath || d.Namespaces > 1) {
		return bad("hotplug", 1, "only a drive of one controller and one namespace comes back; leave multipath and ns= out")
	}
	if d.Hotplug && (d.Zoned || d.Metadata > 0) {
		return bad("hotplug", 1, "QEMU plugs only drives with plain blocks; leave zoned and ms= out")
	}
	if d.Count < 1 || d.Count*d.controllers() > maxControllers {
		return bad("count", d.Count, "must be from 1 to %d", maxControllers/d.controllers())
	}
	if d.Namespaces < 1 || d.Namespaces > maxNamespaces {
		return bad("ns", d.Namespaces, "must be from 1 to %d", maxNamespaces)
	}
	if len(d.NSIDs) > 0 && len(d.NSIDs) != d.Namespaces {
		return bad("nsid", formatNSIDs(d.NSIDs), "%d identifiers for ns=%d; name one per namespace, as in nsid=3:17", len(d.NSIDs), d.Namespaces)
	}
	seen := map[int]bool{}
	for _, id := range d.NSIDs {
		if id < 1 || id > maxNSID || seen[id] {
			return bad("nsid", formatNSIDs(d.NSIDs), "each must be from 1 to %d and differ from the others", maxNSID)
		}
		seen[id] = true
	}
	if len(d.Serial) > 20 || !printable(d.Serial, 20) || containsAny(d.Serial, " ,=\\") {
		return bad("serial", fmt.Sprintf("%q", d.Serial), "must be at most 20 ASCII characters without space, comma, equals sign and backslash")
	}
	if d.Serial != "" && d.Count > 1 {
		return bad("serial", d.Serial, "count=%d drives need different serial numbers; leave it out or name the drives one by one", d.Count)
	}
	if d.Queues < 1 || d.Queues > maxQueues {
		return bad("queues", d.Queues, "must be from 1 to %d", maxQueues)
	}
	return nil
}
