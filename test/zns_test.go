package test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// zoned is a zoned namespace under test.
type zoned struct {
	t    *testing.T
	d    *passthru.Device
	size uint64 // blocks of a zone
	cap  uint64 // of those that can be written
}

// zonedDevice opens the zoned drive with a serial number, all its zones empty.
func zonedDevice(t *testing.T, serial string) *zoned {
	t.Helper()
	z := &zoned{t: t, d: device(t, want{serial: serial, ms: 0, write: true})}
	require.Equal(t, nvme.SetZNS, z.d.CommandSet())
	require.NoError(t, z.all(nvme.ZoneReset))
	zones := z.report(0, nvme.ZonesAll).Zones
	require.Greater(t, len(zones), 2)
	z.size, z.cap = zones[1].SLBA, zones[0].Capacity
	return z
}

// report asks for up to 16 zones from slba on.
func (z *zoned) report(slba uint64, filter nvme.ZoneReportFilter) *nvme.ZoneReport {
	z.t.Helper()
	cmd, err := nvme.NewZoneReport(z.d.NSID(), slba, filter, false, 64*17, nvme.Limits{})
	require.NoError(z.t, err)
	data := make([]byte, cmd.DataLen)
	_, err = z.d.Do(context.Background(), cmd, data)
	require.NoError(z.t, err)
	r, err := nvme.DecodeZoneReport(data)
	require.NoError(z.t, err)
	return r
}

func (z *zoned) send(zone uint64, action nvme.ZoneAction, o nvme.ZoneSendOptions) error {
	z.t.Helper()
	cmd, err := nvme.NewZoneSend(z.d.NSID(), zone*z.size, action, o)
	require.NoError(z.t, err)
	_, err = z.d.Do(context.Background(), cmd, make([]byte, cmd.DataLen))
	return err
}

func (z *zoned) do(zone uint64, action nvme.ZoneAction) error {
	z.t.Helper()
	return z.send(zone, action, nvme.ZoneSendOptions{})
}

func (z *zoned) all(action nvme.ZoneAction) error {
	z.t.Helper()
	return z.send(0, action, nvme.ZoneSendOptions{All: true})
}

// write writes stamped blocks at an offset into a zone.
func (z *zoned) write(zone, off, blocks uint64) error {
	z.t.Helper()
	return z.d.WriteBlocks(context.Background(), zone*z.size+off, z.stamped(zone*z.size+off, blocks), nil, nvme.IOOptions{})
}

func (z *zoned) stamped(slba, blocks uint64) []byte {
	unit := uint64(z.d.Layout().Unit())
	b := make([]byte, blocks*unit)
	for i := range blocks {
		stamp(b[i*unit:(i+1)*unit], slba+i, 3)
	}
	return b
}

// holds requires stamped blocks at an offset into a zone.
func (z *zoned) holds(zone, off, blocks uint64) {
	z.t.Helper()
	got := make([]byte, blocks*uint64(z.d.Layout().Unit()))
	require.NoError(z.t, z.d.ReadBlocks(context.Background(), zone*z.size+off, got, nil, nvme.IOOptions{}))
	require.True(z.t, bytes.Equal(z.stamped(zone*z.size+off, blocks), got))
}

// is requires a zone's state, and its write pointer where that means something.
func (z *zoned) is(zone uint64, state nvme.ZoneState, wp uint64) {
	z.t.Helper()
	got := z.report(zone*z.size, nvme.ZonesAll).Zones[0]
	require.Equal(z.t, zone*z.size, got.SLBA)
	require.Equal(z.t, state.String(), got.State.String())
	if state != nvme.ZoneStateFull {
		require.Equal(z.t, wp, got.WritePointer-got.SLBA)
	}
}

