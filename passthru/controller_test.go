package passthru

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/ringtest"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// fakeController answers admin commands on a stand-in kernel.
type fakeController struct {
	t        *testing.T
	identify [nvme.IdentifySize]byte
	effects  [nvme.EffectsLogSize]byte
	log      []byte // of page 0xc0
	list     []uint32
	// answer overrides what is below where handled is true.
	answer func(c *uapi.NVMePassthruCmd) (res int32, result uint64, handled bool)
	held   bool // commands do not complete

	mu       sync.Mutex
	commands []uapi.NVMePassthruCmd
}

func newFakeController(t *testing.T) *fakeController {
	f := &fakeController{t: t}
	f.identify[77] = 5              // MDTS 128 KiB
	f.identify[261] = 1<<1 | 1<<2   // LPA: effects log, extended data
	f.identify[262] = 99            // ELPE: 100 entries
	f.effect(nvme.AdminIdentify, 1) // CSUPP
	f.effect(nvme.AdminGetLogPage, 1)
	f.effect(nvme.AdminGetFeatures, 1)
	return f
}

func (f *fakeController) effect(op nvme.Opcode, e uint32) {
	binary.LittleEndian.PutUint32(f.effects[4*int(op):], e)
}

func (f *fakeController) take(e ringtest.Entry) (res int32, result uint64, post bool) {
	if e.SQE().Opcode == uapi.OpRead { // the worker's event
		return 8, 0, !f.held
	}
	c := *e.Command()
	f.mu.Lock()
	f.commands = append(f.commands, c)
	f.mu.Unlock()
	if uint32(e.SQE().Off) != 0xc0484e82 { // NVME_URING_CMD_ADMIN
		return -25, 0, true
	}
	if f.held {
		return 0, 0, false
	}
	if f.answer != nil {
		if res, result, ok := f.answer(&c); ok {
			return res, result, true
		}
	}
	data := e.Data()
	switch nvme.Opcode(c.Opcode) {
	case nvme.AdminIdentify:
		switch nvme.CNS(c.CDW10) {
		case nvme.CNSController:
			copy(data, f.identify[:])
		case nvme.CNSActiveNamespaces:
			clear(data)
			at := 0
			for _, id := range f.list {
				if id > c.NSID && at < len(data) {
					binary.LittleEndian.PutUint32(data[at:], id)
					at += 4
				}
			}
		}
	case nvme.AdminGetLogPage:
		from := c.CDW12
		switch nvme.LID(c.CDW10) {
		case nvme.LogEffects:
			copy(data, f.effects[from:])
		case 0xc0:
			copy(data, f.log[from:])
		}
	case nvme.AdminGetFeatures:
		return 0, 0xfeedface_00000001, true
	}
	return 0, 0, true
}

func (f *fakeController) taken() []uapi.NVMePassthruCmd {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.commands
	f.commands = nil
	return c
}

func (f *fakeController) try(cfg ControllerConfig) (*Controller, error) {
	cfg.kernel = &ringtest.Kernel{Answer: f.take}
	c := &Controller{path: os.DevNull, writable: cfg.Writable}
	err := c.open(&cfg)
	f.taken()
	return c, err
}

func (f *fakeController) open(cfg ControllerConfig) *Controller {
	f.t.Helper()
	c, err := f.try(cfg)
	require.NoError(f.t, err)
	used, why := c.Ring()
	require.True(f.t, used, why)
	f.t.Cleanup(func() { require.NoError(f.t, c.Close()) })
	return c
}

// TestB30ControllerNodes: what is no controller is refused by name.
func TestB30ControllerNodes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nvme0")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, tt := range []struct {
		path, text string
		is         error
	}{
		{file, "it is a regular file", ErrWrongNode},
		{os.DevNull, "the character device null, which is not NVMe", ErrWrongNode},
		{"/dev/nvme999", "no such device; ", nil},
		{"", `open controller "": no such device`, nil},
		{"a\x00b", "invalid argument", nil},
	} {
		_, err := OpenController(tt.path, nil)
		require.ErrorContains(t, err, tt.text)
		require.ErrorContains(t, err, "open controller ")
		if tt.is != nil {
			require.ErrorIs(t, err, tt.is)
			require.ErrorContains(t, err, "NVMe controller", "and what to use instead")
		}
	}
}

