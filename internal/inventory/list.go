package inventory

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/nvme"
)

// ListSchema names the JSON form of a List.
const ListSchema = "nvmepass.list/1"

// List is every controller and namespace of a machine.
type List struct {
	Schema      string       `json:"schema"`
	Controllers []Controller `json:"controllers"`
	Namespaces  []Namespace  `json:"namespaces"`
}

// Controller is what sysfs shows of a controller. Empty text is not known.
type Controller struct {
	Name      string `json:"name"`
	Node      string `json:"node"`
	Model     string `json:"model"`
	Serial    string `json:"serial"`
	Firmware  string `json:"firmware"`
	Transport string `json:"transport"`
	Address   string `json:"address"`
	// State is the driver's, such as "live".
	State     string `json:"state"`
	Subsystem string `json:"subsystem"`
	// NUMANode is nil where the controller belongs to none.
	NUMANode *int `json:"numa_node"`
	// Namespaces are the active namespaces by ID.
	Namespaces []uint32 `json:"namespaces"`
	// Notes say why something is missing.
	Notes []string `json:"notes"`

	// Dir is its folder in sysfs.
	Dir string `json:"-"`
}

// Path is one way to a namespace under native multipath.
type Path struct {
	// Name is that of the hidden disk, such as nvme0c1n1.
	Name       string `json:"name"`
	Controller string `json:"controller"`
	Transport  string `json:"transport"`
	Address    string `json:"address"`
	State      string `json:"state"`
	// ANA is the asymmetric access state, "" without that feature.
	ANA string `json:"ana_state"`
}

// Namespace is one namespace. Empty text and zeros are not known.
type Namespace struct {
	NSID uint32 `json:"nsid"`
	// Generic is /dev/ngXnY and Block /dev/nvmeXnY, "" where there is none.
	Generic string `json:"generic"`
	Block   string `json:"block"`
	// Multipath: the nodes are those of the multipath head, and Paths the
	// ways to it.
	Multipath bool   `json:"multipath"`
	Paths     []Path `json:"paths"`
	// Controllers serve the namespace; Model to Address are the first one's.
	Controllers []string `json:"controllers"`
	Subsystem   string   `json:"subsystem"`
	Model       string   `json:"model"`
	Serial      string   `json:"serial"`
	Firmware    string   `json:"firmware"`
	Transport   string   `json:"transport"`
	Address     string   `json:"address"`
	CommandSet  string   `json:"command_set"`
	Blocks      uint64   `json:"blocks"`
	SizeBytes   uint64   `json:"size_bytes"`
	Format      Format   `json:"format"`
	// Source is "identify" if the drive was asked, "sysfs" if only that could
	// be read.
	Source string   `json:"source"`
	Notes  []string `json:"notes"`

	// GenericDir and BlockDir are the nodes' folders in sysfs.
	GenericDir string `json:"-"`
	BlockDir   string `json:"-"`
}

// Format is the layout of a logical block.
type Format struct {
	// Index is the LBA format in use, -1 if not known.
	Index         int    `json:"index"`
	DataBytes     uint32 `json:"data_bytes"`
	MetadataBytes uint32 `json:"metadata_bytes"`
	// Metadata is "none", "extended" (behind the data of each block),
	// "separate" (a buffer of its own) or "" for not known.
	Metadata string `json:"metadata"`
	// ProtectionType is 0 for none; GuardBits, First and StorageTagBits
	// matter only with it.
	ProtectionType int  `json:"protection_type"`
	GuardBits      int  `json:"guard_bits"`
	First          bool `json:"protection_first"`
	StorageTagBits int  `json:"storage_tag_bits"`
}

func formatOf(index int, l nvme.Layout) Format {
	f := Format{Index: index, DataBytes: l.LBASize, MetadataBytes: uint32(l.MetadataSize), Metadata: "none", ProtectionType: int(l.PI)}
	switch {
	case l.MetadataSize > 0 && l.Extended:
		f.Metadata = "extended"
	case l.MetadataSize > 0:
		f.Metadata = "separate"
	}
	if l.PI != nvme.PINone {
		f.GuardBits, f.First, f.StorageTagBits = 16<<l.PIFormat, l.PIFirst, int(l.StorageTagBits)
	}
	return f
}

// List finds everything.
func (s *Source) List() *List {
	l := &List{Schema: ListSchema, Controllers: []Controller{}, Namespaces: []Namespace{}}
	for _, dir := range s.FS.ControllerDirs() {
		l.Controllers = append(l.Controllers, s.controller(dir))
	}
	for _, n := range s.nodes() {
		s.place(&n, l.Controllers)
		s.identify(&n)
		l.Namespaces = append(l.Namespaces, n)
	}
	s.attach(l)
	return l
}