// TestZoneStateMachine: what moves a zone from state to state, and the statuses
// of what does not fit its state.
func TestZoneStateMachine(t *testing.T) {
	z := zonedDevice(t, "zns4k")
	z.is(1, nvme.ZoneStateEmpty, 0)
	require.NoError(t, z.do(1, nvme.ZoneOpen))
	z.is(1, nvme.ZoneStateExplicitlyOpen, 0)
	require.NoError(t, z.write(1, 0, 3))
	z.is(1, nvme.ZoneStateExplicitlyOpen, 3)
	require.NoError(t, z.do(1, nvme.ZoneClose))
	z.is(1, nvme.ZoneStateClosed, 3)
	require.NoError(t, z.write(1, 3, 1))
	z.is(1, nvme.ZoneStateImplicitlyOpen, 4)
	z.holds(1, 0, 4)

	for _, off := range []uint64{0, 3, 5, 100, z.cap - 1} {
		require.ErrorIs(t, z.write(1, off, 1), nvme.ZoneInvalidWrite, "block %d of the zone", off)
	}
	z.is(1, nvme.ZoneStateImplicitlyOpen, 4)
	z.holds(1, 0, 4)

	require.NoError(t, z.do(1, nvme.ZoneFinish))
	z.is(1, nvme.ZoneStateFull, 0)
	require.ErrorIs(t, z.write(1, 4, 1), nvme.ZoneIsFull)
	_, err := z.d.Append(context.Background(), z.size, z.stamped(0, 1))
	require.ErrorIs(t, err, nvme.ZoneIsFull)
	for _, action := range []nvme.ZoneAction{nvme.ZoneOpen, nvme.ZoneClose, nvme.ZoneOffline} {
		require.ErrorIs(t, z.do(1, action), nvme.InvalidZoneStateTransition, "action %#x", uint8(action))
	}
	z.holds(1, 0, 4)
	require.NoError(t, z.do(1, nvme.ZoneReset))
	z.is(1, nvme.ZoneStateEmpty, 0)
	got := make([]byte, z.d.Layout().Unit())
	require.NoError(t, z.d.ReadBlocks(context.Background(), z.size, got, nil, nvme.IOOptions{}))
	require.Equal(t, make([]byte, len(got)), got, "a reset zone reads as zeros")

	require.ErrorIs(t, z.send(1, nvme.ZoneSetDescExtension, nvme.ZoneSendOptions{ExtensionLen: 64}), nvme.InvalidField, "the drive has no extensions")
	cmd, err := nvme.NewZoneSend(z.d.NSID(), z.size+1, nvme.ZoneOpen, nvme.ZoneSendOptions{})
	require.NoError(t, err)
	_, err = z.d.Do(context.Background(), cmd, nil)
	require.ErrorIs(t, err, nvme.InvalidField, "not the start of a zone")
}

// TestZoneCapacity: a zone ends at its capacity, below its size.
func TestZoneCapacity(t *testing.T) {
	z := zonedDevice(t, "zns4k")
	require.Less(t, z.cap, z.size)
	ctx := context.Background()
	unit := uint64(z.d.Layout().Unit())
	_, err := z.d.WriteAt(z.stamped(2*z.size, z.cap-2), int64(2*z.size*unit))
	require.NoError(t, err)
	z.is(2, nvme.ZoneStateImplicitlyOpen, z.cap-2)
	require.ErrorIs(t, z.write(2, z.cap-2, 3), nvme.ZoneBoundaryError)
	_, err = z.d.Append(ctx, 2*z.size, z.stamped(0, 3))
	require.ErrorIs(t, err, nvme.ZoneBoundaryError)
	z.is(2, nvme.ZoneStateImplicitlyOpen, z.cap-2)
	slba, err := z.d.Append(ctx, 2*z.size, z.stamped(2*z.size+z.cap-2, 2))
	require.NoError(t, err)
	require.Equal(t, 2*z.size+z.cap-2, slba)
	z.is(2, nvme.ZoneStateFull, 0)
	got := make([]byte, z.cap*unit)
	_, err = z.d.ReadAt(got, int64(2*z.size*unit))
	require.NoError(t, err)
	require.True(t, bytes.Equal(z.stamped(2*z.size, z.cap), got))

	_, err = z.d.Append(ctx, 3*z.size+1, z.stamped(0, 1))
	require.ErrorIs(t, err, nvme.InvalidField, "not the start of a zone")
	_, err = z.d.Append(ctx, 3*z.size, make([]byte, unit+1))
	require.ErrorContains(t, err, "not a multiple")
	_, err = z.d.Append(ctx, 3*z.size, make([]byte, z.d.Limits().MaxTransfer+unit))
	require.ErrorContains(t, err, "exceed the limit")
	z.is(3, nvme.ZoneStateEmpty, 0)
}

