package compare

// Environment is what a figure depends on beside the configuration. Empty strings and nil mean that it could not be found out.
type Environment struct {
	// Kernel is the release, as in uname -r.
	Kernel string `json:"kernel"`
	// KernelCmdline is /proc/cmdline without its newline.
	KernelCmdline string `json:"kernel_cmdline"`
	CPUModel      string `json:"cpu_model"`
	// CPUCount is the number of online processors.
	CPUCount int `json:"cpu_count"`
	// Governor is the cpufreq governor of the processor used.
	Governor string `json:"governor"`
	// Mitigations are the vulnerabilities' states as the kernel reports them, "name: state", sorted by name.
	Mitigations []string `json:"mitigations"`
	// MemlockBytes is RLIMIT_MEMLOCK; nil means unlimited.
	MemlockBytes *uint64 `json:"memlock_bytes"`
	// GoVersion is the Go release that built the tool.
	GoVersion string `json:"go_version"`
	// IOUringFeatures are the names of the features that the kernel reported when the ring was set up.
	IOUringFeatures []string `json:"io_uring_features"`
	// Emulated says that a drive or the machine is emulated: figures then compare paths with each other and say
	// nothing of a real drive's speed.
	Emulated bool `json:"emulated"`
	// EmulatedReason says how that is known.
	EmulatedReason string `json:"emulated_reason"`
	// Lab says that the run took place inside the tool's own guest.
	Lab bool `json:"lab"`
	// Accelerator is the guest's, "kvm" or "tcg"; empty outside the lab.
	Accelerator string `json:"accelerator"`
	// Devices are in the order of Config.Devices.
	Devices []Device `json:"devices"`
}

// Device is one namespace and what limits it.
type Device struct {
	// Path is the node as it was given, the same string as in Config.Devices.
	Path string `json:"path"`
	// CharNode and BlockNode are the two nodes of the namespace.
	CharNode  string `json:"char_node"`
	BlockNode string `json:"block_node"`
	Model     string `json:"model"`
	Serial    string `json:"serial"`
	Firmware  string `json:"firmware"`
	NSID      uint32 `json:"nsid"`
	// LBAFormat is the format in use.
	LBAFormat LBAFormat `json:"lba_format"`
	// MDTSBytes is the controller's largest transfer; nil means no limit.
	MDTSBytes *uint64 `json:"mdts_bytes"`
	// MaxHWSectorsBytes is the kernel's largest command, queue/max_hw_sectors_kb in bytes; nil means not known.
	MaxHWSectorsBytes *uint64 `json:"max_hw_sectors_bytes"`
	// PollQueues is the number of the driver's poll queues; nil means not known.
	PollQueues *int `json:"poll_queues"`
	// Scheduler is the block queue's I/O scheduler, such as "none".
	Scheduler string `json:"scheduler"`
	// NUMANode is nil where the device belongs to none.
	NUMANode *int `json:"numa_node"`
	// TemperatureBeforeCelsius and TemperatureAfterCelsius are the composite temperature around the run; nil means not known.
	TemperatureBeforeCelsius *int `json:"temperature_before_celsius"`
	TemperatureAfterCelsius  *int `json:"temperature_after_celsius"`
}

// LBAFormat is how a namespace is formatted.
type LBAFormat struct {
	// Index is the number of the format in Identify Namespace.
	Index int `json:"index"`
	// DataBytes and MetadataBytes are per logical block.
	DataBytes     uint32 `json:"data_bytes"`
	MetadataBytes uint32 `json:"metadata_bytes"`
	// MetadataLayout is "none", "extended" or "separate".
	MetadataLayout string `json:"metadata_layout"`
	// ProtectionType is 0 (none) to 3.
	ProtectionType int `json:"protection_type"`
}

// KelvinToCelsius converts a temperature of the SMART log, in whole kelvin, with the 273 that NVMe tools use. It
// returns nil for 0, which means that none is reported.
func KelvinToCelsius(kelvin uint16) *int {
	if kelvin == 0 {
		return nil
	}
	c := int(kelvin) - 273
	return &c
}

// normalize makes lists present even when empty, so that a result read back from JSON equals the one written.
func (e *Environment) normalize() {
	for _, list := range []*[]string{&e.Mitigations, &e.IOUringFeatures} {
		if *list == nil {
			*list = []string{}
		}
	}
	if e.Devices == nil {
		e.Devices = []Device{}
	}
}
