package lab

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nvmepass/nvmepass/internal/units"
)

// maxPath bounds the length of a file name in bytes, as PATH_MAX does.
const maxPath = 4095

// driveOption is one option of ParseDrive. set gets a non-empty value; show returns the value that set takes, or "" when the
// drive has the default.
type driveOption struct {
	name string
	// flag marks an option that may stand alone.
	flag bool
	set  func(d *Drive, v string) error
	show func(d Drive) string
}

// driveOptions in the order of Drive.String.
var driveOptions = []driveOption{
	{name: "size", set: func(d *Drive, v string) error { return setSize(&d.Size, v) }, show: func(d Drive) string { return showSize(d.Size) }},
	{name: "backend", set: func(d *Drive, v string) error { d.Backend = Backend(v); return nil }, show: func(d Drive) string { return string(d.Backend) }},
	{name: "file", set: func(d *Drive, v string) error { d.File = v; return nil }, show: func(d Drive) string { return d.File }},
	{name: "format", set: func(d *Drive, v string) error { d.Format = Format(v); return nil }, show: func(d Drive) string { return string(d.Format) }},
	{name: "zeroes", flag: true, set: func(d *Drive, v string) error { return setBool(&d.Zeroes, v) }, show: func(d Drive) string { return showBool(d.Zeroes) }},
	{name: "lba", set: func(d *Drive, v string) error { return setSizeInt(&d.LBA, v) }, show: func(d Drive) string { return showInt(d.LBA) }},
	{name: "ms", set: func(d *Drive, v string) error { return setInt(&d.Metadata, v) }, show: func(d Drive) string { return showInt(d.Metadata) }},
	{name: "mset", flag: true, set: func(d *Drive, v string) error { return setBool(&d.Extended, v) }, show: func(d Drive) string { return showBool(d.Extended) }},
	{name: "pi", set: func(d *Drive, v string) error { return setInt(&d.PI, v) }, show: func(d Drive) string { return showInt(d.PI) }},
	{name: "pif", set: func(d *Drive, v string) error { return setInt(&d.PIF, v) }, show: func(d Drive) string { return showInt(d.PIF) }},
	{name: "pil", flag: true, set: func(d *Drive, v string) error { return setBool(&d.PIFirst, v) }, show: func(d Drive) string { return showBool(d.PIFirst) }},
	{name: "mdts", set: setMDTS, show: showMDTS},
	{name: "zoned", flag: true, set: func(d *Drive, v string) error { return setBool(&d.Zoned, v) }, show: func(d Drive) string { return showBool(d.Zoned) }},
	{name: "zone-size", set: func(d *Drive, v string) error { return setSize(&d.ZoneSize, v) }, show: func(d Drive) string { return showSize(d.ZoneSize) }},
	{name: "zone-capacity", set: func(d *Drive, v string) error { return setSize(&d.ZoneCapacity, v) }, show: func(d Drive) string { return showSize(d.ZoneCapacity) }},
	{name: "max-open", set: func(d *Drive, v string) error { return setInt(&d.MaxOpen, v) }, show: func(d Drive) string { return showInt(d.MaxOpen) }},
	{name: "max-active", set: func(d *Drive, v string) error { return setInt(&d.MaxActive, v) }, show: func(d Drive) string { return showInt(d.MaxActive) }},
	{name: "zasl", set: func(d *Drive, v string) error { return setInt(&d.ZASL, v) }, show: func(d Drive) string { return showInt(d.ZASL) }},
	{name: "iops", set: func(d *Drive, v string) error { return setSize(&d.IOPS, v) }, show: func(d Drive) string { return showSize(d.IOPS) }},
	{name: "bw", set: func(d *Drive, v string) error { return setSize(&d.Bandwidth, v) }, show: func(d Drive) string { return showSize(d.Bandwidth) }},
	{name: "latency", set: setLatency, show: showLatency},
	{name: "error-sectors", set: func(d *Drive, v string) error { return setSectors(&d.ReadErrors, v) }, show: func(d Drive) string { return d.ReadErrors.show() }},
	{name: "write-error-sectors", set: func(d *Drive, v string) error { return setSectors(&d.WriteErrors, v) }, show: func(d Drive) string { return d.WriteErrors.show() }},
	{name: "errors-once", flag: true, set: func(d *Drive, v string) error { return setBool(&d.ErrorsOnce, v) }, show: func(d Drive) string { return showBool(d.ErrorsOnce) }},
	{name: "count", set: func(d *Drive, v string) error { return setInt(&d.Count, v) }, show: func(d Drive) string { return showInt(d.Count) }},
	{name: "ns", set: func(d *Drive, v string) error { return setInt(&d.Namespaces, v) }, show: func(d Drive) string { return showInt(d.Namespaces) }},
	{name: "nsid", set: setNSIDs, show: func(d Drive) string { return formatNSIDs(d.NSIDs) }},
	{name: "serial", set: func(d *Drive, v string) error { d.Serial = v; return nil }, show: func(d Drive) string { return d.Serial }},
	{name: "queues", set: func(d *Drive, v string) error { return setInt(&d.Queues, v) }, show: func(d Drive) string { return showInt(d.Queues) }},
	{name: "multipath", flag: true, set: func(d *Drive, v string) error { return setBool(&d.Multipath, v) }, show: func(d Drive) string { return showBool(d.Multipath) }},
	{name: "hotplug", flag: true, set: func(d *Drive, v string) error { return setBool(&d.Hotplug, v) }, show: func(d Drive) string { return showBool(d.Hotplug) }},
}

