package lab

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// extraModules help drives with protection information where they are not built in: checksum code that the kernel asks for by an alias,
// which the guest has no modprobe to resolve.
var extraModules = []string{"crct10dif_common", "crct10dif_generic", "crc64_rocksoft_generic"}

// kernelModules returns the modules that the guest has to load for NVMe, in order, and adds them to the initramfs. There
// are none when the driver is built in, or when no module folder lies beside the image (the guest then tells whether
// the driver was there).
func kernelModules(k Kernel, cmdline string, r *initramfs) ([]guestModule, error) {
	dir := moduleTree(k)
	if dir == "" {
		return nil, nil
	}
	builtin, err := readBuiltin(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: list of built-in modules: %w", ErrKernel, k.Path, err)
	}
	if builtin["nvme"] && builtin["nvme_core"] {
		return nil, nil
	}
	b, err := os.ReadFile(filepath.Join(dir, "modules.dep"))
	if err != nil {
		root := strings.TrimSuffix(strings.TrimSuffix(dir, "/lib/modules/"+k.Version), "/usr")
		return nil, fmt.Errorf("%w: %s has NVMe as a module and the order to load it in is missing: %w; run depmod -b %s %s", ErrKernel, k.Path, err, root, k.Version)
	}
	deps := parseModulesDep(string(b))
	if _, ok := deps["nvme"]; !ok {
		return nil, fmt.Errorf("%w: %s has no NVMe driver, neither built in nor in %s; use another kernel, see scripts/lab-kernels.sh", ErrKernel, k.Path, dir)
	}
	var modules []guestModule
	seen := map[string]bool{}
	add := func(file string, optional bool) error {
		name := moduleName(file)
		if seen[name] || builtin[name] {
			return nil
		}
		seen[name] = true
		compressed := !strings.HasSuffix(file, ".ko")
		host := filepath.Join(dir, filepath.FromSlash(file))
		if _, err := os.Stat(host); err != nil {
			return fmt.Errorf("%w: %s: module %s: %w", ErrKernel, k.Path, name, err)
		}
		guest := path.Join(moduleDir, path.Base(file))
		r.addFile(guest, host)
		modules = append(modules, guestModule{Name: name, Path: guest, Params: moduleParams(cmdline, name), Compressed: compressed, Optional: optional})
		return nil
	}
	for _, name := range append(slices.Clone(extraModules), "nvme_core", "nvme") {
		m, ok := deps[name]
		if !ok {
			continue
		}
		optional := slices.Contains(extraModules, name)
		// A module's line lists what it needs, the innermost last.
		for _, file := range slices.Backward(m.needs) {
			if err := add(file, optional); err != nil {
				return nil, err
			}
		}
		if err := add(m.file, optional); err != nil {
			return nil, err
		}
	}
	return modules, nil
}

// moduleTree finds the module folder that belongs to an image: the image's own folder, or lib/modules below its root.
func moduleTree(k Kernel) string {
	image, err := filepath.EvalSymlinks(k.Path)
	if err != nil {
		image = k.Path
	}
	image, err = filepath.Abs(image)
	if err != nil {
		return ""
	}
	here := filepath.Dir(image)
	root := filepath.Dir(here)
	for _, dir := range []string{
		here,
		filepath.Join(root, "lib", "modules", k.Version),
		filepath.Join(root, "usr", "lib", "modules", k.Version),
	} {
		if _, err := os.Stat(filepath.Join(dir, "modules.builtin")); err == nil {
			return dir
		}
	}
	return ""
}

// moduleFile is one line of modules.dep.
type moduleFile struct {
	file  string
	needs []string
}

func parseModulesDep(text string) map[string]moduleFile {
	deps := map[string]moduleFile{}
	for line := range strings.Lines(text) {
		file, needs, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		deps[moduleName(file)] = moduleFile{file: file, needs: strings.Fields(needs)}
	}
	return deps
}

func readBuiltin(file string) (map[string]bool, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		names[moduleName(strings.TrimSpace(line))] = true
	}
	return names, nil
}

// moduleName is the name the kernel uses: no folder, no .ko, no compression suffix, underscores.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// moduleParams picks the parameters of a module from a kernel command line, as modprobe does.
func moduleParams(cmdline, module string) string {
	var params []string
	for arg := range strings.FieldsSeq(cmdline) {
		if name, param, ok := strings.Cut(arg, "."); ok && strings.ReplaceAll(name, "-", "_") == module {
			params = append(params, param)
		}
	}
	return strings.Join(params, " ")
}
