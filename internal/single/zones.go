package single

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/nvme"
)

// zoneStates are the filters of a zone report.
var zoneStates = map[string]nvme.ZoneReportFilter{
	"": nvme.ZonesAll, "all": nvme.ZonesAll, "empty": nvme.ZonesEmpty, "implicitly-open": nvme.ZonesImplicitlyOpen, "explicitly-open": nvme.ZonesExplicitlyOpen,
	"closed": nvme.ZonesClosed, "full": nvme.ZonesFull, "read-only": nvme.ZonesReadOnly, "offline": nvme.ZonesOffline,
}

// Sizes in bytes of a zone report (zoned namespace command set specification).
const (
	zoneReportHeader  = 64
	zoneDescriptor    = 64
	defaultZones      = 63 // so that the report is one page
	maxZonesPerReport = 1 << 16
)

func zoneReport(o *Options, t *Target, in *Source) (*Request, error) {
	filter, ok := zoneStates[o.State]
	if !ok {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(zoneStates)), func(s string) bool { return s == "" })
		return nil, &badflag.Error{Flag: "--state", Value: strconv.Quote(o.State), Problem: "is no state of a zone", Remedy: "give " + strings.Join(names, ", ")}
	}
	n := o.Descriptors
	if n == 0 {
		n = defaultZones
	}
	if n > maxZonesPerReport {
		return nil, &badflag.Error{Flag: "--descs", Value: fmt.Sprint(n), Problem: fmt.Sprintf("at most %d fit a report here", maxZonesPerReport), Remedy: "ask again from a later --start-block"}
	}
	r := &Request{}
	size := uint32(zoneDescriptor)
	build, decode := nvme.NewZoneReport, func(b []byte, _ uint64) (any, error) { return nvme.DecodeZoneReport(b) }
	if o.Extended {
		extension := t.ZoneExtension
		if extension == 0 {
			return nil, &badflag.Error{Flag: "--extended", Problem: "the zones of this namespace have no descriptor extensions", Remedy: "leave it out"}
		}
		size += extension
		build, decode = nvme.NewExtendedZoneReport, func(b []byte, _ uint64) (any, error) { return nvme.DecodeExtendedZoneReport(b, extension) }
	}
	var err error
	if r.Command, err = build(t.NSID, o.StartBlock, filter, o.Partial, zoneReportHeader+n*size, t.Limits); err != nil {
		return nil, err
	}
	r.decode = decode
	return r, r.fill(in)
}

func zoneSend(action nvme.ZoneAction) func(o *Options, t *Target, in *Source) (*Request, error) {
	return func(o *Options, t *Target, _ *Source) (*Request, error) {
		cmd, err := nvme.NewZoneSend(t.NSID, o.StartBlock, action, nvme.ZoneSendOptions{All: o.SelectAll, ZRWA: o.ZRWA, Limits: t.Limits})
		if err != nil {
			return nil, err
		}
		r := &Request{Command: cmd, Effect: Writes}
		if !o.SelectAll {
			r.Offset = o.StartBlock * uint64(t.Layout.LBASize) // to the end, since the zone's length is the drive's to say
		}
		return r, nil
	}
}
