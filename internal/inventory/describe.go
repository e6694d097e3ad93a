package inventory

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// InfoSchema names the JSON form of an Info.
const InfoSchema = "nvmepass.info/1"

// Info is what is to be known of some devices.
type Info struct {
	Schema  string   `json:"schema"`
	Devices []Device `json:"devices"`
}

// Device is one device as it was named.
type Device struct {
	// Path is as given; Kind is "generic", "block" or "controller", and
	// "unknown" where Error says what is wrong.
	Path string `json:"path"`
	Kind string `json:"kind"`
	// Error is empty, or says why nothing is known.
	Error string `json:"error"`
	// Controller is that of a namespace's first path, too.
	Controller *ControllerDetail `json:"controller"`
	// Namespace is nil for a controller.
	Namespace *NamespaceDetail `json:"namespace"`
	// Notes say why something is missing.
	Notes []string `json:"notes"`
}

// ControllerDetail is what Identify Controller says, as far as passthrough
// depends on it. The embedded part comes from sysfs.
type ControllerDetail struct {
	Controller
	// Identified is false if the drive could not be asked: then what follows
	// is empty.
	Identified bool   `json:"identified"`
	Version    string `json:"version"`
	CNTLID     uint16 `json:"cntlid"`
	Type       string `json:"type"`
	VID        uint16 `json:"vid"`
	OUI        string `json:"oui"`
	SUBNQN     string `json:"subnqn"`
	// MDTSBytes is 0 for no limit.
	MDTSBytes     uint64       `json:"mdts_bytes"`
	TotalCapacity nvme.Uint128 `json:"total_capacity_bytes"`
	NN            uint32       `json:"nn"`
	Capabilities  []Word       `json:"capabilities"`
	WriteCache    bool         `json:"volatile_write_cache"`
	// AWUNBlocks and AWUPFBlocks are what is written atomically, in blocks of
	// the namespace's format, in operation and through a power failure.
	AWUNBlocks  uint32 `json:"awun_blocks"`
	AWUPFBlocks uint32 `json:"awupf_blocks"`
	// CommandSets are those that the controller can have on together, one
	// combination each.
	CommandSets []string `json:"command_sets"`
	PowerStates int      `json:"power_states"`
	APST        bool     `json:"apst"`
	Rights      Rights   `json:"rights"`
}

// NamespaceDetail is what a namespace is and what commands to it must keep to.
type NamespaceDetail struct {
	Namespace
	EUI64 string `json:"eui64"`
	NGUID string `json:"nguid"`
	UUID  string `json:"uuid"`
	// CapacityBlocks may be allocated, UsedBlocks are.
	CapacityBlocks uint64      `json:"capacity_blocks"`
	UsedBlocks     uint64      `json:"used_blocks"`
	Formats        []LBAFormat `json:"formats"`
	// MetadataModes and ProtectionTypes are what a format of the namespace
	// could have.
	MetadataModes   []string `json:"metadata_modes"`
	ProtectionTypes []int    `json:"protection_types"`
	Features        []string `json:"features"`
	Atomic          Atomic   `json:"atomic"`
	Preferred       []Value  `json:"preferred"`
	Copy            *Copy    `json:"copy"`
	Zones           *Zones   `json:"zones"`
	Limits          Limits   `json:"limits"`
	Poll            Poll     `json:"poll"`
	Queue           Queue    `json:"queue"`
	Generic         Rights   `json:"generic_rights"`
	Block           Rights   `json:"block_rights"`
}

// LBAFormat is one format that the namespace could have.
type LBAFormat struct {
	Index         int    `json:"index"`
	DataBytes     uint32 `json:"data_bytes"`
	MetadataBytes uint16 `json:"metadata_bytes"`
	// Performance is 0 for the best to 3.
	Performance uint8 `json:"relative_performance"`
	// GuardBits is 0 where the drive does not tell.
	GuardBits int  `json:"guard_bits"`
	InUse     bool `json:"in_use"`
}

// Value is a named number with its unit.
type Value struct {
	Name string `json:"name"`
	// N is in logical blocks.
	N uint64 `json:"blocks"`
}

