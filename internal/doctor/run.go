package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nvmepass/nvmepass/internal/inventory"
	"github.com/nvmepass/nvmepass/internal/sysfs"
)

// Run examines the machine and the namespaces of some nodes, all without any. A
// controller stands for its namespaces. An error names a node that is neither.
func (m *Machine) Run(ctx context.Context, paths []string) (*Report, error) {
	list := m.Source.List()
	namespaces, err := m.choose(list, paths)
	if err != nil {
		return nil, err
	}
	r := &Report{Schema: Schema, Kernel: m.Release, Devices: []string{}, Findings: []Finding{}}
	v := m.version()
	for _, check := range []func() []Finding{
		func() []Finding { return m.kernel(v) },
		m.ring, m.memlock, m.processors, m.governor, m.boost, m.idle, m.smt, m.mitigations, m.quota, m.load, m.clocksource, m.debugging, m.virtual,
	} {
		r.Findings = append(r.Findings, check()...)
	}
	// Where the machine itself is in the way, a trial tells nothing more.
	blocked := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Problem })
	if len(namespaces) == 0 {
		r.Findings = append(r.Findings, Finding{
			ID: "namespaces", Severity: Problem, Found: "there is no NVMe namespace", Source: "/sys/class/nvme-generic",
			Why: "there is nothing to run on", Fix: []string{"nvmepass compare --lab", "nvmepass list"},
		})
	}
	for _, n := range namespaces {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.Devices = append(r.Devices, nodeOf(n))
		r.Findings = append(r.Findings, m.namespace(ctx, list, n, v, blocked)...)
	}
	r.finish()
	return r, nil
}

// nodeOf is what a namespace is called.
func nodeOf(n *inventory.Namespace) string {
	switch {
	case n.Generic != "":
		return n.Generic
	case n.Block != "":
		return n.Block
	}
	return fmt.Sprintf("namespace %d of %v", n.NSID, n.Controllers)
}

// choose finds the namespaces of the nodes.
func (m *Machine) choose(list *inventory.List, paths []string) (out []*inventory.Namespace, err error) {
	add := func(n *inventory.Namespace) {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	for i := range list.Namespaces {
		if len(paths) == 0 {
			add(&list.Namespaces[i])
		}
	}
	for _, path := range paths {
		node, nerr := m.Source.Node(path)
		if nerr != nil {
			err = errors.Join(err, fmt.Errorf("%w; %s", nerr, m.Source.FS.Advice(sysfs.Node{})))
			continue
		}
		switch node.Kind {
		case sysfs.Generic, sysfs.Block:
			for i := range list.Namespaces {
				if n := &list.Namespaces[i]; n.GenericDir == node.Dir || n.BlockDir == node.Dir {
					add(n)
				}
			}
		case sysfs.Controller:
			for i := range list.Namespaces {
				if slices.Contains(list.Namespaces[i].Controllers, node.Name) {
					add(&list.Namespaces[i])
				}
			}
		default:
			err = errors.Join(err, fmt.Errorf("%.200s: it is %s, no NVMe namespace or controller; %s", path, node.What, m.Source.FS.Advice(node)))
		}
	}
	return out, err
}

// namespace examines one namespace. The trial comes last, since it tells
// nothing where something is in its way.
func (m *Machine) namespace(ctx context.Context, list *inventory.List, n *inventory.Namespace, v version, blocked bool) []Finding {
	s := &subject{Namespace: n}
	for i := range list.Controllers {
		if slices.Contains(n.Controllers, list.Controllers[i].Name) {
			s.controllers = append(s.controllers, &list.Controllers[i])
		}
	}
	for i := range list.Namespaces {
		if other := &list.Namespaces[i]; slices.ContainsFunc(other.Controllers, func(c string) bool { return slices.Contains(n.Controllers, c) }) {
			s.siblings = append(s.siblings, other)
		}
	}
	var out []Finding
	for _, check := range []func(*subject) []Finding{
		m.nodes, m.rights, m.states, m.pollQueues, m.scheduler, m.accounting, m.merges, m.depth, m.writeCache, m.uses, m.emulated,
		func(s *subject) []Finding { return m.metadata(s, v) },
	} {
		out = append(out, check(s)...)
	}
	for _, c := range s.controllers {
		for _, check := range []func(*inventory.Controller) []Finding{
			m.link, m.aspm, m.iommu, m.numa, m.powerStates,
			func(c *inventory.Controller) []Finding { return m.health(ctx, c) },
		} {
			out = append(out, named(c, len(s.controllers) > 1, check(c))...)
		}
	}
	if !blocked && !slices.ContainsFunc(out, func(f Finding) bool { return f.Severity == Problem && f.ID != "poll-queues" }) {
		out = append(out, m.trial(s)...)
	}
	for i := range out {
		out[i].Device = nodeOf(n)
	}
	return out
}

// named says in each finding which of several controllers it is about.
func named(c *inventory.Controller, several bool, findings []Finding) []Finding {
	for i := range findings {
		if several {
			findings[i].Found = c.Name + ": " + findings[i].Found
		}
	}
	return findings
}

// subject is a namespace with its controllers.
type subject struct {
	*inventory.Namespace
	controllers []*inventory.Controller
	// siblings are all namespaces of these controllers, with itself.
	siblings []*inventory.Namespace
}

// disks are the kernel's names of the disks whose queues take the commands: the
// block node's, or those of the paths.
func (s *subject) disks(m *Machine) []string {
	var names []string
	for _, p := range s.Paths {
		names = append(names, p.Name)
	}
	for _, d := range m.Source.FS.Disks() {
		if len(s.Paths) == 0 && d.Dir == s.BlockDir {
			names = append(names, d.Name)
		}
	}
	return names
}
