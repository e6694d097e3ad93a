package passthru

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/nvme"
)

// TestB28OpenLooksAtTheNodeNotTheName: what is no namespace is refused, however
// it is called.
func TestB28OpenLooksAtTheNodeNotTheName(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "ng0n1")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	link := filepath.Join(dir, "nvme0n1")
	require.NoError(t, os.Symlink(os.DevNull, link))
	loop := filepath.Join(dir, "ng1n1")
	require.NoError(t, os.Symlink(loop, loop))
	tests := []struct {
		path, text string
		is         error
	}{
		{file, "it is a regular file", ErrWrongNode},
		{dir, "it is a directory", ErrWrongNode},
		{link, "it is the character device null, which is not NVMe", ErrWrongNode},
		{os.DevNull, "it is the character device null", ErrWrongNode},
		{filepath.Join(dir, "ng9n9"), "no such device; ", nil},
		{"", `open "": no such device`, nil},
		{loop, "too many levels of symbolic links", nil},
		{strings.Repeat("x", 5000), "file name too long", nil},
		{"a\x00b", "invalid argument", nil},
	}
	for _, tt := range tests {
		_, err := Open(tt.path, nil)
		require.ErrorContains(t, err, tt.text)
		require.ErrorContains(t, err, "open ")
		require.Less(t, len(err.Error()), 700)
		if tt.is != nil {
			require.ErrorIs(t, err, tt.is)
			require.ErrorContains(t, err, "NVMe namespace", "and what to use instead")
		}
	}
}

// TestB27Limits: MDTS and the kernel's limit, in blocks of the layout.
func TestB27Limits(t *testing.T) {
	ext := nvme.Layout{LBASize: 4096, MetadataSize: 64, Extended: true}
	pract := nvme.Layout{LBASize: 4096, MetadataSize: 8, Extended: true, PI: nvme.PIType1}
	tests := []struct {
		name      string
		mdts      uint8
		kernel    uint64
		layout    nvme.Layout
		transfer  uint64
		maxBlocks uint32
	}{
		{"no limit", 0, 0, lba512, 0, 65536},
		{"MDTS", 5, 0, lba512, 128 << 10, 256},
		{"kernel below MDTS", 8, 128 << 10, lba512, 128 << 10, 256},
		{"kernel above MDTS", 5, 1 << 20, lba512, 128 << 10, 256},
		{"kernel alone", 0, 256 << 10, lba512, 256 << 10, 512},
		{"NLB field", 0, 1 << 30, lba512, 1 << 30, 65536},
		{"extended: no power of two", 5, 0, ext, 128 << 10, 31},
		{"PRACT spares the metadata", 5, 0, pract, 128 << 10, 32},
		{"not one block", 0, 2048, ext, 2048, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := findLimits(&nvme.IdentifyController{MDTS: tt.mdts}, &nvme.IdentifyNamespace{NSZE: 1000}, tt.layout, sysfs.QueueLimits{MaxHWSectorsBytes: tt.kernel, MaxSegments: 129})
			require.Equal(t, tt.transfer, l.MaxTransfer)
			require.Equal(t, tt.maxBlocks, l.MaxBlocks)
			require.EqualValues(t, 1000, l.Blocks)
			require.Equal(t, tt.kernel, l.MaxHWSectors)
			require.Equal(t, 129, l.MaxSegments)
		})
	}
}

// TestSize beyond what an offset can name is cut to whole blocks.
func TestSize(t *testing.T) {
	d := nullDevice(nvme.Layout{LBASize: 4096, MetadataSize: 64, Extended: true})
	d.limits.Blocks = 3
	require.EqualValues(t, 3*4160, d.Size())
	for _, blocks := range []uint64{math.MaxUint64, 1 << 52} {
		d.limits.Blocks = blocks
		require.Equal(t, int64(math.MaxInt64/4160*4160), d.Size())
	}
}

func TestSureBytes(t *testing.T) {
	require.EqualValues(t, 7, Limits{MaxTransfer: 7}.sureBytes())
	require.EqualValues(t, 129*sys.PageSize(), Limits{MaxTransfer: 7, MaxSegments: 129}.sureBytes())
}

func TestClosedDevice(t *testing.T) {
	fd, err := sys.OpenDevice(os.DevNull, false, false)
	require.NoError(t, err)
	d := nullDevice(lba512)
	d.fd = fd
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	_, err = d.SMART()
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorContains(t, err, "read SMART log of /dev/null")
	for _, off := range []int64{0, d.Size()} { // also what would move nothing
		for _, n := range []int{0, 512} {
			_, err = d.ReadAt(make([]byte, n), off)
			require.ErrorIs(t, err, os.ErrClosed)
		}
	}
}

// TestSMARTOnANodeThatIsNoDrive names the command and what it needs.
func TestSMARTOnANodeThatIsNoDrive(t *testing.T) {
	fd, err := sys.OpenDevice(os.DevNull, false, false)
	require.NoError(t, err)
	d := nullDevice(lba512)
	d.fd = fd
	_, err = d.SMART()
	require.ErrorContains(t, err, "inappropriate ioctl for device")
	require.ErrorContains(t, err, "/dev/nvmeX")
	require.NoError(t, d.Close())
}