// Atomic is what is written atomically, in blocks; 0 is not told.
type Atomic struct {
	WriteBlocks        uint32 `json:"write_blocks"`
	PowerFailBlocks    uint32 `json:"power_fail_blocks"`
	CompareWriteBlocks uint32 `json:"compare_and_write_blocks"`
	BoundaryBlocks     uint32 `json:"boundary_blocks"`
	OffsetBlocks       uint32 `json:"boundary_offset_blocks"`
	// OptimalBlocks is the boundary that I/O had better not cross (NOIOB).
	OptimalBlocks uint32 `json:"optimal_io_boundary_blocks"`
	// PerNamespace is false if the controller's values hold.
	PerNamespace bool `json:"per_namespace"`
}

// Copy are the limits of the Copy command.
type Copy struct {
	RangeBlocks   uint32 `json:"range_blocks"`
	CommandBlocks uint32 `json:"command_blocks"`
	Ranges        uint32 `json:"ranges"`
}

// Zones are a zoned namespace's.
type Zones struct {
	SizeBlocks uint64 `json:"size_blocks"`
	Count      uint64 `json:"count"`
	// MaxOpen and MaxActive are 0 for no limit.
	MaxOpen   uint32 `json:"max_open"`
	MaxActive uint32 `json:"max_active"`
	// ExtensionBytes is the size of a zone descriptor extension.
	ExtensionBytes uint32 `json:"descriptor_extension_bytes"`
	// AppendBytes is the most that one append moves, 0 if the limit of other
	// commands holds.
	AppendBytes uint64 `json:"append_bytes"`
}

// Limits are what one command must keep to: see passthru.Limits.
type Limits struct {
	// Known is false if passthrough cannot open the namespace.
	Known bool `json:"known"`
	// MaxTransferBytes and MaxBlocks are the largest command's.
	MaxTransferBytes   uint64 `json:"max_transfer_bytes"`
	MaxBlocks          uint32 `json:"max_blocks"`
	MDTSBytes          uint64 `json:"mdts_bytes"`
	MaxHWSectorsBytes  uint64 `json:"max_hw_sectors_bytes"`
	MaxSegments        int    `json:"max_segments"`
	DMAAlignmentBytes  uint64 `json:"dma_alignment_bytes"`
	MaxSeparateMDBytes uint64 `json:"max_separate_metadata_bytes"`
}

// Poll is how the namespace can be polled.
type Poll struct {
	// Known is false without a block node: then the kernel does not tell.
	Known   bool `json:"known"`
	Enabled bool `json:"enabled"`
	// Count is -1 if sysfs does not show the queues.
	Count int `json:"count"`
	// Parameter is nvme.poll_queues, -1 if not known.
	Parameter int `json:"parameter"`
	// CPUs are those that each poll queue serves.
	CPUs [][]int `json:"cpus"`
}

// Queue are settings of the block node's queue; empty without block node.
type Queue struct {
	Scheduler  string `json:"scheduler"`
	NrRequests int    `json:"nr_requests"`
	IOStats    string `json:"iostats"`
	WriteCache string `json:"write_cache"`
}

// Describe says all that is to be known of a device. What is wrong with the
// name is in Device.Error.
func (s *Source) Describe(path string) Device {
	d := Device{Path: path, Kind: "unknown", Notes: []string{}}
	n, err := s.Node(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("no such device; %s", s.FS.ControllerAdvice())
		}
		d.Error = fmt.Sprintf("%.200s: %v", path, err)
		return d
	}
	switch n.Kind {
	case sysfs.Generic, sysfs.Block:
		s.describeNamespace(&d, n)
	case sysfs.Controller:
		d.Kind = "controller"
		d.Controller = s.detailController(n.Dir)
	default:
		d.Error = fmt.Sprintf("%.200s: it is %s, no NVMe namespace or controller; %s", path, n.What, s.FS.Advice(n))
	}
	return d
}

func (s *Source) detailController(dir string) *ControllerDetail {
	c := &ControllerDetail{Controller: s.controller(dir), Capabilities: []Word{}, CommandSets: []string{}}
	c.Rights = s.Rights(c.Node)
	err := s.ask(c.Node, func(a Asker) error {
		id, err := readController(a)
		if err != nil {
			return err
		}
		c.fill(id)
		c.sets(a)
		if c.Namespaces, err = activeNamespaces(a); err != nil {
			c.Namespaces = []uint32{}
			c.Notes = append(c.Notes, "active namespaces: "+Reason(err))
		}
		return nil
	})
	if err != nil {
		c.Notes = append(c.Notes, "the drive was not asked: "+Reason(err))
	}
	if len(c.Namespaces) == 0 {
		list := s.List()
		for _, other := range list.Controllers {
			if other.Dir == dir {
				c.Namespaces = other.Namespaces
			}
		}
	}
	return c
}

