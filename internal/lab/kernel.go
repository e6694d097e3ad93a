package lab

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// KernelEnv names the environment variable with the path of the kernel image to boot.
const KernelEnv = "NVMEPASS_LAB_KERNEL"

// Kernel is a bootable x86 kernel image.
type Kernel struct {
	// Path of the image.
	Path string
	// Version is what uname -r prints in the guest, read from the image itself.
	Version string
}

// FindKernels returns the usable kernel images of this machine, newest version first: the image that $NVMEPASS_LAB_KERNEL names
// (alone, when it is set), those in the cache that scripts/lab-kernels.sh fills, and those in /boot. Files that are no
// kernel or cannot be read are passed over; a bad $NVMEPASS_LAB_KERNEL and an empty result are errors that wrap ErrNoKernel or ErrKernel.
func FindKernels() ([]Kernel, error) {
	if path := os.Getenv(KernelEnv); path != "" {
		k, err := OpenKernel(path)
		if err != nil {
			return nil, fmt.Errorf("$%s: %w", KernelEnv, err)
		}
		return []Kernel{k}, nil
	}
	var paths []string
	cache := kernelCache()
	if cache != "" {
		found, err := filepath.Glob(filepath.Join(globEscape(cache), "*"))
		if err == nil {
			paths = append(paths, found...)
		}
	}
	if found, err := filepath.Glob("/boot/vmlinuz-*"); err == nil {
		paths = append(paths, found...)
	}
	var kernels []Kernel
	var refused []string
	for _, p := range paths {
		if st, err := os.Stat(p); err != nil || !st.Mode().IsRegular() {
			continue
		}
		k, err := OpenKernel(p)
		if err != nil {
			if errors.Is(err, os.ErrPermission) {
				refused = append(refused, p)
			}
			continue
		}
		kernels = append(kernels, k)
	}
	if len(kernels) == 0 {
		hint := ""
		if len(refused) > 0 {
			hint = fmt.Sprintf(" (not readable by this user: %s)", strings.Join(refused, ", "))
		}
		return nil, fmt.Errorf("%w in %s or /boot/vmlinuz-*%s; run scripts/lab-kernels.sh, or set $%s to a bzImage", ErrNoKernel, cache, hint, KernelEnv)
	}
	slices.SortStableFunc(kernels, func(a, b Kernel) int { return compareVersions(b.Version, a.Version) })
	return kernels, nil
}

// kernelCache is the folder that scripts/lab-kernels.sh fills, or empty without a home folder.
func kernelCache() string {
	base := os.Getenv("XDG_CACHE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "nvmepass", "kernels")
}

// globEscape makes a path safe as the fixed part of a glob pattern.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// OpenKernel reads the version of the kernel image at path. The error wraps ErrKernel when the file is not a bzImage, and
// ErrNoKernel when there is none.
func OpenKernel(path string) (Kernel, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return Kernel{}, fmt.Errorf("%w: %w; run scripts/lab-kernels.sh, or name another image", ErrNoKernel, err)
		}
		return Kernel{}, fmt.Errorf("%w: %w; copy the image to a place where this user can read it", ErrKernel, err)
	}
	defer f.Close()
	v, err := kernelVersion(f)
	if err != nil {
		return Kernel{}, fmt.Errorf("%w: %s: %w; an x86-64 bzImage (vmlinuz) is needed", ErrKernel, path, err)
	}
	return Kernel{Path: path, Version: v}, nil
}

// kernelVersion reads the version from a bzImage: the boot protocol (Documentation/arch/x86/boot.rst) has "HdrS" at 0x202 and at
// 0x20E the offset, less 0x200, of a string that starts with the release.
func kernelVersion(r io.ReaderAt) (string, error) {
	var h [0x240]byte
	if _, err := r.ReadAt(h[:], 0); err != nil {
		return "", fmt.Errorf("no bzImage header: %w", err)
	}
	if !bytes.Equal(h[0x1fe:0x200], []byte{0x55, 0xaa}) || string(h[0x202:0x206]) != "HdrS" {
		return "", errors.New("no bzImage header")
	}
	off := int64(h[0x20e]) | int64(h[0x20f])<<8
	if off == 0 {
		return "", errors.New("the bzImage header holds no version")
	}
	text := make([]byte, 128)
	n, err := r.ReadAt(text, off+0x200)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("version string at %#x: %w", off+0x200, err)
	}
	v, _, _ := strings.Cut(cString(text[:n]), " ")
	if v == "" || v[0] < '0' || v[0] > '9' || strings.ContainsFunc(v, func(c rune) bool { return c <= ' ' || c > '~' || c == '/' }) {
		return "", fmt.Errorf("the version string at %#x is damaged", off+0x200)
	}
	return v, nil
}

// cString returns the text before the first NUL.
func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// compareVersions orders kernel releases: runs of digits by value, the rest as text, and a release candidate before its release.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		an, arest := leadingNumber(a)
		bn, brest := leadingNumber(b)
		if an >= 0 && bn >= 0 {
			if c := cmp.Compare(an, bn); c != 0 {
				return c
			}
			a, b = arest, brest
			continue
		}
		if arc, brc := strings.HasPrefix(a, "-rc"), strings.HasPrefix(b, "-rc"); arc != brc {
			if arc {
				return -1
			}
			return 1
		}
		if c := cmp.Compare(a[0], b[0]); c != 0 {
			return c
		}
		a, b = a[1:], b[1:]
	}
	if strings.HasPrefix(a, "-rc") {
		return -1
	}
	if strings.HasPrefix(b, "-rc") {
		return 1
	}
	return cmp.Compare(len(a), len(b))
}

// leadingNumber splits the digits off the front of s; the number is -1 when there are none.
func leadingNumber(s string) (int, string) {
	i := 0
	for i < len(s) && i < 9 && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, err := strconv.Atoi(s[:i])
	if err != nil {
		return -1, s
	}
	return n, s[i:]
}