func (s *Source) controller(dir string) Controller {
	info := sysfs.ReadController(dir)
	c := Controller{
		Name: info.Name, Node: s.FS.Node(dir), Model: info.Model, Serial: info.Serial, Firmware: info.Firmware,
		Transport: info.Transport, Address: info.Address, State: sysfs.Attr(dir, "state"),
		Namespaces: []uint32{}, Notes: []string{}, Dir: dir,
	}
	if sub := s.FS.SubsystemOf(dir); sub != "" {
		c.Subsystem = filepath.Base(sub)
	}
	if info.NUMANode >= 0 {
		c.NUMANode = &info.NUMANode
	}
	return c
}

// nodes pairs generic nodes and disks. Who may not open a generic node cannot
// ask for its NSID; then its disk is the one with the same instance number.
func (s *Source) nodes() []Namespace {
	disks := slices.DeleteFunc(s.FS.Disks(), func(d sysfs.Disk) bool { return d.Hidden })
	var out []Namespace
	taken := make([]bool, len(disks))
	for _, g := range s.FS.Namespaces() {
		n := Namespace{Generic: g.Generic, GenericDir: g.GenericDir, Notes: []string{}}
		parent := filepath.Dir(g.GenericDir)
		err := s.ask(g.Generic, func(a Asker) (err error) {
			n.NSID, err = a.NSID()
			return err
		})
		i := slices.IndexFunc(disks, func(d sysfs.Disk) bool {
			if d.Parent() != parent {
				return false
			}
			if err == nil {
				return d.NSID == n.NSID
			}
			return sysfs.SameInstance(filepath.Base(g.GenericDir), d.Name)
		})
		if i >= 0 {
			taken[i] = true
			n.Block, n.BlockDir, n.NSID = disks[i].Node, disks[i].Dir, disks[i].NSID
		}
		if err != nil {
			n.Notes = append(n.Notes, "the drive was not asked: "+Reason(err))
		}
		out = append(out, n)
	}
	for i, d := range disks {
		if !taken[i] {
			out = append(out, Namespace{NSID: d.NSID, Block: d.Node, BlockDir: d.Dir, Notes: []string{"there is no generic node, which needs Linux 5.13"}})
		}
	}
	return out
}

// place tells by which controllers a namespace is reached.
func (s *Source) place(n *Namespace, all []Controller) {
	n.Paths, n.Controllers = []Path{}, []string{}
	dirs := sysfs.Pair{GenericDir: n.GenericDir, BlockDir: n.BlockDir}.Controllers()
	first := true
	for i := range all {
		c := &all[i]
		if !slices.Contains(dirs, c.Dir) {
			continue
		}
		n.Controllers = append(n.Controllers, c.Name)
		if first {
			n.Subsystem, n.Model, n.Serial, n.Firmware, n.Transport, n.Address = c.Subsystem, c.Model, c.Serial, c.Firmware, c.Transport, c.Address
			first = false
		}
		if n.NSID != 0 && !slices.Contains(c.Namespaces, n.NSID) {
			c.Namespaces = append(c.Namespaces, n.NSID)
			slices.Sort(c.Namespaces)
		}
	}
	if n.BlockDir == "" && n.GenericDir == "" {
		return
	}
	parent := filepath.Dir(cmp.Or(n.BlockDir, n.GenericDir))
	n.Multipath = len(dirs) > 0 && !slices.Contains(dirs, parent)
	if !n.Multipath {
		return
	}
	for _, d := range s.FS.Disks() {
		if !d.Hidden || d.NSID != n.NSID || !slices.Contains(dirs, d.Parent()) {
			continue
		}
		c := sysfs.ReadController(d.Parent())
		n.Paths = append(n.Paths, Path{
			Name: d.Name, Controller: c.Name, Transport: c.Transport, Address: c.Address,
			State: sysfs.Attr(d.Parent(), "state"), ANA: sysfs.Attr(d.Dir, "ana_state"),
		})
	}
}

// identify fills in what the drive says of a namespace, or what sysfs does.
func (s *Source) identify(n *Namespace) {
	n.Format.Index = -1
	path := cmp.Or(n.Generic, n.Block)
	err := s.ask(path, func(a Asker) error { return n.learn(a) })
	if err == nil {
		n.Source = "identify"
		return
	}
	if note := "the drive was not asked: " + Reason(err); !slices.Contains(n.Notes, note) {
		n.Notes = append(n.Notes, note)
	}
	n.fromSysfs()
}

