package single

import (
	"fmt"

	"github.com/nvmepass/nvmepass/nvme"
)

// Decoded is what the drive sent in the words of the specification, nil where
// it is not known how to read it.
func (r *Request) Decoded(result uint64) (any, error) {
	if r.decode == nil {
		return nil, nil
	}
	return r.decode(r.Data, result)
}

// reader adapts a decoder of package nvme.
func reader[T any](f func([]byte) (T, error)) func([]byte, uint64) (any, error) {
	return func(b []byte, _ uint64) (any, error) { return f(b) }
}

// list names what a decoder of a list returns.
func list[T any](name string, f func([]byte) ([]T, error)) func([]byte, uint64) (any, error) {
	return func(b []byte, _ uint64) (any, error) {
		v, err := f(b)
		if v == nil {
			v = []T{}
		}
		return map[string]any{name: v}, err
	}
}

func identifyDecoder(cns nvme.CNS, csi nvme.CommandSet) func([]byte, uint64) (any, error) {
	switch cns {
	case nvme.CNSNamespace, nvme.CNSAllocatedNamespace, nvme.CNSNamespaceFormat:
		return reader(nvme.DecodeIdentifyNamespace)
	case nvme.CNSController:
		return reader(nvme.DecodeIdentifyController)
	case nvme.CNSActiveNamespaces, nvme.CNSSetActiveNamespaces, nvme.CNSAllocatedNamespaces, nvme.CNSSetAllocatedNamespaces:
		return list("nsids", nvme.DecodeNamespaceList)
	case nvme.CNSNamespaceDescriptors:
		return reader(nvme.DecodeNamespaceDescriptors)
	case nvme.CNSNVMSets:
		return list("nvm_sets", nvme.DecodeNVMSets)
	case nvme.CNSSetNamespace, nvme.CNSSetAllocatedNamespace, nvme.CNSSetNamespaceFormat:
		switch csi {
		case nvme.SetNVM:
			return reader(nvme.DecodeIdentifyNVMNamespace)
		case nvme.SetZNS:
			return reader(nvme.DecodeIdentifyZNSNamespace)
		case nvme.SetKV:
			return reader(nvme.DecodeIdentifyKVNamespace)
		}
	case nvme.CNSSetController:
		switch csi {
		case nvme.SetNVM:
			return reader(nvme.DecodeIdentifyNVMController)
		case nvme.SetZNS:
			return reader(nvme.DecodeIdentifyZNSController)
		}
	case nvme.CNSIndependentNamespace, nvme.CNSIndependentAllocated:
		return reader(nvme.DecodeIdentifyIndependentNamespace)
	case nvme.CNSAttachedControllers, nvme.CNSControllers:
		return list("controllers", nvme.DecodeControllerList)
	case nvme.CNSPrimaryController:
		return reader(nvme.DecodePrimaryController)
	case nvme.CNSSecondaryControllers:
		return list("controllers", nvme.DecodeSecondaryControllers)
	case nvme.CNSNamespaceGranularity:
		return reader(nvme.DecodeNamespaceGranularities)
	case nvme.CNSUUIDs:
		return list("uuids", nvme.DecodeUUIDs)
	case nvme.CNSDomains:
		return list("domains", nvme.DecodeDomains)
	case nvme.CNSEnduranceGroups:
		return list("endurance_groups", nvme.DecodeEnduranceGroups)
	case nvme.CNSCommandSets:
		return list("combinations", nvme.DecodeCommandSets)
	}
	return nil
}

// logLength is how long a log page is in bytes, 0 if that is not known.
func logLength(lid nvme.LID, t *Target) uint32 {
	switch lid {
	case nvme.LogSMART:
		return nvme.SMARTLogSize
	case nvme.LogError:
		return max(1, t.ErrorEntries) * nvme.ErrorLogEntrySize
	case nvme.LogFirmwareSlot:
		return nvme.FirmwareSlotLogSize
	case nvme.LogChangedNamespaces, nvme.LogChangedZones:
		return nvme.IdentifySize
	case nvme.LogEffects:
		return nvme.EffectsLogSize
	case nvme.LogFDPEvents:
		return nvme.FDPEventsLogSize
	case nvme.LogFDPStats:
		return 64
	case nvme.LogSupportedPages:
		return 1024
	}
	return 0
}

