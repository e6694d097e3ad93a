package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// minQEMU is the first release whose -device takes JSON; the namespace options need 7.0.
const minQEMUMajor = 7

// accelerator is QEMU's -accel together with the processor that goes with it.
type accelerator string

const (
	accelKVM accelerator = "kvm"
	accelTCG accelerator = "tcg"
)

func (a accelerator) args() []string {
	if a == accelKVM {
		return []string{"-accel", "kvm", "-cpu", "host"}
	}
	return []string{"-accel", "tcg,thread=multi", "-cpu", "Nehalem,-cx16"}
}

// kernelArgs returns what to add to the kernel's command line. The emulated time stamp counter is the host's; without the argument, the
// kernel measures it against slower clocks, and a busy host makes it give up the counter in the middle of a run.
func (a accelerator) kernelArgs() string {
	if a == accelTCG {
		return " tsc=reliable"
	}
	return ""
}

// machine is all that QEMU's command line depends on. The fields with a path name files that QEMU opens, usually
// /dev/fd/N for a file that has no name any more.
type machine struct {
	accel     accelerator
	cpus      int
	memoryMiB int
	kernel    string
	initrd    string
	cmdline   string
	// console is a pipe, and so are the link's standard input and output. A socket would hold a few hundred bytes only, as QEMU
	// writes them one by one, and the kernel's console drops what does not leave in time.
	console string
	shared  string
	// monitor is the number of a socket's descriptor that speaks QMP, 0 for none.
	monitor int
	drives  []attachedDrive
}

// attachedDrive is one controller pair or controller with the images of its namespaces; those of a null drive are empty.
type attachedDrive struct {
	Drive
	images []string
}

// firstSlot is the PCI slot of the first controller; the slots before it hold what QEMU places by itself.
const firstSlot = 4

// args returns QEMU's argument list.
func (m machine) args() []string {
	a := append([]string{"-M", "q35"}, m.accel.args()...)
	a = append(a,
		"-smp", strconv.Itoa(m.cpus),
		"-m", strconv.Itoa(m.memoryMiB),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-kernel", m.kernel,
		"-initrd", m.initrd,
		"-append", m.cmdline+" "+accelArg+string(m.accel),
		"-chardev", "file,id=console,path="+m.console,
		"-serial", "chardev:console",
		"-chardev", "stdio,id=link,signal=off",
		"-serial", "chardev:link",
		"-object", jsonArg("qom-type", "memory-backend-file", "id", "shared", "mem-path", m.shared, "size", sharedSize, "share", true),
		"-device", jsonArg("driver", "ivshmem-plain", "id", "bulk", "memdev", "shared", "addr", "3"),
	)
	if m.monitor > 0 {
		a = append(a, "-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", m.monitor), "-mon", "chardev=monitor,mode=control")
	}
	slot := firstSlot
	for i, d := range m.drives {
		a = append(a, d.args(i, slot)...)
		slot += d.controllers()
	}
	return a
}

// args returns the arguments of drive number i, whose first controller sits in PCI slot slot.
func (d attachedDrive) args(i, slot int) []string {
	var a []string
	bus := controllerID(i)
	controller := func(id string, slot int, subsys string) {
		props := append(d.controllerProps(id), "addr", fmt.Sprintf("%x", slot))
		if subsys != "" {
			props = append(props, "subsys", subsys)
		}
		a = append(a, "-device", jsonArg(props...))
	}
	if d.Hotplug {
		a = append(a, "-device", jsonArg("driver", "pcie-root-port", "id", portID(i), "chassis", slot, "addr", fmt.Sprintf("%x", slot)))
		a = append(a, d.blockdevs(i, 0)...)
		return append(a, "-device", d.pluggable(i).String())
	}
	if d.Multipath {
		subsys := bus + "s"
		a = append(a, "-device", jsonArg("driver", "nvme-subsys", "id", subsys))
		controller(bus, slot, subsys)
		controller(bus+"p", slot+1, subsys)
	} else {
		controller(bus, slot, "")
	}
	for n := range d.Namespaces {
		a = append(a, d.blockdevs(i, n)...)
		props := []any{"driver", "nvme-ns", "id", namespaceID(i, n), "bus", bus, "drive", d.topNode(i, n), "nsid", d.nsid(n), "shared", d.Multipath,
			"logical_block_size", d.LBA, "physical_block_size", d.LBA}
		if d.Metadata > 0 {
			props = append(props, "ms", d.Metadata, "mset", toInt(d.Extended), "pi", d.PI, "pif", d.PIF, "pil", toInt(d.PIFirst))
		}
		if d.Zoned {
			capacity := d.ZoneCapacity
			if capacity == 0 {
				capacity = d.ZoneSize
			}
			props = append(props, "zoned", true, "zoned.zone_size", d.ZoneSize, "zoned.zone_capacity", capacity,
				"zoned.max_open", d.MaxOpen, "zoned.max_active", d.MaxActive)
		}
		a = append(a, "-device", jsonArg(props...))
	}
	return a
}

// controllerProps are the properties of a controller that do not depend on where it sits.
func (d Drive) controllerProps(id string) []any {
	props := []any{"driver", "nvme", "id", id, "serial", d.Serial, "mdts", max(d.MDTS, 0), "max_ioqpairs", d.Queues, "msix_qsize", d.Queues + 1}
	if d.ZASL > 0 {
		props = append(props, "zoned.zasl", d.ZASL)
	}
	return props
}

