package test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// identifier asks a drive for Identify structures.
type identifier struct {
	t *testing.T
	c *passthru.Controller
}

// page is the structure, or nil if the drive does not have it.
func (i identifier) page(cns nvme.CNS, o nvme.IdentifyOptions) []byte {
	i.t.Helper()
	b, err := i.c.Identify(i.t.Context(), cns, o)
	if err != nil {
		var status *nvme.StatusError
		require.ErrorAs(i.t, err, &status, "CNS %#x", uint8(cns))
		require.Contains(i.t, []nvme.Code{nvme.InvalidField, nvme.InvalidNamespaceOrFormat, nvme.InvalidIOCommandSet}, status.Status.Code(), "CNS %#x", uint8(cns))
		return nil
	}
	return b
}

// TestIdentifyStructures: every structure that the drive has decodes, and what
// several of them say agrees. Those that the emulated drive has must be there.
func TestIdentifyStructures(t *testing.T) {
	d := device(t, want{ms: -1})
	i := identifier{t, controller(t, d, passthru.ControllerConfig{})}
	ns := nvme.IdentifyOptions{NSID: d.NSID()}

	for _, cns := range []nvme.CNS{nvme.CNSActiveNamespaces, nvme.CNSSetActiveNamespaces, nvme.CNSAllocatedNamespaces, nvme.CNSSetAllocatedNamespaces} {
		if b := i.page(cns, nvme.IdentifyOptions{CSI: d.CommandSet()}); i.must(b, cns) {
			ids, err := nvme.DecodeNamespaceList(b)
			require.NoError(t, err)
			require.Contains(t, ids, d.NSID(), "CNS %#x", uint8(cns))
		}
	}
	for _, cns := range []nvme.CNS{nvme.CNSControllers, nvme.CNSAttachedControllers} {
		if b := i.page(cns, ns); b != nil {
			ids, err := nvme.DecodeControllerList(b)
			require.NoError(t, err)
			require.Contains(t, ids, i.c.Identity().CNTLID, "CNS %#x", uint8(cns))
		}
	}
	for _, cns := range []nvme.CNS{nvme.CNSNamespace, nvme.CNSAllocatedNamespace} {
		if b := i.page(cns, ns); i.must(b, cns) {
			got, err := nvme.DecodeIdentifyNamespace(b)
			require.NoError(t, err)
			require.Equal(t, d.Namespace().Formats, got.Formats)
			require.Equal(t, d.Namespace().NSZE, got.NSZE)
		}
	}
	if b := i.page(nvme.CNSCommandSets, nvme.IdentifyOptions{CNTID: 0xffff}); i.must(b, nvme.CNSCommandSets) {
		sets, err := nvme.DecodeCommandSets(b)
		require.NoError(t, err)
		require.NotEmpty(t, sets)
		require.True(t, sets[0].Has(d.CommandSet()))
	}
	if b := i.page(nvme.CNSSetNamespace, ns); i.must(b, nvme.CNSSetNamespace) {
		x, err := nvme.DecodeIdentifyNVMNamespace(b)
		require.NoError(t, err)
		layout, err := d.Namespace().LayoutWith(x)
		require.NoError(t, err)
		require.Equal(t, d.Layout(), layout)
	}
	if b := i.page(nvme.CNSSetController, nvme.IdentifyOptions{}); i.must(b, nvme.CNSSetController) {
		x, err := nvme.DecodeIdentifyNVMController(b)
		require.NoError(t, err)
		if i.emulated() {
			require.NotZero(t, x.DMRSL, "QEMU limits the ranges of dataset management")
		}
	}
	if b := i.page(nvme.CNSPrimaryController, nvme.IdentifyOptions{}); i.must(b, nvme.CNSPrimaryController) {
		p, err := nvme.DecodePrimaryController(b)
		require.NoError(t, err)
		require.Equal(t, i.c.Identity().CNTLID, p.CNTLID)
	}
	if b := i.page(nvme.CNSSecondaryControllers, nvme.IdentifyOptions{}); i.must(b, nvme.CNSSecondaryControllers) {
		s, err := nvme.DecodeSecondaryControllers(b)
		require.NoError(t, err)
		for _, e := range s {
			require.Equal(t, i.c.Identity().CNTLID, e.PCID)
		}
	}
	for cns, decode := range map[nvme.CNS]func(b []byte) error{
		nvme.CNSNVMSets:              func(b []byte) error { _, err := nvme.DecodeNVMSets(b); return err },
		nvme.CNSIndependentNamespace: func(b []byte) error { _, err := nvme.DecodeIdentifyIndependentNamespace(b); return err },
		nvme.CNSNamespaceGranularity: func(b []byte) error { _, err := nvme.DecodeNamespaceGranularities(b); return err },
		nvme.CNSUUIDs:                func(b []byte) error { _, err := nvme.DecodeUUIDs(b); return err },
		nvme.CNSDomains:              func(b []byte) error { _, err := nvme.DecodeDomains(b); return err },
		nvme.CNSEnduranceGroups:      func(b []byte) error { _, err := nvme.DecodeEnduranceGroups(b); return err },
	} {
		if b := i.page(cns, ns); b != nil {
			require.NoError(t, decode(b), "CNS %#x", uint8(cns))
		}
	}
}