func logDecoder(lid nvme.LID) func([]byte, uint64) (any, error) {
	switch lid {
	case nvme.LogSMART:
		return reader(nvme.DecodeSMARTLog)
	case nvme.LogError:
		return func(b []byte, _ uint64) (any, error) {
			all, err := nvme.DecodeErrorLog(b)
			used := []nvme.ErrorLogEntry{}
			for _, e := range all {
				if e.Used() {
					used = append(used, e)
				}
			}
			return map[string]any{"errors": used}, err
		}
	case nvme.LogFirmwareSlot:
		return reader(nvme.DecodeFirmwareSlots)
	case nvme.LogChangedNamespaces:
		return reader(nvme.DecodeChangedNamespaces)
	case nvme.LogChangedZones:
		return reader(nvme.DecodeChangedZones)
	case nvme.LogEffects:
		return effects
	case nvme.LogFDPConfigs:
		return list("configs", nvme.DecodeFDPConfigs)
	case nvme.LogRUHUsage:
		return list("ruhs", nvme.DecodeRUHUsage)
	case nvme.LogFDPStats:
		return reader(nvme.DecodeFDPStats)
	case nvme.LogFDPEvents:
		return list("events", nvme.DecodeFDPEvents)
	}
	return nil
}

// effect is one supported command of the effects log.
type effect struct {
	Opcode  string `json:"opcode"`
	Command string `json:"command"`
	Effects string `json:"effects"`
}

// effects lists the supported commands alone, since the log has 512 places.
func effects(b []byte, _ uint64) (any, error) {
	l, err := nvme.DecodeEffectsLog(b)
	if err != nil {
		return nil, err
	}
	supported := func(all []nvme.Effects, set nvme.CommandSet) []effect {
		list := []effect{}
		for op, e := range all {
			if e.Supported() {
				list = append(list, effect{fmt.Sprintf("0x%02x", op), nvme.Opcode(op).Name(set), fmt.Sprintf("0x%08x", uint32(e))})
			}
		}
		return list
	}
	return struct {
		Admin []effect `json:"admin"`
		IO    []effect `json:"io"`
	}{supported(l.Admin[:], nvme.SetAdmin), supported(l.IO[:], nvme.SetNVM)}, nil
}

// featureValue is a feature's value in its parts, nil where they are not known.
func featureValue(fid nvme.FID, sel nvme.FeatureSelect, v uint32) any {
	type part struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	var parts []part
	add := func(name, format string, args ...any) {
		parts = append(parts, part{name, fmt.Sprintf(format, args...)})
	}
	bit := func(n int) string {
		if v>>n&1 != 0 {
			return "yes"
		}
		return "no"
	}
	switch {
	case sel == nvme.FeatureSupported:
		add("saveable", "%s", bit(0))
		add("namespace specific", "%s", bit(1))
		add("changeable", "%s", bit(2))
	case fid == nvme.FeatNumberOfQueues:
		add("submission queues", "%d", v&0xffff+1)
		add("completion queues", "%d", v>>16+1)
	case fid == nvme.FeatVolatileWriteCache:
		add("write cache enabled", "%s", bit(0))
	case fid == nvme.FeatPowerManagement:
		add("power state", "%d", v&0x1f)
		add("workload hint", "%d", v>>5&7)
	case fid == nvme.FeatTemperature:
		add("threshold", "%d K", v&0xffff)
	case fid == nvme.FeatArbitration:
		add("burst", "%d", v&7)
		add("low, medium, high weight", "%d, %d, %d", v>>8&0xff+1, v>>16&0xff+1, v>>24+1)
	case fid == nvme.FeatErrorRecovery:
		add("time limited error recovery", "%d ms", v&0xffff*100)
		add("deallocated blocks are errors", "%s", bit(16))
	case fid == nvme.FeatFDP:
		add("enabled", "%s", bit(0))
		add("configuration", "%d", v>>8&0xff)
	default:
		return nil
	}
	return parts
}
