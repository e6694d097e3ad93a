package jobs

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/ioqueue"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// sender is a queue that takes any command.
type sender interface {
	Do(slot int, cmd nvme.Command) error
}

// builder publishes the commands of the patterns that are neither reads nor
// writes. An append takes the number of the command for its address.
func builder(q ioqueue.Queue, d *passthru.Device, p workload.Pattern, nlb uint32, zones []nvme.Zone) (func(slot int, slba uint64) error, error) {
	to, ok := q.(sender)
	if !ok {
		return nil, fmt.Errorf("--rw %s: the block layer takes only reads and writes: use --path passthru", p)
	}
	l := d.Layout()
	o := nvme.IOOptions{
		PRACT:  l.PI != nvme.PINone && l.UnderPRACT().PI == nvme.PINone,
		Limits: nvme.Limits{NSID: d.NSID(), Blocks: d.Limits().Blocks, Set: d.CommandSet()},
	}
	switch p {
	case workload.Trim, workload.RandTrim:
		ranges := make([]nvme.DSMRange, 1)
		return func(slot int, slba uint64) error {
			ranges[0] = nvme.DSMRange{NLB: nlb, SLBA: slba}
			cmd, err := nvme.NewDSM(d.NSID(), ranges, nvme.DSMDeallocate, o.Limits)
			if err != nil {
				return err
			}
			ranges[0].AppendTo(q.Buffer(slot)[:0])
			return to.Do(slot, cmd)
		}, nil
	case workload.Zeroes, workload.RandZeroes:
		return func(slot int, slba uint64) error {
			cmd, err := nvme.NewWriteZeroes(d.NSID(), l, slba, nlb, false, o)
			if err != nil {
				return err
			}
			return to.Do(slot, cmd)
		}, nil
	case workload.Append:
		per := appendsPerZone(zones, nlb)
		return func(slot int, number uint64) error {
			cmd, err := nvme.NewZoneAppend(d.NSID(), l, zones[number/per].SLBA, nlb, o)
			if err != nil {
				return err
			}
			return to.Do(slot, cmd)
		}, nil
	}
	return nil, fmt.Errorf("--rw %s needs no builder", p)
}