// TestZoneLimits: the drive has 3 open and 5 active zones.
func TestZoneLimits(t *testing.T) {
	z := zonedDevice(t, "zns4k")
	for zone := range uint64(3) {
		require.NoError(t, z.do(zone, nvme.ZoneOpen))
	}
	require.ErrorIs(t, z.do(3, nvme.ZoneOpen), nvme.TooManyOpenZones)
	require.ErrorIs(t, z.write(3, 0, 1), nvme.TooManyOpenZones)
	require.NoError(t, z.write(0, 0, 1))
	require.NoError(t, z.write(1, 0, 1))
	require.NoError(t, z.do(0, nvme.ZoneClose))
	require.NoError(t, z.do(1, nvme.ZoneClose))
	require.NoError(t, z.do(3, nvme.ZoneOpen))
	require.NoError(t, z.do(4, nvme.ZoneOpen))
	require.ErrorIs(t, z.write(5, 0, 1), nvme.TooManyActiveZones)

	states := map[nvme.ZoneReportFilter][]uint64{
		nvme.ZonesExplicitlyOpen: {2, 3, 4}, nvme.ZonesClosed: {0, 1}, nvme.ZonesImplicitlyOpen: nil, nvme.ZonesFull: nil, nvme.ZonesOffline: nil, nvme.ZonesReadOnly: nil,
	}
	for filter, want := range states {
		r := z.report(0, filter)
		require.EqualValues(t, len(want), r.Count, "filter %d", filter)
		for i, zone := range r.Zones {
			require.Equal(t, want[i]*z.size, zone.SLBA)
		}
	}
	zones := z.d.Limits().Blocks / z.size
	require.Equal(t, zones-5, z.report(0, nvme.ZonesEmpty).Count)
	require.Equal(t, zones-6, z.report(6*z.size, nvme.ZonesAll).Count, "from a zone on")

	cmd, err := nvme.NewZoneReport(z.d.NSID(), 0, nvme.ZonesAll, true, 64*3, nvme.Limits{})
	require.NoError(t, err)
	data := make([]byte, cmd.DataLen)
	_, err = z.d.Do(context.Background(), cmd, data)
	require.NoError(t, err)
	r, err := nvme.DecodeZoneReport(data)
	require.NoError(t, err)
	require.EqualValues(t, 2, r.Count, "a partial report counts what it holds")
	require.Len(t, r.Zones, 2)

	require.NoError(t, z.all(nvme.ZoneFinish))
	require.EqualValues(t, 5, z.report(0, nvme.ZonesFull).Count)
	require.NoError(t, z.all(nvme.ZoneReset))
	require.Equal(t, zones, z.report(0, nvme.ZonesEmpty).Count)
}

// TestZoneAppend: many appends at once, each returns where its data went. The
// second drive has zones whose addresses need more than 32 bits.
func TestZoneAppend(t *testing.T) {
	for serial, far := range map[string]bool{"zns4k": false, "znsbig": true} {
		t.Run(serial, func(t *testing.T) {
			z := zonedDevice(t, serial)
			zone := uint64(4)
			if far {
				zone = z.d.Limits().Blocks/z.size - 2
				require.Greater(t, zone*z.size, uint64(1<<32))
			}
			require.NoError(t, z.do(zone, nvme.ZoneReset))
			unit := uint64(z.d.Layout().Unit())
			const appends = 96
			type placed struct{ slba, blocks, id uint64 }
			done := make([]placed, appends)
			pattern := func(p placed) []byte {
				b := make([]byte, p.blocks*unit)
				for i := range p.blocks {
					stamp(b[i*unit:(i+1)*unit], p.id, i)
				}
				return b
			}
			var wg sync.WaitGroup
			for i := range done {
				done[i] = placed{id: uint64(i), blocks: uint64(1 + i%4)}
				wg.Go(func() {
					slba, err := z.d.Append(context.Background(), zone*z.size, pattern(done[i]))
					if err != nil {
						t.Errorf("append %d: %v", i, err)
					}
					done[i].slba = slba
				})
			}
			wg.Wait()
			require.False(t, t.Failed())
			owner := map[uint64]uint64{}
			total := uint64(0)
			for _, p := range done {
				for b := range p.blocks {
					other, taken := owner[p.slba+b]
					require.False(t, taken, "block %#x went to appends %d and %d", p.slba+b, other, p.id)
					owner[p.slba+b] = p.id
				}
				total += p.blocks
				got := make([]byte, p.blocks*unit)
				require.NoError(t, z.d.ReadBlocks(context.Background(), p.slba, got, nil, nvme.IOOptions{}))
				require.True(t, bytes.Equal(pattern(p), got), "append %d at %#x", p.id, p.slba)
			}
			for b := range total {
				require.Contains(t, owner, zone*z.size+b, "the zone has no hole")
			}
			z.is(zone, nvme.ZoneStateImplicitlyOpen, total)
			require.NoError(t, z.do(zone, nvme.ZoneReset))
		})
	}
}