// ParseDrive reads a drive from options of the form name=value, separated by commas. A comma or a backslash in a value is
// written with a backslash before it. The empty string is the default drive. Sizes take the suffixes k, m, g and t, which
// are 1024-based. The options:
//
//	size=1g               bytes of each namespace, data and metadata together
//	backend=null          null (no data, the fastest), memory or file
//	file=PATH             backend=file with the data in PATH, which is made when missing
//	format=raw            raw or qcow2
//	zeroes                null backend: reads return zeroes instead of nothing
//	lba=512               block size
//	ms=8 mset             metadata bytes per block; mset: behind each block's data
//	pi=1 pif=0 pil        protection type; guard format 0 (16 bits) or 2 (64 bits); pil: in the first bytes
//	mdts=7                largest transfer is 4096 << mdts bytes; 0: no limit
//	zoned zone-size=4m zone-capacity=3m max-open=4 max-active=8
//	zasl=5                largest zone append is 4096 << zasl bytes
//	iops=20 bw=10m        throttle to requests, bytes per second
//	latency=80us          null backend: time of each request; a bare number is nanoseconds
//	error-sectors=2048+8  reads of these 512-byte sectors fail; write-error-sectors likewise
//	errors-once           each of them fails one access only
//	count=2               as many drives of this kind
//	ns=2 nsid=3:17        namespaces per controller, and their identifiers
//	serial=X              default lab0, lab1, ...
//	queues=64             I/O queue pairs that the controller offers
//	multipath             two controllers in one subsystem share the namespaces
//	hotplug               the drive can be pulled and plugged while the guest runs
//
// The error is a *DriveError that names the option, the value, the limit and the remedy.
func ParseDrive(s string) (Drive, error) {
	var d Drive
	seen := map[string]bool{}
	for _, field := range splitEscaped(s) {
		name, value, hasValue := strings.Cut(field, "=")
		i := slices.IndexFunc(driveOptions, func(o driveOption) bool { return o.name == name })
		if i < 0 {
			return Drive{}, &DriveError{Option: fmt.Sprintf("%q", name), Problem: "unknown; the options are " + driveOptionNames()}
		}
		o := driveOptions[i]
		if seen[name] {
			return Drive{}, &DriveError{Option: name, Value: value, Problem: "given twice; keep one"}
		}
		seen[name] = true
		if !hasValue && o.flag {
			value, hasValue = "1", true
		}
		if !hasValue || value == "" {
			return Drive{}, &DriveError{Option: name, Problem: fmt.Sprintf("needs a value, as in %s=...", name)}
		}
		if err := o.set(&d, value); err != nil {
			return Drive{}, &DriveError{Option: name, Value: strconv.Quote(value), Problem: err.Error()}
		}
	}
	if err := d.Validate(); err != nil {
		return Drive{}, err
	}
	return d, nil
}