// pluggable is drive i behind its port. QEMU plugs controllers but no namespaces: the controller brings its only one.
func (d Drive) pluggable(i int) *jsonObject {
	props := append(d.controllerProps(controllerID(i)), "bus", portID(i), "drive", d.topNode(i, 0),
		"logical_block_size", d.LBA, "physical_block_size", d.LBA)
	return object(props...)
}

// Names of what drive i consists of in QEMU; n counts its namespaces.
func controllerID(i int) string   { return fmt.Sprintf("nvme%d", i) }
func portID(i int) string         { return fmt.Sprintf("nvme%dport", i) }
func nodeID(i, n int) string      { return fmt.Sprintf("nvme%dn%d", i, n) }
func namespaceID(i, n int) string { return nodeID(i, n) + "ns" }

// Limits sit on top of errors, which sit on top of the data.
func errorNode(i, n int) string { return nodeID(i, n) + "e" }
func limitNode(i, n int) string { return nodeID(i, n) + "t" }

func (d Drive) injectsErrors() bool { return d.ReadErrors.Count > 0 || d.WriteErrors.Count > 0 }

func (d Drive) limited() bool { return d.IOPS > 0 || d.Bandwidth > 0 }

// topNode is the block node that namespace n of drive i uses.
func (d Drive) topNode(i, n int) string {
	switch {
	case d.limited():
		return limitNode(i, n)
	case d.injectsErrors():
		return errorNode(i, n)
	}
	return nodeID(i, n)
}

// blockdevs returns the block nodes of namespace n of drive i.
func (d attachedDrive) blockdevs(i, n int) (args []string) {
	add := func(props ...any) { args = append(args, "-blockdev", jsonArg(props...)) }
	top := nodeID(i, n)
	if d.Backend == BackendNull {
		// Protection information is checked on reads, so that a drive with it has to return something that passes.
		props := []any{"driver", "null-co", "node-name", top, "size", d.Size, "read-zeroes", d.Zeroes || d.PI > 0}
		if d.Latency > 0 {
			props = append(props, "latency-ns", d.Latency.Nanoseconds())
		}
		add(props...)
	} else {
		file := object("driver", "file", "filename", d.images[n], "locking", "off", "discard", "unmap")
		if d.Format == FormatQcow2 {
			add("driver", "qcow2", "node-name", top, "discard", "unmap", "file", file)
		} else {
			file.set("node-name", top)
			args = append(args, "-blockdev", file.String())
		}
	}
	if d.injectsErrors() {
		var rules []any
		for _, r := range []struct {
			kind string
			at   ErrorSectors
		}{{"read", d.ReadErrors}, {"write", d.WriteErrors}} {
			for k := range r.at.Count {
				rules = append(rules, object("event", "none", "iotype", r.kind, "errno", 5, "sector", r.at.First+int64(k), "once", d.ErrorsOnce))
			}
		}
		add("driver", "blkdebug", "node-name", errorNode(i, n), "image", top, "inject-error", rules)
		top = errorNode(i, n)
	}
	if d.limited() {
		group := nodeID(i, n) + "g"
		limits := object()
		if d.IOPS > 0 {
			limits.set("iops-total", d.IOPS)
		}
		if d.Bandwidth > 0 {
			limits.set("bps-total", d.Bandwidth)
		}
		args = append(args, "-object", jsonArg("qom-type", "throttle-group", "id", group, "limits", limits))
		add("driver", "throttle", "node-name", limitNode(i, n), "throttle-group", group, "file", top)
	}
	return args
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// jsonObject is a JSON object that keeps the order of its members, so that command lines can be compared.
type jsonObject struct {
	keys   []string
	values []any
}

// object builds a jsonObject from keys and values in turn.
func object(kv ...any) *jsonObject {
	o := &jsonObject{}
	for i := 0; i+1 < len(kv); i += 2 {
		o.set(kv[i].(string), kv[i+1])
	}
	return o
}

func (o *jsonObject) set(key string, value any) {
	o.keys = append(o.keys, key)
	o.values = append(o.values, value)
}

// MarshalJSON implements json.Marshaler.
func (o *jsonObject) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(o.values[i])
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// String returns the JSON text. The values are strings, numbers, truth values and objects, which never fail to encode.
func (o *jsonObject) String() string {
	b, err := o.MarshalJSON()
	if err != nil {
		return "{}"
	}
	return string(b)
}

func jsonArg(kv ...any) string { return object(kv...).String() }

var qemuVersionText = regexp.MustCompile(`version (\d+)\.(\d+)(?:\.(\d+))?`)

// qemuVersion runs path with --version and returns what it prints, such as 7.2.22. A QEMU too old for the lab is an error.
func qemuVersion(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s --version: %w: %s", ErrNoQEMU, path, err, strings.TrimSpace(string(out)))
	}
	m := qemuVersionText.FindStringSubmatch(string(out))
	if m == nil {
		return "", fmt.Errorf("%w: %s --version printed %.80q, which names no version", ErrNoQEMU, path, out)
	}
	if major, err := strconv.Atoi(m[1]); err != nil || major < minQEMUMajor {
		return "", fmt.Errorf("%w: %s is version %s.%s, the lab needs %d.0 or later", ErrNoQEMU, path, m[1], m[2], minQEMUMajor)
	}
	return strings.TrimPrefix(m[0], "version "), nil
}