// TestZoneAppendProtected: where the drive makes the protection information of
// an append, reference tags follow the blocks that it chose (type 1), or not
// (type 2, without PIREMAP).
func TestZoneAppendProtected(t *testing.T) {
	for _, pi := range []nvme.PIType{nvme.PIType1, nvme.PIType2} {
		t.Run(fmt.Sprintf("type=%d", pi), func(t *testing.T) {
			d := device(t, want{serial: fmt.Sprintf("znspi%d", pi), ms: 8, extended: true, write: true})
			ctx := context.Background()
			l := d.Layout()
			require.Equal(t, pi, l.PI)
			reset, err := nvme.NewZoneSend(d.NSID(), 0, nvme.ZoneReset, nvme.ZoneSendOptions{All: true})
			require.NoError(t, err)
			_, err = d.Do(ctx, reset, nil)
			require.NoError(t, err)
			report, err := nvme.NewZoneReport(d.NSID(), 0, nvme.ZonesAll, false, 64*3, nvme.Limits{})
			require.NoError(t, err)
			answer := make([]byte, report.DataLen)
			_, err = d.Do(ctx, report, answer)
			require.NoError(t, err)
			zones, err := nvme.DecodeZoneReport(answer)
			require.NoError(t, err)
			zone := zones.Zones[1].SLBA

			data := make([]byte, 3*l.LBASize)
			for round := range uint64(3) {
				for i := range uint64(3) {
					stamp(data[i*uint64(l.LBASize):(i+1)*uint64(l.LBASize)], zone+i, round)
				}
				var slba uint64
				o := nvme.IOOptions{PRACT: true}
				if pi == nvme.PIType1 {
					slba, err = d.Append(ctx, zone, data)
				} else {
					o.RefTag = 1000
					cmd, buildErr := nvme.NewZoneAppend(d.NSID(), l, zone, 3, o)
					require.NoError(t, buildErr)
					require.False(t, cmd.PIREMAP())
					slba, err = d.Do(ctx, cmd, data)
				}
				require.NoError(t, err)
				require.Equal(t, zone+3*round, slba)
				raw := make([]byte, l.DataLen(3))
				check := nvme.IOOptions{PRCHK: nvme.CheckGuard | nvme.CheckRef, RefTag: o.RefTag}
				require.NoError(t, d.ReadBlocks(ctx, slba, raw, nil, check))
				expect := nvme.PICheck{Check: nvme.CheckGuard | nvme.CheckRef, Want: nvme.PI{Ref: o.RefTag}}
				require.NoError(t, l.VerifyPI(raw, nil, slba, expect), "the drive's tuples, checked by the host")
				for i := range 3 {
					require.True(t, bytes.Equal(data[i*int(l.LBASize):][:l.LBASize], raw[i*int(l.Unit()):][:l.LBASize]))
				}
			}
			if pi == nvme.PIType1 {
				cmd, err := nvme.NewZoneAppend(d.NSID(), l, zone, 3, nvme.IOOptions{PRACT: true})
				require.NoError(t, err)
				cmd.SetPIREMAP(false)
				_, err = d.Do(ctx, cmd, data)
				require.ErrorIs(t, err, nvme.InvalidProtectionInformation, "type 1 needs PIREMAP")
			}
		})
	}
}