func TestControllerConfigIsChecked(t *testing.T) {
	for _, cfg := range []ControllerConfig{
		{Timeout: -1}, {Timeout: time.Microsecond}, {Timeout: 50 * 24 * time.Hour}, {StallLimit: -1}, {StallLimit: time.Second, Timeout: 2 * time.Second},
	} {
		_, err := newFakeController(t).try(cfg)
		require.ErrorContains(t, err, "need ", "%+v", cfg)
	}
}

// TestLongLogsAreSplit into pieces that the drive takes, with offsets, and the
// event is kept until the last piece.
func TestLongLogsAreSplit(t *testing.T) {
	f := newFakeController(t)
	f.log = make([]byte, 1<<20)
	for i := range f.log {
		f.log[i] = byte(i) ^ byte(i>>8) ^ byte(i>>16)
	}
	type piece struct {
		offset, length uint32
		rae            bool
	}
	for _, tt := range []struct {
		mdts   uint8
		from   uint64
		length int
		rae    bool
		want   []piece
	}{
		{5, 0, 512, false, []piece{{0, 512, false}}},
		{5, 0, 512, true, []piece{{0, 512, true}}},
		{5, 0, 131072, false, []piece{{0, 131072, false}}},
		{5, 0, 131076, false, []piece{{0, 131072, true}, {131072, 4, false}}},
		{9, 0, 300001, true, []piece{{0, 131072, true}, {131072, 131072, true}, {262144, 37860, true}}},
		{1, 4096, 20000, false, []piece{{4096, 8192, true}, {12288, 8192, true}, {20480, 3616, false}}},
		{0, 8, 1, false, []piece{{8, 4, false}}},
	} {
		f.identify[77] = tt.mdts
		c := f.open(ControllerConfig{})
		data, err := c.Log(t.Context(), 0xc0, tt.length, nvme.LogOptions{Offset: tt.from, RAE: tt.rae})
		require.NoError(t, err)
		require.Equal(t, f.log[tt.from:int(tt.from)+tt.length], data)
		var got []piece
		for _, c := range f.taken() {
			require.Equal(t, c.DataLen, (c.CDW10>>16|c.CDW11<<16)*4+4, "NUMD")
			got = append(got, piece{c.CDW12, c.DataLen, c.CDW10>>15&1 != 0})
		}
		require.Equal(t, tt.want, got)
	}
	f.identify[77] = 5
	c := f.open(ControllerConfig{})
	for _, tt := range []struct {
		length int
		o      nvme.LogOptions
		text   string
	}{
		{0, nvme.LogOptions{}, "0 bytes: need 1 to"},
		{MaxLog + 1, nvme.LogOptions{}, "need 1 to 1073741824"},
		{131076, nvme.LogOptions{ByIndex: true}, "by index"},
		{4, nvme.LogOptions{Offset: 2}, "not a multiple of 4"},
	} {
		_, err := c.Log(t.Context(), 0xc0, tt.length, tt.o)
		require.ErrorContains(t, err, "read log 0xc0 of /dev/null: ")
		require.ErrorContains(t, err, tt.text)
	}
	f.identify[261] = 0
	c = f.open(ControllerConfig{})
	_, err := c.Log(t.Context(), 0xc0, 131076, nvme.LogOptions{})
	require.ErrorContains(t, err, "no offsets into logs (LPA bit 2)")
	_, err = c.Log(t.Context(), 0xc0, 4, nvme.LogOptions{Offset: 4})
	require.ErrorContains(t, err, "no offsets into logs (LPA bit 2)")
	require.Empty(t, f.taken(), "none of them reaches the kernel")
}

// TestErrorLogIsAsLongAsTheControllerKeeps.
func TestErrorLogIsAsLongAsTheControllerKeeps(t *testing.T) {
	f := newFakeController(t)
	c := f.open(ControllerConfig{})
	for most, n := range map[int]int{0: 100, 7: 7, 1000: 100} {
		e, err := c.ErrorLog(t.Context(), most)
		require.NoError(t, err)
		require.Len(t, e, n)
	}
	_, err := c.ErrorLog(t.Context(), -1)
	require.ErrorContains(t, err, "-1 entries")
}

