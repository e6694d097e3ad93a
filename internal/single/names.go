package single

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nvmepass/nvmepass/nvme"
)

// Names are words for numbers, as --cns, --log-id and --feature-id take them.
type Names map[string]uint8

// Names of Identify structures, log pages and features.
var (
	CNSNames = Names{
		"namespace": uint8(nvme.CNSNamespace), "controller": uint8(nvme.CNSController), "active-namespaces": uint8(nvme.CNSActiveNamespaces),
		"descriptors": uint8(nvme.CNSNamespaceDescriptors), "nvm-sets": uint8(nvme.CNSNVMSets), "set-namespace": uint8(nvme.CNSSetNamespace),
		"set-controller": uint8(nvme.CNSSetController), "independent-namespace": uint8(nvme.CNSIndependentNamespace),
		"allocated-namespaces": uint8(nvme.CNSAllocatedNamespaces), "allocated-namespace": uint8(nvme.CNSAllocatedNamespace),
		"attached-controllers": uint8(nvme.CNSAttachedControllers), "controllers": uint8(nvme.CNSControllers), "primary-controller": uint8(nvme.CNSPrimaryController),
		"secondary-controllers": uint8(nvme.CNSSecondaryControllers), "granularity": uint8(nvme.CNSNamespaceGranularity), "uuids": uint8(nvme.CNSUUIDs),
		"domains": uint8(nvme.CNSDomains), "endurance-groups": uint8(nvme.CNSEnduranceGroups), "command-sets": uint8(nvme.CNSCommandSets),
	}
	LIDNames = Names{
		"error": uint8(nvme.LogError), "smart": uint8(nvme.LogSMART), "firmware": uint8(nvme.LogFirmwareSlot), "changed-ns": uint8(nvme.LogChangedNamespaces),
		"effects": uint8(nvme.LogEffects), "fdp-configs": uint8(nvme.LogFDPConfigs), "ruh-usage": uint8(nvme.LogRUHUsage), "fdp-stats": uint8(nvme.LogFDPStats),
		"fdp-events": uint8(nvme.LogFDPEvents), "changed-zones": uint8(nvme.LogChangedZones), "supported": uint8(nvme.LogSupportedPages),
	}
	FIDNames = Names{
		"arbitration": uint8(nvme.FeatArbitration), "power": uint8(nvme.FeatPowerManagement), "temperature": uint8(nvme.FeatTemperature),
		"error-recovery": uint8(nvme.FeatErrorRecovery), "write-cache": uint8(nvme.FeatVolatileWriteCache), "queues": uint8(nvme.FeatNumberOfQueues),
		"irq-coalescing": uint8(nvme.FeatIRQCoalescing), "irq-config": uint8(nvme.FeatIRQConfig), "write-atomicity": uint8(nvme.FeatWriteAtomicity),
		"async-event": uint8(nvme.FeatAsyncEvent), "apst": uint8(nvme.FeatAPST), "timestamp": uint8(nvme.FeatTimestamp), "host-behavior": uint8(nvme.FeatHostBehavior),
		"command-set-profile": uint8(nvme.FeatCommandSetProfile), "fdp": uint8(nvme.FeatFDP), "fdp-events": uint8(nvme.FeatFDPEvents),
		"host-id": uint8(nvme.FeatHostID), "write-protect": uint8(nvme.FeatWriteProtect),
	}
)

// Parse reads a name or a number, in any base that Go has.
func (n Names) Parse(s string) (v uint8, ok bool) {
	if v, ok = n[s]; ok {
		return v, true
	}
	x, err := strconv.ParseUint(s, 0, 8)
	return uint8(x), err == nil
}

// Name is the word for a number, "" if it has none.
func (n Names) Name(v uint8) string {
	for _, k := range slices.Sorted(maps.Keys(n)) {
		if n[k] == v {
			return k
		}
	}
	return ""
}

// String lists the names by their number.
func (n Names) String() string {
	keys := slices.SortedFunc(maps.Keys(n), func(a, b string) int { return int(n[a]) - int(n[b]) })
	return strings.Join(keys, ", ")
}