func (c *ControllerDetail) fill(id *nvme.IdentifyController) {
	c.Identified = true
	c.Version, c.CNTLID, c.Type, c.VID, c.OUI, c.SUBNQN = id.VER.String(), id.CNTLID, id.Type(), id.VID, id.OUI(), id.SUBNQN
	c.MDTSBytes = id.MaxDataTransfer(0)
	c.TotalCapacity, c.NN = id.TNVMCAP, id.NN
	c.Capabilities = capabilities(id)
	c.WriteCache = id.VWC.Present()
	c.AWUNBlocks, c.AWUPFBlocks = uint32(id.AWUN)+1, uint32(id.AWUPF)+1
	c.PowerStates, c.APST = len(id.PowerStates), id.APSTA&1 != 0
}

// sets asks which command sets can be on together; older drives have NVM alone
// and no such list.
func (c *ControllerDetail) sets(a Asker) {
	b, err := a.Identify(nvme.CNSCommandSets, nvme.IdentifyOptions{CNTID: c.CNTLID})
	if err != nil {
		return
	}
	combinations, err := nvme.DecodeCommandSets(b)
	if err != nil {
		return
	}
	for _, combination := range combinations {
		text := ""
		for set := range nvme.CommandSet(64) {
			if combination.Has(set) {
				if text != "" {
					text += "+"
				}
				text += set.String()
			}
		}
		if text != "" && !slices.Contains(c.CommandSets, text) {
			c.CommandSets = append(c.CommandSets, text)
		}
	}
}

func (s *Source) describeNamespace(d *Device, node sysfs.Node) {
	d.Kind = "generic"
	if node.Kind == sysfs.Block {
		d.Kind = "block"
	}
	n := &NamespaceDetail{
		Formats: []LBAFormat{}, MetadataModes: []string{}, ProtectionTypes: []int{}, Features: []string{}, Preferred: []Value{},
		Poll: Poll{Count: 0, Parameter: -1, CPUs: [][]int{}},
	}
	for _, found := range s.nodes() {
		if found.GenericDir == node.Dir || found.BlockDir == node.Dir {
			n.Namespace = found
		}
	}
	var controllers []Controller
	for _, dir := range s.FS.ControllerDirs() {
		controllers = append(controllers, s.controller(dir))
	}
	s.place(&n.Namespace, controllers)
	s.identify(&n.Namespace)
	for _, dir := range s.FS.ControllerDirs() {
		if len(n.Controllers) > 0 && sysfs.ReadController(dir).Name == n.Controllers[0] {
			d.Controller = s.detailController(dir)
		}
	}
	if n.Source == "identify" {
		path := cmp.Or(n.Namespace.Generic, n.Namespace.Block)
		if err := s.ask(path, func(a Asker) error { return n.fill(a) }); err != nil {
			d.Notes = append(d.Notes, Reason(err))
		}
	}
	s.settings(d, n)
	d.Namespace = n
}

// settings reads what the kernel, not the drive, decides.
func (s *Source) settings(d *Device, n *NamespaceDetail) {
	pair := sysfs.Pair{Generic: n.Namespace.Generic, GenericDir: n.GenericDir, Block: n.Namespace.Block, BlockDir: n.BlockDir}
	n.Generic, n.Block = s.Rights(pair.Generic), s.Rights(pair.Block)
	q := pair.Limits()
	n.Queue = Queue{Scheduler: q.Scheduler, NrRequests: q.NrRequests}
	if pair.BlockDir != "" {
		n.Queue.IOStats, n.Queue.WriteCache = sysfs.Attr(pair.BlockDir, "queue/iostats"), sysfs.Attr(pair.BlockDir, "queue/write_cache")
	}
	p := s.FS.PollQueues(pair)
	n.Poll = Poll{Known: pair.BlockDir != "", Enabled: p.Enabled, Count: len(p.Queues), Parameter: p.Parameter, CPUs: p.Queues}
	if p.Queues == nil {
		n.Poll.CPUs = [][]int{}
		if p.Enabled {
			n.Poll.Count = -1
		}
	}
	n.Limits = Limits{MaxHWSectorsBytes: q.MaxHWSectorsBytes, MaxSegments: q.MaxSegments}
	if q.DMAAlignment != 0 {
		n.Limits.DMAAlignmentBytes = q.DMAAlignment + 1
	}
	if pair.Generic == "" {
		d.Notes = append(d.Notes, "no generic node, so that passthrough is not possible")
		return
	}
	lim, err := s.Limits(pair.Generic)
	if err != nil {
		d.Notes = append(d.Notes, "limits of a command: "+Reason(err))
		return
	}
	n.Limits.Known = true
	n.Limits.MaxTransferBytes, n.Limits.MaxBlocks, n.Limits.MDTSBytes = lim.MaxTransfer, lim.MaxBlocks, lim.MDTS
	if n.Format.Metadata == "separate" {
		n.Limits.MaxSeparateMDBytes = passthru.MaxMetadata
	}
	if n.Zones != nil {
		n.Zones.AppendBytes = lim.MaxAppend
	}
}