// TestActiveNamespacesOverManyPages.
func TestActiveNamespacesOverManyPages(t *testing.T) {
	for _, n := range []int{0, 1, 1023, 1024, 1025, 5000} {
		f := newFakeController(t)
		for i := range n {
			f.list = append(f.list, uint32(3*i+1))
		}
		c := f.open(ControllerConfig{})
		got, err := c.ActiveNamespaces(t.Context())
		require.NoError(t, err)
		require.Equal(t, f.list, got)
		require.Len(t, f.taken(), n/1024+1)
	}
	f := newFakeController(t)
	f.list = []uint32{5, 3}
	_, err := f.open(ControllerConfig{}).ActiveNamespaces(t.Context())
	require.ErrorContains(t, err, "namespace 3 after 5")

	f = newFakeController(t)
	for id := range uint32(maxNamespaces + 2) {
		f.list = append(f.list, id+1)
	}
	_, err = f.open(ControllerConfig{}).ActiveNamespaces(t.Context())
	require.ErrorContains(t, err, "more than 65536 namespaces")
	require.Len(t, f.taken(), 65)
}

// TestCommandsTakeTheirWay: what only reads goes through the ring, the rest
// through the ioctl, which /dev/null does not know.
func TestCommandsTakeTheirWay(t *testing.T) {
	ctx := t.Context()
	f := newFakeController(t)
	c := f.open(ControllerConfig{Writable: true, Timeout: 5 * time.Second})
	result, _, err := c.GetFeatures(ctx, nvme.FeatNumberOfQueues, FeatureRequest{})
	require.NoError(t, err)
	require.EqualValues(t, uint64(0xfeedface_00000001), result, "all 64 bits")
	got := f.taken()
	require.Len(t, got, 1)
	require.EqualValues(t, 5000, got[0].TimeoutMS)

	byIoctl := func(c *Controller, cmd nvme.Command) {
		t.Helper()
		_, err := c.Do(ctx, cmd, make([]byte, cmd.DataLen))
		require.ErrorIs(t, err, syscall.ENOTTY)
		require.Empty(t, f.taken())
	}
	for _, op := range []nvme.Opcode{nvme.AdminSetFeatures, nvme.AdminFormatNVM, nvme.AdminSanitize, nvme.AdminFWCommit, 0xc5} {
		byIoctl(c, nvme.Command{Opcode: op})
	}
	for _, op := range []nvme.Opcode{nvme.AdminNSMgmt, nvme.AdminNSAttach} {
		byIoctl(c, nvme.Command{Opcode: op, DataLen: nvme.IdentifySize})
	}
	identify, err := nvme.NewIdentify(nvme.CNSController, nvme.IdentifyOptions{})
	require.NoError(t, err)
	identify.TimeoutMS = 1000 * 3600 // beyond the stall limit, which would end it first
	byIoctl(c, identify)

	f.effect(nvme.AdminGetFeatures, 1|1<<4) // this drive's changes controller capabilities
	get, err := nvme.NewGetFeatures(0, nvme.FeatTemperature, nvme.FeatureCurrent, 0, 0)
	require.NoError(t, err)
	byIoctl(f.open(ControllerConfig{}), get)
}

// TestControllerRefuses what must not reach the drive.
func TestControllerRefuses(t *testing.T) {
	f := newFakeController(t)
	c := f.open(ControllerConfig{})
	identify, err := nvme.NewIdentify(nvme.CNSController, nvme.IdentifyOptions{})
	require.NoError(t, err)
	page := make([]byte, nvme.IdentifySize)
	for _, op := range []nvme.Opcode{nvme.AdminSetFeatures, nvme.AdminFormatNVM, nvme.AdminSanitize, nvme.AdminFWDownload, nvme.AdminAbort, 0xc0, 0xff} {
		_, err := c.Do(t.Context(), nvme.Command{Opcode: op}, nil)
		require.ErrorIs(t, err, ErrReadOnly, "%#x", op)
		require.ErrorContains(t, err, "ControllerConfig.Writable")
	}
	_, err = c.SetFeatures(t.Context(), 0, nvme.FeatTemperature, 1, nil, nvme.FeatureOptions{})
	require.ErrorIs(t, err, ErrReadOnly)
	w := f.open(ControllerConfig{Writable: true})
	for _, tt := range []struct {
		change func(*nvme.Command)
		data   []byte
		text   string
	}{
		{func(*nvme.Command) {}, page[:4095], "4095 bytes of data for a command that moves 4096"},
		{func(c *nvme.Command) { c.MetadataLen = 8 }, page, "admin commands have none"},
		{func(c *nvme.Command) { c.Flags = 1 }, page, "flags"},
		{func(c *nvme.Command) { c.DataLen = 512 }, page[:512], "the controller transfers 4096"},
		{func(c *nvme.Command) { c.Opcode, c.DataLen = nvme.AdminAsyncEvent, 0 }, nil, "asynchronous event"},
		{func(c *nvme.Command) { c.Opcode, c.DataLen = 0xc2, 1<<17+4 }, make([]byte, 1<<17+4), "exceed the limit of 131072 bytes"},
		{func(c *nvme.Command) { c.Opcode, c.DataLen = 0xc2, 8<<20+4 }, make([]byte, 8<<20+4), "the limit is 8388608"},
	} {
		cmd := identify
		tt.change(&cmd)
		_, err := w.Do(t.Context(), cmd, tt.data)
		require.ErrorContains(t, err, tt.text)
	}
	require.Empty(t, f.taken())
}

