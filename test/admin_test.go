package test

import (
	"bytes"
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/slotio"
	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
	"github.com/nvmepass/nvmepass/uringcmd"
)

// controller opens the controller of a namespace.
func controller(t *testing.T, d *passthru.Device, cfg passthru.ControllerConfig) *passthru.Controller {
	t.Helper()
	c, err := passthru.OpenController(controllerNode(t, d), &cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	used, why := c.Ring()
	require.Equal(t, !cfg.NoRing, used, why)
	return c
}

// TestAdminByRingAndByIoctl: the same bytes, results and statuses both ways.
func TestAdminByRingAndByIoctl(t *testing.T) {
	d := device(t, want{ms: -1})
	ring, ioctl := controller(t, d, passthru.ControllerConfig{}), controller(t, d, passthru.ControllerConfig{NoRing: true})
	require.Equal(t, d.Controller(), ring.Identity())
	same := func(what string, read func(c *passthru.Controller) (uint64, []byte, error)) {
		t.Helper()
		av, a, aerr := read(ring)
		bv, b, berr := read(ioctl)
		require.Equal(t, bv, av, what)
		require.True(t, bytes.Equal(a, b), "%s: other data", what)
		if berr == nil {
			require.NoError(t, aerr, what)
			return
		}
		var as, bs *nvme.StatusError
		require.ErrorAs(t, berr, &bs, what)
		require.ErrorAs(t, aerr, &as, what)
		require.Equal(t, *bs, *as, what)
	}
	ok := 0
	for _, cns := range []nvme.CNS{
		nvme.CNSNamespace, nvme.CNSController, nvme.CNSActiveNamespaces, nvme.CNSNamespaceDescriptors, nvme.CNSSetNamespace, nvme.CNSSetController,
		nvme.CNSIndependentNamespace, nvme.CNSAllocatedNamespaces, nvme.CNSControllers, nvme.CNSCommandSets, 0xee,
	} {
		o := nvme.IdentifyOptions{NSID: d.NSID()}
		if cns == nvme.CNSActiveNamespaces || cns == nvme.CNSController {
			o.NSID = 0
		}
		same(fmt.Sprintf("identify %#x", cns), func(c *passthru.Controller) (uint64, []byte, error) {
			data, err := c.Identify(t.Context(), cns, o)
			if err == nil {
				ok++
			}
			return 0, data, err
		})
	}
	require.Greater(t, ok, 2*4, "these a drive has")
	for lid, length := range map[nvme.LID]int{
		nvme.LogError: nvme.ErrorLogEntrySize, nvme.LogSMART: nvme.SMARTLogSize, nvme.LogFirmwareSlot: nvme.FirmwareSlotLogSize,
		nvme.LogEffects: nvme.EffectsLogSize, nvme.LogChangedNamespaces: nvme.IdentifySize, 0xdf: 512,
	} {
		same(fmt.Sprintf("log %#x", lid), func(c *passthru.Controller) (uint64, []byte, error) {
			data, err := c.Log(t.Context(), lid, length, nvme.LogOptions{NSID: nvme.AllNamespaces, RAE: true})
			return 0, data, err
		})
	}
	for fid := range nvme.FID(0x90) {
		for sel := nvme.FeatureCurrent; sel <= nvme.FeatureSupported; sel++ {
			if fid == nvme.FeatTimestamp { // it goes on
				continue
			}
			same(fmt.Sprintf("feature %#x %v", fid, sel), func(c *passthru.Controller) (uint64, []byte, error) {
				return c.GetFeatures(t.Context(), fid, passthru.FeatureRequest{NSID: d.NSID(), Select: sel, Length: 4096})
			})
		}
	}
	queues, _, err := ring.GetFeatures(t.Context(), nvme.FeatNumberOfQueues, passthru.FeatureRequest{})
	require.NoError(t, err)
	require.NotZero(t, queues, "number of queues less one, in both halves")
}

// TestAdminHelpers: what the drive says of itself hangs together.
func TestAdminHelpers(t *testing.T) {
	d := device(t, want{ms: -1})
	c := controller(t, d, passthru.ControllerConfig{})
	ids, err := c.ActiveNamespaces(t.Context())
	require.NoError(t, err)
	require.Contains(t, ids, d.NSID())
	ns, err := c.IdentifyNamespace(t.Context(), d.NSID())
	require.NoError(t, err)
	require.Equal(t, d.Namespace().Formats, ns.Formats)
	desc, err := c.NamespaceDescriptors(t.Context(), d.NSID())
	require.NoError(t, err)
	require.Equal(t, d.CommandSet(), desc.CSI)
	effects, err := c.Effects(t.Context(), d.CommandSet())
	require.NoError(t, err)
	require.True(t, effects.IO[nvme.OpRead].Supported())
	require.True(t, effects.IO[nvme.OpWrite].ChangesData())
	require.True(t, effects.Admin[nvme.AdminIdentify].Supported())
	slots, err := c.FirmwareSlots(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, slots.Revisions[slots.Active-1])
	changed, err := c.ChangedNamespaces(t.Context())
	require.NoError(t, err)
	require.False(t, changed.Overflow)
	smart, err := c.SMART(t.Context())
	require.NoError(t, err)
	require.Positive(t, smart.Temperature)
	_, err = c.ErrorLog(t.Context(), 1)
	require.NoError(t, err)
	require.Contains(t, passthru.Controllers(), c.Path())
}

// TestAdminLogFromAnOffset, where the drive has offsets into logs: both ways
// parts are what the whole has there.
func TestAdminLogFromAnOffset(t *testing.T) {
	d := device(t, want{ms: -1})
	for _, noRing := range []bool{false, true} {
		c := controller(t, d, passthru.ControllerConfig{NoRing: noRing})
		require.True(t, c.Identity().LPA.Extended())
		whole, err := c.Log(t.Context(), nvme.LogEffects, nvme.EffectsLogSize, nvme.LogOptions{})
		require.NoError(t, err)
		for _, from := range []int{4, 1000, 1024, 4092} {
			for _, n := range []int{1, 3, 4, 1024} {
				n = min(n, len(whole)-from)
				part, err := c.Log(t.Context(), nvme.LogEffects, n, nvme.LogOptions{Offset: uint64(from)})
				require.NoError(t, err)
				require.Equal(t, whole[from:from+n], part, "%d bytes from %d", n, from)
			}
		}
	}
}

// TestAdminNodes: a namespace's nodes lead to its controller, and the kernel
// takes admin commands of a ring on a controller's node alone.
func TestAdminNodes(t *testing.T) {
	d := device(t, want{ms: 0})
	for _, path := range []string{d.Path(), d.BlockPath()} {
		c, err := passthru.OpenController(path, nil)
		require.NoError(t, err)
		require.True(t, c.Mapped())
		require.Equal(t, controllerNode(t, d), c.Path())
		require.Equal(t, d.Controller().SN, c.Identity().SN)
		require.NoError(t, c.Close())
	}
	require.False(t, controller(t, d, passthru.ControllerConfig{}).Mapped())
	identify, err := nvme.NewIdentify(nvme.CNSController, nvme.IdentifyOptions{})
	require.NoError(t, err)
	// What a block node says depends on the kernel.
	for path, refused := range map[string][]syscall.Errno{controllerNode(t, d): {0}, d.Path(): {syscall.ENOTTY}, d.BlockPath(): {syscall.EOPNOTSUPP, syscall.EINVAL}} {
		owned(t, func(t *testing.T) {
			var done uringcmd.Completion
			q, err := slotio.Open(slotio.File{Path: path, Big: true}, slotio.Options{Depth: 1, BufferSize: nvme.IdentifySize, PlainBuffers: true}, func(q *slotio.Queue) error {
				e := uringcmd.BigSQE{Opcode: uapi.OpURingCmd, Off: uint64(uapi.NVMeURingCmdAdmin)}
				e.FD, e.Flags = q.Target(0)
				identify.Addr = q.Bufs.Addr(0)
				require.NoError(t, identify.Image(e.Cmd[:]))
				*q.Ring.BigEntry(0) = e
				require.NoError(t, q.Ring.Publish(0))
				var err error
				done, err = q.One()
				return err
			})
			require.NoError(t, err)
			require.Contains(t, refused, syscall.Errno(-done.Res), path)
			require.NoError(t, q.Close())
		})
	}
}

// TestAdminSetFeatures switches the error for deallocated blocks (DULBE) on
// and off again, with consent only.
func TestAdminSetFeatures(t *testing.T) {
	d := device(t, want{lba: 512, ms: 0, write: true})
	const dulbe = 1 << 16
	reader, c := controller(t, d, passthru.ControllerConfig{}), controller(t, d, passthru.ControllerConfig{Writable: true})
	get := func() uint64 {
		v, _, err := reader.GetFeatures(t.Context(), nvme.FeatErrorRecovery, passthru.FeatureRequest{NSID: d.NSID()})
		require.NoError(t, err)
		return v
	}
	set := func(c *passthru.Controller, v uint32) error {
		_, err := c.SetFeatures(t.Context(), d.NSID(), nvme.FeatErrorRecovery, v, nil, nvme.FeatureOptions{})
		return err
	}
	before := get()
	require.ErrorIs(t, set(reader, dulbe), passthru.ErrReadOnly)
	require.True(t, d.Namespace().NSFEAT.DULBE(), "the drive can do it")
	require.NoError(t, set(c, uint32(before)|dulbe))
	require.Equal(t, before|dulbe, get())
	require.NoError(t, set(c, uint32(before)&^dulbe))
	require.Equal(t, before&^dulbe, get())
	_, err := c.SetFeatures(t.Context(), d.NSID(), 0xdf, 0, nil, nvme.FeatureOptions{})
	require.ErrorIs(t, err, nvme.InvalidField)
	require.ErrorContains(t, err, "set-features")
}

// TestAdminFromManyGoroutines: every one gets its own answer.
func TestAdminFromManyGoroutines(t *testing.T) {
	d := device(t, want{ms: -1})
	c := controller(t, d, passthru.ControllerConfig{})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 20 {
				if i%2 == 0 {
					id, err := c.IdentifyController(t.Context())
					if err != nil || id.SN != d.Controller().SN {
						t.Errorf("%v: %v", id, err)
					}
					continue
				}
				ns, err := c.IdentifyNamespace(t.Context(), d.NSID())
				if err != nil || ns.NSZE != d.Namespace().NSZE {
					t.Errorf("%v: %v", ns, err)
				}
			}
		})
	}
	all.Wait()
}
