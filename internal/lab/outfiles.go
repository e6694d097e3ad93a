package lab

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// packOut writes the regular files and folders below dir as a tar stream; other kinds of file stay behind.
func packOut(w io.Writer, dir string) error {
	t := tar.NewWriter(w)
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil || rel == "." {
			return err
		}
		if e.IsDir() {
			return t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: filepath.ToSlash(rel) + "/", Mode: 0o755})
		}
		if !e.Type().IsRegular() {
			return nil
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			return err
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(rel), Mode: int64(st.Mode().Perm()), Size: st.Size(), ModTime: st.ModTime()}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err = io.CopyN(t, f, st.Size())
		return err
	})
	if err != nil {
		return err
	}
	return t.Close()
}

// unpackOut stores the guest's /out: what falls under one of collect goes to its place on the host, the rest below outDir, or nowhere
// when that is empty. No entry can leave the folder it belongs to.
func unpackOut(r io.Reader, outDir string, collect []collected) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			// The padding behind the last entry is part of the stream.
			_, err = io.Copy(io.Discard, r)
			return err
		}
		if err != nil {
			return fmt.Errorf("lab: files from the guest: %w", err)
		}
		if err := unpackEntry(t, h, outDir, collect); err != nil {
			return fmt.Errorf("lab: file %s from the guest: %w", h.Name, err)
		}
	}
}

func unpackEntry(r io.Reader, h *tar.Header, outDir string, collect []collected) error {
	name := path.Clean(h.Name)
	if !filepath.IsLocal(name) {
		return errors.New("the name leaves the folder; refused")
	}
	dir, rel := outDir, name
	guest := path.Join(guestOut, name)
	for _, c := range collect {
		if c.dir {
			if guest == c.guest {
				dir, rel = c.host, "."
			} else if below, ok := strings.CutPrefix(guest, c.guest+"/"); ok {
				dir, rel = c.host, below
			}
		} else if guest == c.guest {
			dir, rel = filepath.Dir(c.host), filepath.Base(c.host)
		}
	}
	if dir == outDir && (guest == testOut || strings.HasPrefix(guest, testOut+"/")) || dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if h.Typeflag == tar.TypeDir {
		return root.MkdirAll(rel, 0o755)
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	if err := root.MkdirAll(path.Dir(rel), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(rel, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, fs.FileMode(h.Mode).Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