// String returns the options that ParseDrive reads back into the same drive. Fields with their zero value are left out.
func (d Drive) String() string {
	var b strings.Builder
	for _, o := range driveOptions {
		v := o.show(d)
		if v == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(o.name)
		if o.flag && v == "1" {
			continue
		}
		b.WriteByte('=')
		b.WriteString(strings.NewReplacer(`\`, `\\`, `,`, `\,`).Replace(v))
	}
	return b.String()
}

func driveOptionNames() string {
	names := make([]string, len(driveOptions))
	for i, o := range driveOptions {
		names[i] = o.name
	}
	return strings.Join(names, ", ")
}

// splitEscaped cuts s at commas; a backslash takes the next byte as it is.
func splitEscaped(s string) []string {
	if s == "" {
		return nil
	}
	var fields []string
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == ',':
			fields = append(fields, b.String())
			b.Reset()
		default:
			b.WriteByte(s[i])
		}
	}
	return append(fields, b.String())
}

func setInt(p *int, v string) error {
	n, err := parseWhole(v)
	if err != nil || n > math.MaxInt32 {
		return fmt.Errorf("must be a whole number from 0 to %d", math.MaxInt32)
	}
	*p = int(n)
	return nil
}

func setSize(p *int64, v string) error {
	n, err := units.ParseSize(v)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("must not be zero; leave it out for the default")
	}
	*p = n
	return nil
}

func setSizeInt(p *int, v string) error {
	var n int64
	if err := setSize(&n, v); err != nil {
		return err
	}
	if n > math.MaxInt32 {
		return fmt.Errorf("must be at most %d", math.MaxInt32)
	}
	*p = int(n)
	return nil
}

func setBool(p *bool, v string) error {
	switch v {
	case "0", "off":
		*p = false
	case "1", "on":
		*p = true
	default:
		return fmt.Errorf("must be 0, 1, off or on")
	}
	return nil
}

func setMDTS(d *Drive, v string) error {
	if err := setInt(&d.MDTS, v); err != nil {
		return err
	}
	if d.MDTS == 0 {
		d.MDTS = -1
	}
	return nil
}

func showMDTS(d Drive) string {
	if d.MDTS < 0 {
		return "0"
	}
	return showInt(d.MDTS)
}

func setLatency(d *Drive, v string) error {
	if n, err := parseWhole(v); err == nil {
		d.Latency = time.Duration(n)
		return nil
	}
	t, err := time.ParseDuration(v)
	if err != nil {
		return fmt.Errorf("must be a duration such as 80us, or nanoseconds")
	}
	d.Latency = t
	return nil
}

func showLatency(d Drive) string {
	if d.Latency == 0 {
		return ""
	}
	return d.Latency.String()
}

func setSectors(e *ErrorSectors, v string) error {
	first, count, ranged := strings.Cut(v, "+")
	n, err := parseWhole(first)
	c := int64(1)
	if err == nil && ranged {
		c, err = parseWhole(count)
	}
	if err != nil || c < 1 || c > maxErrorSectors {
		return fmt.Errorf("must be FIRST or FIRST+COUNT with a COUNT from 1 to %d", maxErrorSectors)
	}
	*e = ErrorSectors{First: n, Count: int(c)}
	return nil
}

// String returns the range as ParseDrive takes it.
func (e ErrorSectors) String() string {
	if e.Count == 1 {
		return strconv.FormatInt(e.First, 10)
	}
	return fmt.Sprintf("%d+%d", e.First, e.Count)
}

func (e ErrorSectors) show() string {
	if e.Count == 0 {
		return ""
	}
	return e.String()
}

func setNSIDs(d *Drive, v string) error {
	d.NSIDs = nil
	for p := range strings.SplitSeq(v, ":") {
		n, err := parseWhole(p)
		if err != nil || n < 1 || n > maxNSID {
			return fmt.Errorf("must be identifiers from 1 to %d, separated by colons as in 3:17", maxNSID)
		}
		if len(d.NSIDs) == maxNamespaces {
			return fmt.Errorf("a controller has at most %d namespaces", maxNamespaces)
		}
		d.NSIDs = append(d.NSIDs, int(n))
	}
	return nil
}

func formatNSIDs(ids []int) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = strconv.Itoa(id)
	}
	return strings.Join(parts, ":")
}

func showInt(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func showSize(n int64) string {
	if n == 0 {
		return ""
	}
	return units.FormatSize(n)
}

func showBool(b bool) string {
	if b {
		return "1"
	}
	return ""
}

// parseWhole reads decimal digits and nothing else.
func parseWhole(s string) (int64, error) {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(s, 10, 64)
}

// printable reports whether s is valid UTF-8 of at most limit bytes without control characters.
func printable(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// containsAny is strings.ContainsAny that refuses everything outside ASCII as well.
func containsAny(s, chars string) bool {
	return strings.ContainsAny(s, chars) || strings.ContainsFunc(s, func(r rune) bool { return r > '~' || r < ' ' })
}
