package sysfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Pair is a namespace's two nodes. Either may be missing: a namespace whose
// command set or format the block layer does not support has no block node,
// and kernels before 5.13 have no generic one.
type Pair struct {
	Generic, GenericDir string
	Block, BlockDir     string
}

// PairOf finds the other node of the namespace: the sibling under the same
// controller or subsystem with the same NSID. nsidOf asks a generic node for
// its NSID, which sysfs does not tell; it opens the node.
func (f FS) PairOf(n Node, nsidOf func(generic string) (uint32, error)) (Pair, error) {
	parent := filepath.Dir(n.Dir)
	switch n.Kind {
	case Generic:
		p := Pair{Generic: f.devNode(n.Dir), GenericDir: n.Dir}
		nsid, err := nsidOf(n.Path)
		if err != nil {
			return p, err
		}
		for _, dir := range disks(parent) {
			if id, ok := number(dir, "nsid"); ok && id == int64(nsid) {
				p.Block, p.BlockDir = f.devNode(dir), dir
			}
		}
		return p, nil
	case Block:
		p := Pair{Block: f.devNode(n.Dir), BlockDir: n.Dir}
		id, ok := number(n.Dir, "nsid")
		if !ok {
			return p, fmt.Errorf("find the generic node of %s: sysfs does not tell its NSID (%s)", n.Path, filepath.Join(n.Dir, "nsid"))
		}
		var refused error // of a sibling, which may be the one looked for
		for _, name := range children(parent) {
			dir := filepath.Join(parent, name)
			if subsystem(dir) != "nvme-generic" {
				continue
			}
			node := f.devNode(dir)
			nsid, err := nsidOf(node)
			if err != nil {
				refused = errors.Join(refused, err)
				continue
			}
			if int64(nsid) == id {
				p.Generic, p.GenericDir = node, dir
				return p, nil
			}
		}
		return p, refused
	}
	return Pair{}, fmt.Errorf("find the nodes of %s: it is %s, not a namespace", n.Path, n.What)
}

// disks lists the visible NVMe disks below a controller or subsystem.
func disks(parent string) []string {
	var dirs []string
	for _, name := range children(parent) {
		dir := filepath.Join(parent, name)
		if fi, err := os.Lstat(dir); err != nil || !fi.IsDir() || subsystem(dir) != "block" || text(dir, "hidden") == "1" {
			continue
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// hardwareDirs are the disks that own hardware queues: the block node itself,
// or with native multipath the hidden path nodes of its controllers.
func (p Pair) hardwareDirs() []string {
	if len(children(filepath.Join(p.BlockDir, "mq"))) > 0 {
		return []string{p.BlockDir}
	}
	nsid := text(p.BlockDir, "nsid")
	subsys := filepath.Dir(p.BlockDir)
	var dirs []string
	for _, name := range children(subsys) {
		ctrl, err := filepath.EvalSymlinks(filepath.Join(subsys, name))
		if err != nil || subsystem(ctrl) != "nvme" {
			continue
		}
		for _, child := range children(ctrl) {
			dir := filepath.Join(ctrl, child)
			if subsystem(dir) == "block" && text(dir, "nsid") == nsid && len(children(filepath.Join(dir, "mq"))) > 0 {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// Controllers are the sysfs folders of the controllers that serve the
// namespace; several with native multipath.
func (p Pair) Controllers() []string {
	dir := p.BlockDir
	if dir == "" {
		dir = p.GenericDir
	}
	parent := filepath.Dir(dir)
	if subsystem(parent) == "nvme" {
		return []string{parent}
	}
	var ctrls []string
	for _, name := range children(parent) {
		if ctrl, err := filepath.EvalSymlinks(filepath.Join(parent, name)); err == nil && subsystem(ctrl) == "nvme" {
			ctrls = append(ctrls, ctrl)
		}
	}
	return ctrls
}

// ControllerInfo is what sysfs says of a controller.
type ControllerInfo struct {
	Name, Model, Serial, Firmware, Transport, Address string
	// NUMANode is -1 where the device belongs to none.
	NUMANode int
}

// ReadController reads a controller's attributes.
func ReadController(dir string) ControllerInfo {
	c := ControllerInfo{
		Name: filepath.Base(dir), Model: text(dir, "model"), Serial: text(dir, "serial"), Firmware: text(dir, "firmware_rev"),
		Transport: text(dir, "transport"), Address: text(dir, "address"), NUMANode: -1,
	}
	if n, ok := number(dir, "numa_node"); ok {
		c.NUMANode = int(n)
	}
	return c
}

// QueueLimits are a block queue's limits and settings; 0 or "" is not known.
type QueueLimits struct {
	MaxHWSectorsBytes uint64
	MaxSegments       int
	LogicalBlockSize  int
	DMAAlignment      uint64 // a mask: an address with any of these bits is bounced
	NrRequests        int
	Scheduler         string // the one in use
	IOStats           bool
	Zoned             bool
}

// Limits reads the queue attributes of the namespace's block node.
func (p Pair) Limits() QueueLimits {
	dir := filepath.Join(p.BlockDir, "queue")
	var q QueueLimits
	if p.BlockDir == "" {
		return q
	}
	if n, ok := number(dir, "max_hw_sectors_kb"); ok && n > 0 {
		q.MaxHWSectorsBytes = uint64(n) * 1024
	}
	if n, ok := number(dir, "max_segments"); ok {
		q.MaxSegments = int(n)
	}
	if n, ok := number(dir, "logical_block_size"); ok {
		q.LogicalBlockSize = int(n)
	}
	if n, ok := number(dir, "dma_alignment"); ok {
		q.DMAAlignment = uint64(n)
	}
	if n, ok := number(dir, "nr_requests"); ok {
		q.NrRequests = int(n)
	}
	q.IOStats = text(dir, "iostats") == "1"
	q.Zoned = strings.HasPrefix(text(dir, "zoned"), "host-")
	for name := range strings.FieldsSeq(text(dir, "scheduler")) {
		if s, ok := strings.CutPrefix(name, "["); ok {
			q.Scheduler = strings.TrimSuffix(s, "]")
		}
	}
	if q.Scheduler == "" {
		q.Scheduler = text(dir, "scheduler")
	}
	return q
}
