package consent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/nvme"
	"github.com/nvmepass/nvmepass/passthru"
)

// Request is what a command is about to do to a drive.
type Request struct {
	// Op names it, such as "randwrite" or "format".
	Op string
	// AllowWrite and Force tell whether the two flags were given.
	AllowWrite, Force bool
	// Offset and Length are the bytes of the namespace that it may change;
	// Length 0 is to the end.
	Offset, Length uint64
	// Show receives what is about to be overwritten, nil for nobody.
	Show io.Writer
}

// RefusedError says why a drive is not written to.
type RefusedError struct {
	Op, Path string
	Reasons  []string
}

var _ error = (*RefusedError)(nil)

// Error names every reason and the two ways on.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s on %s: refused, nothing was written: %s; make sure that nothing there is needed, unmount or release it, or add --force-overwrite",
		e.Op, e.Path, strings.Join(e.Reasons, "; "))
}

// Required is the error of a writing command without --allow-write, nil with
// it. Ask before the drive is opened for writing.
func Required(op string, allowWrite bool) error {
	if allowWrite {
		return nil
	}
	return &badflag.Error{Flag: "--allow-write", Problem: op + " destroys data on the drive and was not allowed", Remedy: "add --allow-write if that is meant"}
}

// Hold keeps a namespace from being mounted or held by others until Close.
type Hold struct{ node *os.File }

// Held tells whether the namespace is really held: it is not if it has no block
// node, or is in use and Request.Force was given.
func (h *Hold) Held() bool { return h.node != nil }

// Close lets go. Calling it again does nothing.
func (h *Hold) Close() error {
	if h.node == nil {
		return nil
	}
	err := h.node.Close()
	h.node = nil
	return err
}

// Check shows what would be overwritten and returns a hold on the namespace, or
// a *RefusedError. It reads the drive's first and last blocks, by a descriptor
// of its own, and writes nothing. ctx bounds the reading.
func Check(ctx context.Context, dev *passthru.Device, req Request) (*Hold, error) {
	if err := Required(req.Op, req.AllowWrite); err != nil {
		return nil, err
	}
	s := subject{path: dev.Path(), block: dev.BlockPath(), system: sysfs.System, proc: "/proc"}
	if s.block != "" {
		node, err := sysfs.System.Identify(s.block)
		if err != nil {
			return nil, err
		}
		s.dir = node.Dir
	}
	if set := dev.CommandSet(); set == nvme.SetNVM || set == nvme.SetZNS {
		ends, err := readEnds(ctx, dev.Path())
		if err != nil {
			return nil, err
		}
		s.ends = ends
	}
	if req.Show != nil {
		show(req.Show, dev, &req)
	}
	return s.check(&req)
}

func show(w io.Writer, dev *passthru.Device, req *Request) {
	size := uint64(dev.Size())
	last := size
	if req.Length != 0 {
		last = min(size, req.Offset+req.Length)
	}
	c := dev.Controller()
	_, _ = fmt.Fprintf(w, "%s will overwrite %s: %q, serial %q, namespace %d of %d bytes; bytes %d to %d (%.1f %%)\n",
		req.Op, dev.Path(), strings.TrimSpace(c.MN), strings.TrimSpace(c.SN), dev.NSID(), size,
		req.Offset, last-min(last, 1), 100*float64(last-min(last, req.Offset))/float64(max(size, 1)))
}

// subject is a namespace as the check sees it.
type subject struct {
	path, block string
	dir         string // of the block node in sysfs
	ends        *ends  // nil where there are no blocks
	system      sysfs.FS
	proc        string // where procfs is mounted
}

func (s *subject) check(req *Request) (*Hold, error) {
	hold, reasons := &Hold{}, []string{}
	if s.block == "" {
		if req.Show != nil {
			_, _ = fmt.Fprintf(req.Show, "%s has no block node, so that it cannot be held against use by others meanwhile\n", s.path)
		}
	} else {
		for _, u := range s.system.Uses(s.dir, s.proc) {
			reasons = append(reasons, u.String())
		}
		node, err := os.OpenFile(s.block, os.O_RDONLY|syscall.O_EXCL, 0)
		switch {
		case err == nil:
			hold.node = node
		case !errors.Is(err, syscall.EBUSY):
			if path, ok := errors.AsType[*fs.PathError](err); ok {
				err = sysfs.OpenError(s.block, path.Err)
			}
			return nil, fmt.Errorf("hold %s against use by others: %w", s.block, err)
		case len(reasons) == 0:
			reasons = append(reasons, s.block+" or a partition of it is held by another program")
		}
	}
	if s.ends != nil {
		reasons = append(reasons, s.ends.signatures()...)
	}
	if len(reasons) == 0 {
		return hold, nil
	}
	if !req.Force {
		return nil, errors.Join(&RefusedError{Op: req.Op, Path: s.path, Reasons: reasons}, hold.Close())
	}
	if req.Show != nil {
		_, _ = fmt.Fprintf(req.Show, "--force-overwrite: going on although %s\n", strings.Join(reasons, "; "))
	}
	return hold, nil
}
