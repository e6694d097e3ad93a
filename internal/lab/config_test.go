package lab

import (
	"debug/elf"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// goodConfig is a configuration that passes every check before QEMU starts.
func goodConfig(t *testing.T) Config {
	t.Helper()
	dir := t.TempDir()
	return Config{
		Kernel: writeFile(t, filepath.Join(dir, "vmlinuz"), fakeKernel("6.1.0")),
		Binary: writeFile(t, filepath.Join(dir, "init"), fakeELF(elf.EM_X86_64, elf.ET_EXEC, elf.PT_LOAD)),
		Dir:    dir,
	}
}

func TestNewPlan(t *testing.T) {
	c := goodConfig(t)
	c.Drives = []Drive{{Multipath: true}, {NSIDs: []int{3, 17}}}
	p, err := newPlan(c)
	require.NoError(t, err)
	require.Equal(t, []string{"nvmepass"}, p.spec.Args)
	require.Equal(t, "/init", p.spec.Path)
	require.Equal(t, []guestDrive{{Serial: "lab0", Slots: []int{4, 5}, NSIDs: []int{1}}, {Serial: "lab1", Slots: []int{6}, NSIDs: []int{3, 17}}}, p.spec.Drives)
	require.False(t, p.spec.SendFiles)
	require.Equal(t, DefaultTimeout, p.cfg.Timeout)

	c.Program = []string{"nvmepass", "list", "-o", "json"}
	c.OutDir = c.Dir
	p, err = newPlan(c)
	require.NoError(t, err)
	require.Equal(t, c.Program, p.spec.Args)
	require.True(t, p.spec.SendFiles)

	c.OutDir = ""
	c.Env = []string{"GOCOVERDIR=cov", "X="}
	p, err = newPlan(c)
	require.NoError(t, err)
	require.Equal(t, []string{"GOCOVERDIR=/out/.lab/gocoverdir", "X="}, p.spec.Env)
	require.Equal(t, []collected{{guest: "/out/.lab/gocoverdir", host: filepath.Join(c.Dir, "cov"), dir: true}}, p.collect)
	require.True(t, p.spec.SendFiles)
}

func TestTestTimeoutBoundsTheRun(t *testing.T) {
	c := goodConfig(t)
	c.Program = []string{c.Binary, "-test.timeout=20m"}
	p, err := newPlan(c)
	require.NoError(t, err)
	require.Greater(t, p.cfg.Timeout, 20*time.Minute, "the test binary's own limit comes first")
	require.Less(t, p.cfg.Timeout, 25*time.Minute)
	c.Timeout = time.Minute
	p, err = newPlan(c)
	require.NoError(t, err)
	require.Equal(t, time.Minute, p.cfg.Timeout, "what was asked for stays the limit")
	c.Timeout = time.Hour
	p, err = newPlan(c)
	require.NoError(t, err)
	require.Less(t, p.cfg.Timeout, 25*time.Minute)
}

func TestConfigErrors(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*Config)
		is    error
		says  string
	}{
		"accelerator":       {func(c *Config) { c.Accel = "hvf" }, ErrConfig, "auto, kvm or tcg"},
		"CPUs":              {func(c *Config) { c.CPUs = 65 }, ErrConfig, "1 to 64"},
		"memory":            {func(c *Config) { c.MemoryMiB = 16 }, ErrConfig, "128"},
		"timeout":           {func(c *Config) { c.Timeout = 48 * time.Hour }, ErrConfig, "24h"},
		"negative grace":    {func(c *Config) { c.Grace = -1 }, ErrConfig, "negative"},
		"poll queues":       {func(c *Config) { c.PollQueues = -1 }, ErrConfig, "2047"},
		"kernel arguments":  {func(c *Config) { c.Append = "a\nb" }, ErrConfig, "control characters"},
		"action":            {func(c *Config) { c.Actions = []Verb{VerbPause, "explode"} }, ErrConfig, "pause, throttle, unplug, plug, resize"},
		"drive":             {func(c *Config) { c.Drives = []Drive{{}, {LBA: 3}} }, ErrConfig, "drive 1"},
		"no kernel":         {func(c *Config) { c.Kernel = "/nowhere/vmlinuz" }, ErrNoKernel, "lab-kernels.sh"},
		"not a kernel":      {func(c *Config) { c.Kernel = c.Binary }, ErrKernel, "bzImage"},
		"init not static":   {func(c *Config) { c.Binary = c.Kernel }, ErrBinary, "ELF"},
		"program not there": {func(c *Config) { c.Program = []string{"/nowhere/x.test"} }, ErrBinary, "/nowhere/x.test"},
		"program by name":   {func(c *Config) { c.Program = []string{"ls"} }, ErrConfig, "./ls"},
		"environment":       {func(c *Config) { c.Env = []string{"X"} }, ErrConfig, "NAME=VALUE"},
		"no variable name":  {func(c *Config) { c.Env = []string{"=X"} }, ErrConfig, "NAME=VALUE"},
		"file not there":    {func(c *Config) { c.InFiles = map[string]string{"/nowhere": "/x"} }, ErrConfig, "/nowhere"},
		"relative place":    {func(c *Config) { c.InFiles = map[string]string{c.Kernel: "x"} }, ErrConfig, "absolute"},
		"over init":         {func(c *Config) { c.InFiles = map[string]string{c.Kernel: "/a/../init"} }, ErrConfig, "/init"},
		"below a mount":     {func(c *Config) { c.InFiles = map[string]string{c.Kernel: "/tmp/x"} }, ErrConfig, "mounted over"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := goodConfig(t)
			c.spoil(&cfg)
			_, err := Run(t.Context(), cfg)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestPrepareImage(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "d.img")
	var files openFiles
	defer files.close()
	paths, err := openImages(t.Context(), Drive{File: name, Size: 2 << 20}.withDefaults(), &files)
	require.NoError(t, err)
	require.Equal(t, []string{"/dev/fd/3"}, paths)
	st, err := os.Stat(name)
	require.NoError(t, err)
	require.EqualValues(t, 2<<20, st.Size())

	_, err = openImages(t.Context(), Drive{File: name}.withDefaults(), &files)
	require.ErrorContains(t, err, "in use by another guest")
	files.close()
	files = openFiles{}
	_, err = openImages(t.Context(), Drive{File: name, Size: 4 << 20}.withDefaults(), &files)
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "2097152 bytes")
	_, err = openImages(t.Context(), Drive{File: "/dev/null"}.withDefaults(), &files)
	require.ErrorContains(t, err, "regular file")

	paths, err = openImages(t.Context(), Drive{Backend: BackendMemory, Namespaces: 2}.withDefaults(), &files)
	require.NoError(t, err)
	require.Len(t, paths, 2)
	require.NotEqual(t, paths[0], paths[1])
}

func TestMemoryTooSmall(t *testing.T) {
	c := goodConfig(t)
	big := filepath.Join(c.Dir, "big")
	require.NoError(t, os.WriteFile(big, nil, 0o600))
	require.NoError(t, os.Truncate(big, 40<<20))
	c.InFiles = map[string]string{big: "/big"}
	c.MemoryMiB = 128
	p, err := newPlan(c)
	require.NoError(t, err)
	_, err = p.runOn(t.Context(), "/bin/false", []accelerator{accelTCG})
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "128 MiB of memory")
}

func TestFastClock(t *testing.T) {
	require.False(t, fastClock(3*time.Second, 4*time.Second))
	require.False(t, fastClock(4*time.Second, 4*time.Second), "the guest cannot have booted before QEMU started, but clocks are read one after the other")
	require.True(t, fastClock(40*time.Second, 4*time.Second))
}