// TestZoneIdentify: what the drive says of zones, in its structures of the zoned
// command set and in the effects log of that set, fits its reports.
func TestZoneIdentify(t *testing.T) {
	z := zonedDevice(t, "zns4k")
	c := controller(t, z.d, passthru.ControllerConfig{})
	page, err := c.Identify(t.Context(), nvme.CNSSetNamespace, nvme.IdentifyOptions{NSID: z.d.NSID(), CSI: nvme.SetZNS})
	require.NoError(t, err)
	ns, err := nvme.DecodeIdentifyZNSNamespace(page)
	require.NoError(t, err)
	format := ns.Formats[z.d.Namespace().FormatIndex()]
	require.Equal(t, z.size, format.ZSZE)
	require.Zero(t, format.ExtensionSize())
	require.Equal(t, [2]uint32{3, 5}, [2]uint32{ns.MaxOpen(), ns.MaxActive()})

	page, err = c.Identify(t.Context(), nvme.CNSSetController, nvme.IdentifyOptions{CSI: nvme.SetZNS})
	require.NoError(t, err)
	zns, err := nvme.DecodeIdentifyZNSController(page)
	require.NoError(t, err)
	require.Equal(t, zns.MaxAppend(0), z.d.Limits().MaxAppend)

	for set, has := range map[nvme.CommandSet]bool{nvme.SetZNS: true, nvme.SetNVM: false} {
		effects, err := c.Effects(t.Context(), set)
		require.NoError(t, err)
		require.True(t, effects.IO[nvme.OpWrite].Supported() && effects.IO[nvme.OpWrite].ChangesData(), "%v", set)
		for _, op := range []nvme.Opcode{nvme.OpZoneAppend, nvme.OpZoneMgmtSend, nvme.OpZoneMgmtRecv} {
			require.Equal(t, has, effects.IO[op].Supported(), "%v in %v", op, set)
		}
	}

	cmd, err := nvme.NewExtendedZoneReport(z.d.NSID(), 0, nvme.ZonesAll, false, 64*17, nvme.Limits{})
	require.NoError(t, err)
	_, err = z.d.Do(context.Background(), cmd, make([]byte, cmd.DataLen))
	require.ErrorIs(t, err, nvme.InvalidField, "the drive has no extensions to report")
}

// TestB52ZonedNamespace: random writes are refused by the drive with a status
// that says so, sequential ones of any length work, reads go anywhere.
func TestB52ZonedNamespace(t *testing.T) {
	z := zonedDevice(t, "zns4k")
	unit := int64(z.d.Layout().Unit())
	rng := rand.New(rand.NewPCG(5, 2))
	for range 64 {
		zone, off := rng.Uint64N(8), 1+rng.Uint64N(z.cap-1)
		_, err := z.d.WriteAt(z.stamped(0, 1), int64(zone*z.size+off)*unit)
		require.ErrorIs(t, err, nvme.ZoneInvalidWrite)
		require.ErrorContains(t, err, "Zone Invalid Write")
	}
	require.Zero(t, z.report(0, nvme.ZonesImplicitlyOpen).Count)
	require.NoError(t, z.d.Flush(context.Background()))

	// Split into several commands, which must not overtake each other.
	d := reopen(t, z.d, passthru.Config{Writable: true, BufferSize: int(4 * unit)})
	for pass := range uint64(3) {
		_, err := d.WriteAt(z.stamped(6*z.size+pass*200, 200), int64(6*z.size+pass*200)*unit)
		require.NoError(t, err)
	}
	z.is(6, nvme.ZoneStateImplicitlyOpen, 600)
	got := make([]byte, 600*unit)
	_, err := d.ReadAt(got, int64(6*z.size)*unit)
	require.NoError(t, err)
	require.True(t, bytes.Equal(z.stamped(6*z.size, 600), got))
	for range 64 {
		_, err := z.d.ReadAt(make([]byte, unit), rng.Int64N(z.d.Size()/unit)*unit)
		require.NoError(t, err)
	}
}