func (i identifier) emulated() bool {
	return bytes.HasPrefix([]byte(i.c.Identity().MN), []byte("QEMU"))
}

// must tells whether there is a page, which the emulated drive has.
func (i identifier) must(b []byte, cns nvme.CNS) bool {
	i.t.Helper()
	if i.emulated() {
		require.NotNil(i.t, b, "QEMU has CNS %#x", uint8(cns))
	}
	return b != nil
}

// TestAdminFormat formats a namespace as it is. The command has side effects, so
// that the driver must see it: the Device goes on, and reads zeros.
func TestAdminFormat(t *testing.T) {
	d := plainDrive(t)
	require.True(t, d.Controller().OACS.Format())
	fill(t, d, 0, 64, 1)
	last := d.Limits().Blocks - 64
	fill(t, d, last, 64, 2)
	ns := d.Namespace()
	format := nvme.Command{
		Opcode: nvme.AdminFormatNVM, NSID: d.NSID(), TimeoutMS: 60_000,
		CDW10: uint32(ns.FormatIndex()&15) | uint32(ns.FormatIndex()>>4)<<12,
	}
	reader := controller(t, d, passthru.ControllerConfig{})
	_, err := reader.Do(t.Context(), format, nil)
	require.ErrorIs(t, err, passthru.ErrReadOnly)
	require.True(t, bytes.Equal(stampedBlocks(0, 64, 1), readBlocks(t, d, 0, 64)))

	c := controller(t, d, passthru.ControllerConfig{Writable: true})
	bad := format
	bad.CDW10 |= 15
	_, err = c.Do(t.Context(), bad, nil)
	require.ErrorIs(t, err, nvme.InvalidFormat)
	require.True(t, bytes.Equal(stampedBlocks(0, 64, 1), readBlocks(t, d, 0, 64)), "nothing happened")
	bad.CDW10, bad.DataLen = format.CDW10, 512
	_, err = c.Do(t.Context(), bad, make([]byte, 512))
	require.ErrorContains(t, err, "the command moves no data")

	_, err = c.Do(t.Context(), format, nil)
	require.NoError(t, err)
	for _, slba := range []uint64{0, last} {
		require.Equal(t, make([]byte, 64*512), readBlocks(t, d, slba, 64))
	}
	fill(t, d, 0, 64, 3)
	require.True(t, bytes.Equal(stampedBlocks(0, 64, 3), readBlocks(t, d, 0, 64)))
	fresh, err := c.IdentifyNamespace(t.Context(), d.NSID())
	require.NoError(t, err)
	require.Equal(t, ns.NSZE, fresh.NSZE)
}

// TestAdminShortBuffers: where the length of the data is the command's own, a
// shorter buffer never reaches the drive, which would write past its end.
func TestAdminShortBuffers(t *testing.T) {
	d := device(t, want{ms: -1})
	for _, noRing := range []bool{false, true} {
		c := controller(t, d, passthru.ControllerConfig{NoRing: noRing})
		for length := range uint32(8) {
			_, _, err := c.GetFeatures(t.Context(), nvme.FeatTimestamp, passthru.FeatureRequest{Length: length})
			require.ErrorContains(t, err, "feature 0x0e moves 8")
		}
		_, data, err := c.GetFeatures(t.Context(), nvme.FeatTimestamp, passthru.FeatureRequest{Length: 8})
		require.NoError(t, err)
		require.NotEqual(t, make([]byte, 8), data)
	}
}