// fill asks the drive for the rest of a namespace.
func (n *NamespaceDetail) fill(a Asker) error {
	id, err := readNamespace(a, n.NSID)
	if err != nil {
		return err
	}
	ns := id.ns
	if id.setDenied {
		id.set, _ = n.sysfsCommandSet()
	}
	n.identifiers(id)
	if id.set != nvme.SetNVM && id.set != nvme.SetZNS {
		return nil
	}
	n.CapacityBlocks, n.UsedBlocks = ns.NCAP, ns.NUSE
	for i, f := range ns.Formats {
		if f.Size() == 0 {
			continue
		}
		out := LBAFormat{Index: i, DataBytes: f.Size(), MetadataBytes: f.MS, Performance: f.RP, InUse: i == ns.FormatIndex()}
		if id.nvm != nil {
			if g, err := id.nvm.Guard(i); err == nil {
				out.GuardBits = 16 << g
			}
		}
		n.Formats = append(n.Formats, out)
	}
	if ns.MC.Extended() {
		n.MetadataModes = append(n.MetadataModes, "extended")
	}
	if ns.MC.Separate() {
		n.MetadataModes = append(n.MetadataModes, "separate")
	}
	for t := nvme.PIType1; t <= nvme.PIType3; t++ {
		if ns.DPC.Type(t) {
			n.ProtectionTypes = append(n.ProtectionTypes, int(t))
		}
	}
	n.Features = features(ns)
	n.Atomic = atomic(ns, id.ctrl)
	n.Preferred = preferred(ns)
	if id.ctrl.ONCS.Copy() {
		n.Copy = &Copy{RangeBlocks: uint32(ns.MSSRL), CommandBlocks: ns.MCL, Ranges: uint32(ns.MSRC) + 1}
	}
	if id.set == nvme.SetZNS {
		return n.zones(a, id)
	}
	return nil
}

func (n *NamespaceDetail) identifiers(id *identity) {
	eui, nguid, uuid := id.ns.EUI64, id.ns.NGUID, nvme.GUID{}
	if id.ids != nil {
		uuid = id.ids.UUID
		if !id.ids.EUI64.IsZero() {
			eui = id.ids.EUI64
		}
		if !id.ids.NGUID.IsZero() {
			nguid = id.ids.NGUID
		}
	}
	if !eui.IsZero() {
		n.EUI64 = eui.String()
	}
	if !nguid.IsZero() {
		n.NGUID = nguid.String()
	}
	if !uuid.IsZero() {
		n.UUID = uuid.UUID()
	}
}

func (n *NamespaceDetail) zones(a Asker, id *identity) error {
	b, err := a.Identify(nvme.CNSSetNamespace, nvme.IdentifyOptions{NSID: n.NSID, CSI: nvme.SetZNS})
	if err != nil {
		return err
	}
	z, err := nvme.DecodeIdentifyZNSNamespace(b)
	if err != nil {
		return err
	}
	i := id.ns.FormatIndex()
	if i >= len(z.Formats) {
		return fmt.Errorf("zones: LBA format %d has no zone size", i)
	}
	f := z.Formats[i]
	n.Zones = &Zones{SizeBlocks: f.ZSZE, MaxOpen: z.MaxOpen(), MaxActive: z.MaxActive(), ExtensionBytes: f.ExtensionSize()}
	if f.ZSZE > 0 {
		n.Zones.Count = n.Blocks / f.ZSZE
	}
	return nil
}
