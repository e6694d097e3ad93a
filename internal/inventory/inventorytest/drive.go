// Package inventorytest is a drive that answers Identify from memory, and a
// source of such drives on a tree of sysfs.
package inventorytest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/internal/sysfs/sysfstest"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// Format is an LBA format.
type Format struct {
	LBADS uint8
	MS    uint16
}

// Namespace is one namespace of a Drive.
type Namespace struct {
	Blocks    uint64
	Formats   []Format
	FLBAS     uint8 // index of the format, bit 4 for extended metadata
	PI        uint8
	CSI       nvme.CommandSet
	ZoneSize  uint64 // in blocks
	MaxOpen   uint32
	GuardBits int // 64 makes the format one with a 64-bit guard
}

// Drive answers what its namespaces and texts say.
type Drive struct {
	Serial     string
	Namespaces map[uint32]Namespace
	// OldDrive knows no namespace descriptors and command sets.
	OldDrive bool
	// Ordinary: the kernel denies what it denies to those without
	// CAP_SYS_ADMIN.
	Ordinary bool
}

// nodeAsker asks a drive by a node of one namespace, 0 for the controller's.
type nodeAsker struct {
	d    *Drive
	nsid uint32
}

func (a nodeAsker) NSID() (uint32, error) { return a.nsid, nil }
func (a nodeAsker) Close() error          { return nil }

var errInvalidField = errors.New("identify: Invalid Field in Command (sct 0, sc 0x2)")

func (a nodeAsker) Identify(cns nvme.CNS, o nvme.IdentifyOptions) ([]byte, error) {
	b := make([]byte, nvme.IdentifySize)
	le := binary.LittleEndian
	if a.d.Ordinary && !slices.Contains([]nvme.CNS{nvme.CNSNamespace, nvme.CNSController, nvme.CNSSetNamespace, nvme.CNSSetController}, cns) {
		return nil, fmt.Errorf("identify: %w", syscall.EACCES)
	}
	ns, known := a.d.Namespaces[o.NSID]
	switch cns {
	case nvme.CNSController:
		a.d.controller(b)
	case nvme.CNSActiveNamespaces:
		at := 0
		for id := o.NSID + 1; id < 100; id++ {
			if _, ok := a.d.Namespaces[id]; ok {
				le.PutUint32(b[at:], id)
				at += 4
			}
		}
	case nvme.CNSNamespace:
		if known {
			ns.identify(b)
		}
	case nvme.CNSNamespaceDescriptors:
		if a.d.OldDrive {
			return nil, errInvalidField
		}
		b[0], b[1] = 1, 8
		le.PutUint64(b[4:], 0x0100000000000000|uint64(o.NSID))
		b[12], b[13], b[16] = 4, 1, byte(ns.CSI)
	case nvme.CNSCommandSets:
		if a.d.OldDrive {
			return nil, errInvalidField
		}
		le.PutUint64(b, 1|1<<nvme.SetZNS)
	case nvme.CNSSetNamespace:
		ns.identifySet(b, o.CSI)
	default:
		return nil, errInvalidField
	}
	return b, nil
}

func (d *Drive) controller(b []byte) {
	le := binary.LittleEndian
	copy(b[4:24], fmt.Sprintf("%-20s", d.Serial))
	copy(b[24:64], fmt.Sprintf("%-40s", "ACME Drive 1000"))
	copy(b[64:72], fmt.Sprintf("%-8s", "1.0"))
	le.PutUint16(b, 0x1234)
	b[73], b[74], b[75] = 0xfe, 0x53, 0x00
	b[76], b[77] = 2, 5 // several controllers, MDTS 128 KiB
	le.PutUint16(b[78:], 3)
	le.PutUint32(b[80:], 0x20000)
	le.PutUint32(b[96:], 1<<15) // extended LBA formats
	b[111] = 1
	le.PutUint16(b[256:], 0x0a)
	b[261], b[263], b[265] = 7, 1, 1
	le.PutUint16(b[266:], 343)
	le.PutUint16(b[268:], 353)
	le.PutUint64(b[280:], 3200631791616)
	le.PutUint32(b[516:], 32)
	le.PutUint16(b[520:], 0x15d)
	b[522], b[525] = 1, 1
	le.PutUint16(b[526:], 127)
	copy(b[768:], "nqn.2024-01.com.acme:"+d.Serial)
}

func (n Namespace) identify(b []byte) {
	le := binary.LittleEndian
	le.PutUint64(b, n.Blocks)
	le.PutUint64(b[8:], n.Blocks)
	le.PutUint64(b[16:], n.Blocks/2)
	b[24] = 1<<1 | 1<<4 // atomic units and preferred sizes of its own
	b[25] = byte(len(n.Formats) - 1)
	b[26], b[27], b[28], b[29], b[33] = n.FLBAS, 3, 0x1f, n.PI, 1
	le.PutUint16(b[34:], 15)
	le.PutUint16(b[36:], 7)
	le.PutUint16(b[46:], 256)
	le.PutUint16(b[64:], 7)
	le.PutUint16(b[74:], 64)
	le.PutUint32(b[76:], 1024)
	b[80] = 15
	for i, f := range n.Formats {
		le.PutUint32(b[128+4*i:], uint32(f.MS)|uint32(f.LBADS)<<16)
	}
}

func (n Namespace) identifySet(b []byte, csi nvme.CommandSet) {
	le := binary.LittleEndian
	if csi == nvme.SetZNS {
		le.PutUint32(b[4:], 0xffffffff)
		le.PutUint32(b[8:], n.MaxOpen-1)
		for i := range n.Formats {
			le.PutUint64(b[2816+16*i:], n.ZoneSize)
		}
		return
	}
	if n.GuardBits == 64 {
		for i := range n.Formats {
			le.PutUint32(b[12+4*i:], uint32(nvme.Guard64)<<7)
		}
	}
}

// Denied is the error of a node that may not be opened.
func Denied(node string) error {
	return &sysfs.NodeError{Path: node, Mode: os.ModeDevice | os.ModeCharDevice | 0o600, User: 1000, Err: syscall.EACCES}
}

// Source answers for the nodes of a tree. nodes gives the drive and namespace
// of each node, 0 for a controller's; others may not be opened.
func Source(x *sysfstest.Tree, nodes map[string]Node) *inventory.Source {
	return &inventory.Source{
		FS: x.FS,
		Open: func(path string) (inventory.Asker, error) {
			if n, ok := nodes[path]; ok {
				return nodeAsker{n.Drive, n.NSID}, nil
			}
			return nil, Denied(path)
		},
		Limits: func(path string) (passthru.Limits, error) {
			if _, ok := nodes[path]; !ok {
				return passthru.Limits{}, Denied(path)
			}
			return passthru.Limits{MaxTransfer: 128 << 10, MaxBlocks: 256, MDTS: 128 << 10, MaxAppend: 64 << 10}, nil
		},
		Node: x.Node,
		Rights: func(path string) inventory.Rights {
			r := inventory.Rights{Path: path}
			if path == "" {
				return r
			}
			r.Mode = map[bool]string{true: "brw-------", false: "crw-------"}[strings.HasPrefix(filepath.Base(path), "nvme") && strings.Count(filepath.Base(path), "n") == 2]
			if _, ok := nodes[path]; !ok {
				r.Reason = inventory.Reason(Denied(path))
				return r
			}
			r.Read, r.Write, r.SysAdmin = true, true, true
			return r
		},
	}
}

// Node is what stands behind a node.
type Node struct {
	Drive *Drive
	NSID  uint32
}
