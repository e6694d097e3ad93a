package test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/test/cli"
)

// TestScripts runs the scripts of testdata/scripts that stand for no public
// report, on the drives that they ask for. Beside those of package cli, scripts
// have the lines
//
//	drive NAME WANT...   a drive with lba=N, ms=N, extended, poll=1 or -1,
//	                     serial=PREFIX, write; NAME is then its generic node,
//	                     NAME_BLOCK its block node, NAME_CTRL its controller, NAME_NSID,
//	                     NAME_BLOCKS and NAME_SERIAL what they say
//	wipe NAME            zeros at both ends of the drive
//	ext2, mbr, xfs NAME  a mark of that kind at its begin
//	partition NAME       a partition with an ext2 file system, known to the kernel
//	mount, umount NAME   that partition, on $MOUNTED
//	hold, release NAME   the block node, exclusively
//	chmod MODE FILE      as it says, until the script ends
//	unplug NAME TEXT     takes an emulated drive off its bus during the next run,
//	                     once its standard error has TEXT; replug brings it back
//	since VERSION        leave out the rest on older kernels
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/scripts/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		if name := strings.TrimSuffix(filepath.Base(path), ".txt"); !strings.HasPrefix(name, "B") {
			t.Run(name, func(t *testing.T) { script(t, path) })
		}
	}
}

// TestB13DeviceEnd: no command reaches beyond the drive or the region.
func TestB13DeviceEnd(t *testing.T) { script(t, "testdata/scripts/B13-end.txt") }

// TestB14FailedCommandsDoNotCount in rates, and the exit code says so.
func TestB14FailedCommandsDoNotCount(t *testing.T) { script(t, "testdata/scripts/B14-errors.txt") }

// TestB47Unplugged: a run on a drive that is taken away ends, with its counts.
func TestB47Unplugged(t *testing.T) { script(t, "testdata/scripts/B47-unplugged.txt") }

// TestB54Consent: every way to write asks, and refuses a drive that is in use.
func TestB54Consent(t *testing.T) { script(t, "testdata/scripts/B54-consent.txt") }

func script(t *testing.T, path string) {
	bin := tool(t)
	b := &bench{t: t, drives: map[string]*passthru.Device{}, held: map[string]*os.File{}}
	(&cli.Runner{Binary: bin, Do: map[string]func(s *cli.Script, args []string){
		"drive":     b.drive,
		"wipe":      b.on(func(d *passthru.Device) { zero(t, d, 2<<20); b.reread(d, false) }),
		"ext2":      b.on(func(d *passthru.Device) { b.mark(d, 1024, 56, "\x53\xef") }),
		"xfs":       b.on(func(d *passthru.Device) { b.mark(d, 0, 0, "XFSB") }),
		"mbr":       b.on(b.mbr),
		"partition": b.on(b.partition),
		"mount":     b.mount,
		"umount":    b.on(func(*passthru.Device) { require.NoError(t, syscall.Unmount(b.mounted, 0)) }),
		"hold":      b.on(b.hold),
		"release":   b.on(func(d *passthru.Device) { require.NoError(t, b.held[d.Path()].Close()) }),
		"chmod":     b.chmod,
		"unplug":    b.unplug,
		"replug":    b.replug,
		"since":     b.since,
	}}).Run(t, path)
}

// bench is what scripts do to drives beside running nvmepass.
type bench struct {
	t       *testing.T
	drives  map[string]*passthru.Device
	held    map[string]*os.File
	mounted string
}

func (b *bench) drive(s *cli.Script, args []string) {
	w := want{ms: -1}
	for _, a := range args[1:] {
		name, value, _ := strings.Cut(a, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "lba":
			w.lba = uint32(n)
		case "ms":
			w.ms = n
		case "poll":
			w.poll = n
		case "serial":
			w.serial = value
		case "extended":
			w.extended = true
		case "write":
			w.write = true
		default:
			require.Fail(b.t, "no such wish", "%s", a)
		}
	}
	d := device(b.t, w)
	name := args[0]
	b.drives[name] = d
	s.Set(name, d.Path())
	s.Set(name+"_BLOCK", d.BlockPath())
	s.Set(name+"_CTRL", controllerNode(b.t, d))
	s.Set(name+"_SERIAL", strings.TrimSpace(d.Controller().SN))
	s.Set(name+"_NSID", fmt.Sprint(d.NSID()))
	s.Set(name+"_BLOCKS", fmt.Sprint(d.Limits().Blocks))
}

