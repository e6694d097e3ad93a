package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
)

// Check finds out whether Write can work, and changes nothing.
func Check(path string) error {
	t, err := resolve(path)
	if err != nil || t.stream {
		return err
	}
	tmp, err := t.create()
	if err != nil {
		return err
	}
	return errors.Join(tmp.Close(), drop(tmp.Name()))
}

// Write has write produce the file. The error of write is returned wrapped; there
// is no file then, or still the old one.
func Write(path string, write func(io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	t, err := resolve(path)
	if err != nil {
		return err
	}
	if t.stream {
		return t.send(write)
	}
	tmp, err := t.create()
	if err != nil {
		return err
	}
	err = errors.Join(write(tmp), tmp.Sync(), tmp.Close())
	if err == nil {
		err = place(tmp.Name(), t.path)
	}
	if err != nil {
		return errors.Join(err, drop(tmp.Name()))
	}
	return nil
}

// target is what a path leads to.
type target struct {
	path string
	// old is the regular file that is there, nil if there is none.
	old fs.FileInfo
	// stream takes bytes as they come.
	stream bool
	// fd is the process's own descriptor that the path names, -1 if none.
	fd int
}

// descriptor is what /dev/stdout and /dev/fd/1 lead to: process and number.
var descriptor = regexp.MustCompile(`^/proc/([0-9]+)/fd/([0-9]+)$`)

// mostLinks is what the kernel follows.
const mostLinks = 40

// resolve follows links by hand: the last one may lead to a file that is not there
// yet, and descriptors of the process are links only by their looks.
func resolve(path string) (target, error) {
	if path == "" {
		return target{}, errors.New("no file is named")
	}
	t := target{path: path, fd: -1}
	for range mostLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(t.path))
		if err != nil {
			return t, err
		}
		t.path = filepath.Join(dir, filepath.Base(t.path))
		if m := descriptor.FindStringSubmatch(t.path); m != nil {
			if m[1] == strconv.Itoa(os.Getpid()) {
				t.fd, _ = strconv.Atoi(m[2])
			}
			t.stream = true
			_, err := os.Stat(t.path)
			return t, err
		}
		fi, err := os.Lstat(t.path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return t, nil
		case err != nil:
			return t, err
		case fi.Mode()&fs.ModeSymlink == 0:
			return t.classify(fi)
		}
		to, err := os.Readlink(t.path)
		if err != nil {
			return t, err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		t.path = to
	}
	return t, errors.New("too many links lead on from it")
}

func (t target) classify(fi fs.FileInfo) (target, error) {
	switch mode := fi.Mode(); {
	case mode.IsRegular():
		t.old = fi
	case mode.IsDir():
		return t, errors.New("it is a folder")
	case mode&fs.ModeNamedPipe != 0:
		t.stream = true
	case mode&fs.ModeCharDevice != 0 && harmless(fi):
		t.stream = true
	default:
		return t, errors.New("it is there and is no regular file, pipe or terminal")
	}
	return t, nil
}

// harmless tells whether a character device is the null device or a terminal, by
// its number: some devices act when they are opened.
func harmless(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	major, minor := st.Rdev>>8&0xfff, st.Rdev&0xff // below the split for large numbers
	switch {
	case st.Rdev>>20 != 0:
		return false
	case major == 1:
		return minor == 3
	}
	return major == 4 || major == 5 || major >= 136 && major <= 143 // Documentation/admin-guide/devices.txt
}

// send writes to what cannot be replaced. Standard output and error are used as
// they are: opened anew, a file behind them would be written from its beginning.
func (t *target) send(write func(io.Writer) error) error {
	switch t.fd {
	case 1:
		return write(os.Stdout)
	case 2:
		return write(os.Stderr)
	}
	f, err := os.OpenFile(t.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// mostTries is how often another name is tried.
const mostTries = 100

// create makes the file that will take the target's place.
func (t *target) create() (tmp *os.File, err error) {
	for range mostTries {
		name := fmt.Sprintf(".%.200s.%08x", filepath.Base(t.path), rand.Uint32())
		tmp, err = begin(filepath.Join(filepath.Dir(t.path), name))
		if !errors.Is(err, os.ErrExist) {
			break
		}
	}
	if err != nil || t.old == nil {
		return tmp, err
	}
	if st, ok := t.old.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		err = tmp.Chown(int(st.Uid), int(st.Gid))
	}
	if err = errors.Join(err, tmp.Chmod(t.old.Mode().Perm())); err != nil {
		return nil, errors.Join(err, tmp.Close(), drop(tmp.Name()))
	}
	return tmp, nil
}