// TestAdminErrors: the three kinds of failure, named by admin command.
func TestAdminErrors(t *testing.T) {
	f := newFakeController(t)
	c := f.open(ControllerConfig{})
	ask := func(res int32) error {
		f.answer = func(*uapi.NVMePassthruCmd) (int32, uint64, bool) { return res, 0, true }
		_, err := c.SMART(t.Context())
		return err
	}
	err := ask(0x4002)
	require.ErrorIs(t, err, nvme.InvalidField)
	require.ErrorContains(t, err, "get-log-page nsid=4294967295: Invalid Field")
	require.ErrorIs(t, ask(-4), ErrCancelled)
	err = ask(-13)
	var p *PermissionError
	require.ErrorAs(t, err, &p)
	require.ErrorContains(t, err, "get-log-page")
	require.NotContains(t, err.Error(), "slba")
	require.ErrorIs(t, ask(-22), syscall.EINVAL)
}

// TestControllerWithoutARing says why, and everything goes by ioctl.
func TestControllerWithoutARing(t *testing.T) {
	for _, tt := range []struct {
		cfg  ControllerConfig
		text string
	}{
		{ControllerConfig{NoRing: true}, "ControllerConfig.NoRing"},
		{ControllerConfig{kernel: &ringtest.Kernel{SetupErr: syscall.EPERM}}, "io_uring is not available"},
		{ControllerConfig{kernel: &ringtest.Kernel{RefuseFlags: uapi.SetupCQE32}}, "needs Linux 5.19"},
		{ControllerConfig{kernel: &ringtest.Kernel{Answer: answer(-95)}}, "operation not supported"},
	} {
		c := &Controller{path: os.DevNull}
		err := c.open(&tt.cfg)
		require.ErrorIs(t, err, syscall.ENOTTY, "which is what /dev/null says to the ioctl")
		used, why := c.Ring()
		require.False(t, used)
		require.Contains(t, why, tt.text)
		_, err = c.Identify(t.Context(), nvme.CNSController, nvme.IdentifyOptions{})
		require.ErrorIs(t, err, os.ErrClosed)
	}
}

// TestAdminCommandsNeverHang: a caller can leave, and Close ends although the
// kernel keeps the command.
func TestAdminCommandsNeverHang(t *testing.T) {
	f := newFakeController(t)
	c, err := f.try(ControllerConfig{StallLimit: 200 * time.Millisecond})
	require.NoError(t, err)
	f.held = true
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = c.SMART(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = c.SMART(t.Context())
	require.ErrorIs(t, err, uringcmd.ErrStalled)
	_, err = c.SMART(t.Context())
	require.ErrorIs(t, err, uringcmd.ErrStalled, "the ring stays given up")
	err = c.Close()
	require.ErrorIs(t, err, uringcmd.ErrStalled)
	var leak *uringcmd.LeakError
	require.True(t, errors.As(err, &leak))
	require.NoError(t, c.Close())
	_, err = c.SMART(t.Context())
	require.ErrorIs(t, err, os.ErrClosed)
}

// TestControllerFromManyGoroutines on the running kernel's ring over /dev/null.
func TestControllerFromManyGoroutines(t *testing.T) {
	needIOURing(t)
	c := &Controller{path: os.DevNull, writable: true}
	require.NoError(t, c.open(&ControllerConfig{Writable: true}))
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%8 == 0 {
					cancel()
				}
				if _, err := c.Identify(ctx, nvme.CNSController, nvme.IdentifyOptions{}); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if _, err := c.Do(ctx, nvme.Command{Opcode: 0xc0}, nil); !errors.Is(err, syscall.ENOTTY) && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	require.NoError(t, c.Close())
}
