package lab

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cavaliergopher/cpio"
)

// initramfs collects what the guest finds in its root file system.
type initramfs struct {
	files map[string]string // guest path -> host path
	data  map[string][]byte // guest path -> contents
	dirs  map[string]bool
}

func newInitramfs() *initramfs {
	return &initramfs{files: map[string]string{}, data: map[string][]byte{}, dirs: map[string]bool{}}
}

// guestClean returns the absolute, cleaned form of a guest path.
func guestClean(p string) string { return path.Clean("/" + p) }

func (r *initramfs) addDir(guest string) {
	for p := guestClean(guest); p != "/"; p = path.Dir(p) {
		r.dirs[p] = true
	}
}

func (r *initramfs) addData(guest string, b []byte) {
	guest = guestClean(guest)
	r.addDir(path.Dir(guest))
	r.data[guest] = b
}

func (r *initramfs) addFile(guest, host string) {
	guest = guestClean(guest)
	r.addDir(path.Dir(guest))
	r.files[guest] = host
}

// addTree adds a file, or a folder with all that is below it. Symbolic links are followed once, at the top.
func (r *initramfs) addTree(guest, host string) error {
	st, err := os.Stat(host)
	if err != nil {
		return err
	}
	if st.Mode().IsRegular() {
		r.addFile(guest, host)
		return nil
	}
	if !st.IsDir() {
		return fmt.Errorf("%s is neither a file nor a folder", host)
	}
	top, err := filepath.EvalSymlinks(host)
	if err != nil {
		return err
	}
	return filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, p)
		if err != nil {
			return err
		}
		to := path.Join(guestClean(guest), filepath.ToSlash(rel))
		switch {
		case e.IsDir():
			r.addDir(to)
		case e.Type().IsRegular():
			r.addFile(to, p)
		case e.Type()&fs.ModeSymlink != 0:
			if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
				r.addFile(to, p)
			}
		}
		return nil
	})
}

func (r *initramfs) addSpec(s guestSpec) error {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	r.addData(specPath, b)
	return nil
}

// size returns about how many bytes the files take, without the archive's headers.
func (r *initramfs) size() (int64, error) {
	var n int64
	for _, b := range r.data {
		n += int64(len(b))
	}
	for name, host := range r.files {
		st, err := os.Stat(host)
		if err != nil {
			return 0, fmt.Errorf("lab: initramfs: %s: %w", name, err)
		}
		n += st.Size()
	}
	return n, nil
}

// writeTo writes the archive, uncompressed: under emulation the guest unpacks slower than QEMU loads.
func (r *initramfs) writeTo(out io.Writer) error {
	buf := bufio.NewWriterSize(out, 1<<20)
	w := cpio.NewWriter(buf)
	for _, d := range slices.Sorted(maps.Keys(r.dirs)) {
		if err := w.WriteHeader(&cpio.Header{Name: strings.TrimPrefix(d, "/"), Mode: cpio.TypeDir | 0o755}); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.data)) {
		b := r.data[name]
		if err := w.WriteHeader(&cpio.Header{Name: strings.TrimPrefix(name, "/"), Mode: cpio.TypeReg | 0o644, Size: int64(len(b))}); err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if err := r.writeFile(w, name); err != nil {
			return fmt.Errorf("lab: initramfs: %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return buf.Flush()
}

func (r *initramfs) writeFile(w *cpio.Writer, name string) error {
	f, err := os.Open(r.files[name])
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() >= 1<<32 {
		return fmt.Errorf("%s has %d bytes, the archive format takes less than 4 GiB; give it to the guest as a drive (backend=file)", r.files[name], st.Size())
	}
	h := &cpio.Header{Name: strings.TrimPrefix(name, "/"), Mode: cpio.TypeReg | cpio.FileMode(st.Mode().Perm()), Size: st.Size()}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	if n, err := io.CopyN(w, f, st.Size()); err != nil {
		return fmt.Errorf("%s: read %d of %d bytes: %w", r.files[name], n, st.Size(), noEOF(err))
	}
	return nil
}
