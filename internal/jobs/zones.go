package jobs

import (
	"context"
	"fmt"

	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// appendsPerZone is how many whole commands fit the smallest zone.
func appendsPerZone(zones []nvme.Zone, nlb uint32) uint64 {
	least := ^uint64(0)
	for _, z := range zones {
		least = min(least, z.Capacity)
	}
	return least / uint64(nlb)
}

// zoneReportSize is one page of zone descriptors.
const zoneReportSize = 64 << 10

// emptyZones resets the sequential zones that lie wholly in a region and
// returns them. The caller has asked for consent.
func emptyZones(ctx context.Context, d *passthru.Device, first, blocks uint64) ([]nvme.Zone, error) {
	lim := nvme.Limits{NSID: d.NSID(), Blocks: d.Limits().Blocks, Set: nvme.SetZNS}
	zones, err := zonesIn(ctx, d, first, blocks, lim)
	if err != nil {
		return nil, err
	}
	if len(zones) == 0 {
		return nil, fmt.Errorf("no zone lies wholly in the %d blocks from %d: use a larger --size", blocks, first)
	}
	for _, z := range zones {
		cmd, err := nvme.NewZoneSend(d.NSID(), z.SLBA, nvme.ZoneReset, nvme.ZoneSendOptions{Limits: lim})
		if err != nil {
			return nil, err
		}
		if _, err := d.Do(ctx, cmd, nil); err != nil {
			return nil, fmt.Errorf("reset zone at block %d: %w", z.SLBA, err)
		}
	}
	return zones, nil
}

func zonesIn(ctx context.Context, d *passthru.Device, first, blocks uint64, lim nvme.Limits) (zones []nvme.Zone, err error) {
	buf := make([]byte, zoneReportSize)
	for at := first; at < first+blocks; {
		cmd, err := nvme.NewZoneReport(d.NSID(), at, nvme.ZonesAll, true, zoneReportSize, lim)
		if err != nil {
			return nil, err
		}
		if _, err := d.Do(ctx, cmd, buf); err != nil {
			return nil, fmt.Errorf("find the zones: %w", err)
		}
		report, err := nvme.DecodeZoneReport(buf)
		if err != nil {
			return nil, err
		}
		for _, z := range report.Zones {
			if z.Type == sequentialZone && z.SLBA >= first && z.SLBA+z.Capacity <= first+blocks {
				zones = append(zones, z)
			}
		}
		n := len(report.Zones)
		if n < 2 {
			break // the last one
		}
		// All zones are of one size, which may be above their capacity.
		size := report.Zones[1].SLBA - report.Zones[0].SLBA
		next := report.Zones[n-1].SLBA + size
		if next <= at {
			return nil, fmt.Errorf("find the zones: those from block %d on do not reach beyond it", at)
		}
		at = next
	}
	return zones, nil
}

// sequentialZone is the type of zones that are written in order.
const sequentialZone = 2
