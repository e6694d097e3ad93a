package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/consent"
	"github.com/nvmepass/nvmepass/internal/nvmeioctl"
	"github.com/nvmepass/nvmepass/internal/single"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

const adminExamples = `  nvmepass admin identify /dev/nvme0                             the controller
  nvmepass admin identify /dev/ng0n1                             the namespace
  nvmepass admin identify /dev/nvme0 --cns active-namespaces -o json
  nvmepass admin get-log /dev/nvme0 --log-id smart
  nvmepass admin get-log /dev/nvme0 --log-id 0x05 --raw-binary > effects.bin
  nvmepass admin get-feature /dev/nvme0 --feature-id queues
  nvmepass admin set-feature /dev/nvme0 --feature-id write-cache --value 1 --allow-admin-effects
  nvmepass admin raw --dry-run --opcode 0x80 --namespace-id 1 --cdw10 0x200     a format, not sent`

func newAdmin(stdout io.Writer, stderr *os.File) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "admin SUBCOMMAND",
		Short: "Send one admin command: identify, get-log, get-feature, raw",
		Long: `admin sends one NVMe admin command to a controller and prints what came of it,
decoded where the structure is known. Options have nvme-cli's long names. Admin
commands need root.

DEVICE is a controller (/dev/nvme0), or a node of a namespace, which then is the
one that the command is about. What changes settings, firmware or namespaces needs
--allow-admin-effects; what may destroy data, such as a format, a sanitize or a
vendor's command, needs --allow-write as well, and every namespace that it may
reach is looked at first, as for a write.

It ends with 0; 1 for a wrong option; 2 if the device cannot be used; 3 for an NVMe
status or I/O error; 5 if it was cancelled.`,
		Example: adminExamples,
		RunE:    needSubcommand,
	}
	for _, v := range single.AdminVerbs() {
		cmd.AddCommand(newSingle(v, stdout, stderr))
	}
	return cmd
}

// openController opens the controller of a node; nsid is the node's namespace,
// 0 for a controller's own node.
func openController(device string, cfg *passthru.ControllerConfig) (c *passthru.Controller, nsid uint32, err error) {
	if c, err = passthru.OpenController(device, cfg); err != nil {
		return nil, 0, err
	}
	if c.Mapped() {
		if nsid, err = nvmeioctl.NSIDOf(device); err != nil {
			return nil, 0, errors.Join(err, c.Close())
		}
	}
	return c, nsid, nil
}

// adminConsent is the error of an admin command whose effect was not allowed.
func (f *singleFlags) adminConsent(r *single.Request) error {
	name := r.Command.Opcode.Name(nvme.SetAdmin)
	switch {
	case r.Effect != single.Reads && !f.allowAdmin:
		return &badflag.Error{Flag: "--allow-admin-effects", Problem: name + " changes settings, firmware or namespaces of the controller and was not allowed", Remedy: "add --allow-admin-effects if that is meant"}
	case r.Effect == single.Writes:
		return consent.Required(name, f.allowWrite)
	case r.Effect == single.Reads && f.allowAdmin:
		return &badflag.Error{Flag: "--allow-admin-effects", Problem: name + " changes nothing, so that the flag has no effect", Remedy: "leave it out"}
	case f.allowWrite:
		return &badflag.Error{Flag: "--allow-write", Problem: name + " writes no data, so that the flag has no effect", Remedy: "leave it out"}
	}
	return nil
}

func (s *singleRun) admin(ctx context.Context, device string) (err error) {
	if s.verb.Effect == single.Sets && !s.allowAdmin {
		return s.adminConsent(&single.Request{Set: nvme.SetAdmin, Effect: single.Sets, Command: nvme.Command{Opcode: nvme.AdminSetFeatures}})
	}
	c, nsid, err := openController(device, &passthru.ControllerConfig{Writable: s.allowAdmin, Timeout: time.Duration(s.opts.TimeoutMS) * time.Millisecond})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if s.given("namespace-id") {
		nsid = s.opts.NSID // 0 as well
	}
	t := single.ControllerTarget(c, nsid)
	r, err := s.prepare(ctx, &t)
	if err != nil {
		return err
	}
	if err := s.adminConsent(r); err != nil {
		return err
	}
	if r.Effect == single.Writes {
		holds, herr := s.holdNamespaces(ctx, c, r)
		defer func() {
			for _, h := range holds {
				err = errors.Join(err, h.Close())
			}
		}()
		if herr != nil {
			return herr
		}
	}
	return s.send(r, t.Path, func() (uint64, error) {
		if r.Log == nil {
			return c.Do(ctx, r.Command, r.Data)
		}
		b, err := c.Log(ctx, s.opts.LID, len(r.Data), *r.Log)
		copy(r.Data, b)
		return 0, err
	})
}

// holdNamespaces asks for each namespace that an admin command may reach whether
// it may be overwritten, and holds it.
func (s *singleRun) holdNamespaces(ctx context.Context, c *passthru.Controller, r *single.Request) (holds []*consent.Hold, err error) {
	only := uint32(0) // all of them
	id := c.Identity()
	if n := r.Command.NSID; r.Command.Opcode == nvme.AdminFormatNVM && n != nvme.AllNamespaces && !id.FNA.FormatAll() && !id.FNA.EraseAll() {
		only = n
	}
	name := r.Command.Opcode.Name(nvme.SetAdmin)
	for _, path := range passthru.Namespaces() {
		h, err := s.holdOne(ctx, path, id, only, name)
		if h != nil {
			holds = append(holds, h)
		}
		if err != nil {
			return holds, fmt.Errorf("%s may reach %s: %w", name, path, err)
		}
	}
	return holds, nil
}

// holdOne holds a namespace if it belongs to the subsystem of the controller.
func (s *singleRun) holdOne(ctx context.Context, path string, id *nvme.IdentifyController, only uint32, name string) (hold *consent.Hold, err error) {
	dev, err := passthru.Open(path, &passthru.Config{Depth: 1, AllowIoctl: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	if own := dev.Controller(); own.SUBNQN != id.SUBNQN || own.SN != id.SN || only != 0 && dev.NSID() != only {
		return nil, nil
	}
	return consent.Check(ctx, dev, consent.Request{Op: name, AllowWrite: s.allowWrite, Force: s.force, Show: s.stderr})
}