// on is a line that names a drive.
func (b *bench) on(do func(d *passthru.Device)) func(s *cli.Script, args []string) {
	return func(_ *cli.Script, args []string) {
		require.Len(b.t, args, 1)
		require.NotNil(b.t, b.drives[args[0]], "no drive %s", args[0])
		do(b.drives[args[0]])
	}
}

// mark writes text into the block at a byte of the drive.
func (b *bench) mark(d *passthru.Device, block int64, at int, text string) {
	buf := make([]byte, 512)
	copy(buf[at:], text)
	_, err := d.WriteAt(buf, block)
	require.NoError(b.t, err)
}

func (b *bench) mbr(d *passthru.Device) {
	mbr := make([]byte, 512)
	entry := mbr[446:]
	entry[4] = 0x83
	binary.LittleEndian.PutUint32(entry[8:], 2048)
	binary.LittleEndian.PutUint32(entry[12:], 2048)
	mbr[510], mbr[511] = 0x55, 0xAA
	writeStart(b.t, d, mbr)
}

func (b *bench) partition(d *passthru.Device) {
	b.mbr(d)
	_, err := d.WriteAt(ext2Image(b.t), 2048*512)
	require.NoError(b.t, err)
	b.reread(d, true)
}

// reread has the kernel look for partitions, of which there is one or none.
func (b *bench) reread(d *passthru.Device, partition bool) {
	require.NoError(b.t, sys.RereadPartitions(d.BlockPath()))
	require.Eventually(b.t, func() bool { _, err := os.Stat(d.BlockPath() + "p1"); return (err == nil) == partition }, patience, 10*time.Millisecond)
}

func (b *bench) mount(s *cli.Script, args []string) {
	d := b.drives[args[0]]
	b.mounted = filepath.Join(b.t.TempDir(), "a folder")
	require.NoError(b.t, os.Mkdir(b.mounted, 0o755))
	s.Set("MOUNTED", b.mounted)
	require.NoError(b.t, syscall.Mount(d.BlockPath()+"p1", b.mounted, "ext2", syscall.MS_RDONLY, ""))
	b.t.Cleanup(func() { _ = syscall.Unmount(b.mounted, 0) }) // should the script fail
}

func (b *bench) hold(d *passthru.Device) {
	f, err := os.OpenFile(d.BlockPath(), os.O_RDONLY|syscall.O_EXCL, 0)
	require.NoError(b.t, err)
	b.held[d.Path()] = f
	b.t.Cleanup(func() { _ = f.Close() })
}

func (b *bench) chmod(_ *cli.Script, args []string) {
	require.Len(b.t, args, 2)
	mode, err := strconv.ParseUint(args[0], 8, 32)
	require.NoError(b.t, err)
	withMode(b.t, args[1], os.FileMode(mode))
}

func (b *bench) unplug(s *cli.Script, args []string) {
	d := b.drives[args[0]]
	if !strings.HasPrefix(d.Controller().MN, "QEMU") {
		b.t.Skip("needs an emulated drive: it is taken off its bus")
	}
	require.NoError(b.t, d.Close()) // an open node would keep its name from the drive that comes back
	dir, err := filepath.EvalSymlinks("/sys/class/nvme/" + filepath.Base(controllerNode(b.t, d)) + "/device")
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = os.WriteFile("/sys/bus/pci/rescan", []byte("1"), 0) })
	s.When(strings.Join(args[1:], " "), func(*os.Process) error {
		return os.WriteFile(filepath.Join(dir, "remove"), []byte("1"), 0)
	})
}

func (b *bench) replug(_ *cli.Script, args []string) {
	require.NoError(b.t, os.WriteFile("/sys/bus/pci/rescan", []byte("1"), 0))
	path := b.drives[args[0]].Path()
	require.Eventually(b.t, func() bool {
		d, err := passthru.Open(path, nil)
		return err == nil && d.Close() == nil
	}, 20*time.Second, 50*time.Millisecond, "%s does not come back", path)
}

func (b *bench) since(s *cli.Script, args []string) {
	var major, minor int
	_, err := fmt.Sscanf(args[0], "%d.%d", &major, &minor)
	require.NoError(b.t, err)
	if !kernelSince(b.t, major, minor) {
		s.Stop()
	}
}
