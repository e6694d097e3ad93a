package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/units"
)

// openFiles collects the files that QEMU inherits.
type openFiles struct {
	files []*os.File
}

// add returns the path under which QEMU opens f.
func (o *openFiles) add(f *os.File) string {
	o.files = append(o.files, f)
	return fmt.Sprintf("/dev/fd/%d", o.lastFD())
}

// lastFD is the descriptor in QEMU of the file that was added last.
func (o *openFiles) lastFD() int { return 2 + len(o.files) }

func (o *openFiles) close() {
	for _, f := range o.files {
		// Nothing is written through these descriptors.
		_ = f.Close()
	}
}

// memoryFolder is where Linux keeps files in memory.
const memoryFolder = "/dev/shm"

// unnamedFile makes an empty file that no name leads to, so that it is gone when its last user is. It is in memory where that has
// room for size bytes (containers often have 64 MiB there), else in the folder for temporary files.
func unnamedFile(size int64) (*os.File, error) {
	dir := ""
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memoryFolder, &fs); err == nil && int64(fs.Bavail) > size/fs.Bsize {
		dir = memoryFolder
	}
	f, err := os.CreateTemp(dir, "nvmepass-lab-")
	if err != nil && dir != "" {
		f, err = os.CreateTemp("", "nvmepass-lab-")
	}
	if err != nil {
		return nil, fmt.Errorf("lab: temporary file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("lab: temporary file: %w", err), f.Close())
	}
	return f, nil
}

// openImages opens or makes the backing store of every namespace of a drive, and returns the paths under which QEMU opens them.
func openImages(ctx context.Context, d Drive, files *openFiles) ([]string, error) {
	images := make([]string, d.Namespaces)
	if d.Backend == BackendNull {
		return images, nil
	}
	for i := range images {
		var f *os.File
		var err error
		if d.Backend == BackendMemory {
			f, err = unnamedFile(d.Size)
		} else {
			f, err = openDriveFile(d.File)
		}
		if err != nil {
			return nil, err
		}
		p := files.add(f)
		if err := prepareImage(ctx, f, d); err != nil {
			return nil, err
		}
		images[i] = p
	}
	return images, nil
}

// openDriveFile opens a drive's file and takes a lock on it, so that two guests never write the same image.
func openDriveFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lab: drive file: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("lab: drive file %s is not a regular file; the lab never touches real devices", name)
	}
	if err == nil {
		if e := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); e != nil {
			err = fmt.Errorf("lab: drive file %s is in use by another guest: %w", name, e)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// prepareImage gives an empty file its size and format, and checks one that has contents.
func prepareImage(ctx context.Context, f *os.File, d Drive) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	size := d.Size
	if st.Size() > 0 {
		if d.Format == FormatRaw && size != 0 && st.Size() != size {
			return &DriveError{Option: "size", Value: units.FormatSize(size), Problem: fmt.Sprintf("%s has %d bytes; leave size out, or name another file", d.File, st.Size())}
		}
		return nil
	}
	if size == 0 {
		size = defaultDriveSize
	}
	if d.Format == FormatRaw {
		if err := f.Truncate(size); err != nil {
			return fmt.Errorf("lab: drive of %s: %w; use format=qcow2 for sizes that the file system does not take", units.FormatSize(size), err)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-img", "create", "-q", "-f", "qcow2", "/dev/fd/3", fmt.Sprint(size))
	cmd.ExtraFiles = []*os.File{f}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w: format=qcow2 needs qemu-img: %w; install the package qemu-utils", ErrNoQEMU, err)
	}
	if err != nil {
		return fmt.Errorf("lab: qemu-img create for %s: %w: %s", filepath.Base(f.Name()), err, strings.TrimSpace(string(out)))
	}
	return nil
}