// learn asks the drive for size and format.
func (n *Namespace) learn(a Asker) error {
	id, err := readNamespace(a, n.NSID)
	if err != nil {
		return err
	}
	if id.setDenied {
		set, known := n.sysfsCommandSet()
		if id.set = set; !known {
			n.Notes = append(n.Notes, "the command set is not known, since only CAP_SYS_ADMIN may ask for it; it is taken for NVM")
		}
	}
	n.CommandSet = id.set.String()
	n.Blocks = id.ns.NSZE
	if id.set != nvme.SetNVM && id.set != nvme.SetZNS {
		n.Notes = append(n.Notes, fmt.Sprintf("the %s command set has no logical blocks", n.CommandSet))
		return nil
	}
	if id.layoutErr != nil {
		n.Notes = append(n.Notes, id.layoutErr.Error())
		return nil
	}
	n.Format = formatOf(id.ns.FormatIndex(), id.layout)
	n.SizeBytes = sizeOf(n.Blocks, id.layout.LBASize)
	return nil
}

// sizeOf is blocks of size bytes in bytes, clamped to what 64 bits hold.
func sizeOf(blocks uint64, size uint32) uint64 {
	if size != 0 && blocks > ^uint64(0)/uint64(size) {
		return ^uint64(0)
	}
	return blocks * uint64(size)
}

// fromSysfs reads what everybody may know of a namespace with a block node.
func (n *Namespace) fromSysfs() {
	n.Source = "sysfs"
	if n.BlockDir == "" {
		return
	}
	const sector = 512 // the unit of the size attribute
	if size, ok := sysfs.AttrInt(n.BlockDir, "size"); ok && size >= 0 {
		n.SizeBytes = uint64(size) * sector
	}
	if n.SizeBytes == 0 {
		n.Notes = append(n.Notes, "the block layer cannot use the namespace's format, and does not show its size")
	}
	q := sysfs.Pair{BlockDir: n.BlockDir}.Limits()
	n.Format.DataBytes = uint32(q.LogicalBlockSize)
	if q.LogicalBlockSize > 0 {
		n.Blocks = n.SizeBytes / uint64(q.LogicalBlockSize)
	}
	if ms, ok := sysfs.AttrInt(n.BlockDir, "metadata_bytes"); ok && ms >= 0 && ms <= 1<<16-1 { // since Linux 6.8
		n.Format.MetadataBytes = uint32(ms)
		if ms == 0 {
			n.Format.Metadata = "none"
		}
	}
	if set, known := n.sysfsCommandSet(); known {
		n.CommandSet = set.String()
	}
}

// sysfsCommandSet is the command set as sysfs tells it of block nodes: by name
// since Linux 6.8; before that a block node that is not zoned has NVM, since
// the block layer takes no others.
func (n *Namespace) sysfsCommandSet() (set nvme.CommandSet, known bool) {
	if n.BlockDir == "" {
		return nvme.SetNVM, false
	}
	if csi, ok := sysfs.AttrInt(n.BlockDir, "csi"); ok && csi >= 0 && csi < int64(nvme.SetAdmin) {
		return nvme.CommandSet(csi), true
	}
	if (sysfs.Pair{BlockDir: n.BlockDir}).Limits().Zoned {
		return nvme.SetZNS, true
	}
	return nvme.SetNVM, sysfs.Attr(n.BlockDir, "queue/zoned") == "none"
}

// attach asks each controller for its active namespaces, some of which may have
// no node at all.
func (s *Source) attach(l *List) {
	for i := range l.Controllers {
		c := &l.Controllers[i]
		if err := s.ask(c.Node, func(a Asker) error { return s.attachTo(a, l, c) }); err != nil {
			c.Notes = append(c.Notes, "only namespaces with a node are listed: "+Reason(err))
		}
	}
}

func (s *Source) attachTo(a Asker, l *List, c *Controller) error {
	ids, err := activeNamespaces(a)
	if err != nil {
		return err
	}
	for _, id := range ids {
		i := slices.IndexFunc(l.Namespaces, func(n Namespace) bool {
			return n.NSID == id && (slices.Contains(n.Controllers, c.Name) || n.Generic == "" && n.Block == "" && c.Subsystem != "" && n.Subsystem == c.Subsystem)
		})
		if i >= 0 {
			if n := &l.Namespaces[i]; !slices.Contains(n.Controllers, c.Name) {
				n.Controllers = append(n.Controllers, c.Name)
			}
			continue
		}
		n := Namespace{
			NSID: id, Paths: []Path{}, Controllers: []string{c.Name}, Subsystem: c.Subsystem, Model: c.Model, Serial: c.Serial, Firmware: c.Firmware,
			Transport: c.Transport, Address: c.Address, Source: "identify", Format: Format{Index: -1},
			Notes: []string{"the drive has this namespace, the kernel made no node of it: see the kernel log; after attaching it, rescan the controller"},
		}
		if err := n.learn(a); err != nil {
			n.Notes = append(n.Notes, err.Error())
		}
		l.Namespaces = append(l.Namespaces, n)
	}
	c.Namespaces = ids
	return nil
}
