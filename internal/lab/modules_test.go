package lab

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKernelModules(t *testing.T) {
	const version = "6.12.9-amd64"
	root := t.TempDir()
	k := Kernel{Path: writeFile(t, filepath.Join(root, "boot", "vmlinuz-"+version), fakeKernel(version)), Version: version}
	dir := filepath.Join(root, "usr", "lib", "modules", version)
	cmdline := "console=ttyS0 nvme.poll_queues=2 nvme_core.multipath=N nvme-core.io_timeout=5 nvme.x"

	m, err := kernelModules(k, cmdline, newInitramfs())
	require.NoError(t, err)
	require.Empty(t, m, "without a module folder, the driver has to be built in")

	builtin := writeFile(t, filepath.Join(dir, "modules.builtin"), []byte("kernel/drivers/nvme/host/nvme-core.ko\nkernel/drivers/nvme/host/nvme.ko\n"))
	m, err = kernelModules(k, cmdline, newInitramfs())
	require.NoError(t, err)
	require.Empty(t, m)

	writeFile(t, builtin, []byte("kernel/lib/crc-t10dif.ko\n"))
	_, err = kernelModules(k, cmdline, newInitramfs())
	require.ErrorIs(t, err, ErrKernel)
	require.ErrorContains(t, err, "depmod -b "+root+" "+version)

	dep := writeFile(t, filepath.Join(dir, "modules.dep"), []byte("kernel/x.ko.xz:\n"))
	_, err = kernelModules(k, cmdline, newInitramfs())
	require.ErrorIs(t, err, ErrKernel)
	require.ErrorContains(t, err, "no NVMe driver")

	writeFile(t, dep, []byte(`kernel/drivers/nvme/host/nvme-core.ko.xz: kernel/drivers/nvme/common/nvme-auth.ko.xz kernel/block/t10-pi.ko.xz kernel/lib/crc-t10dif.ko.xz kernel/lib/crc64.ko.xz
kernel/drivers/nvme/host/nvme.ko.xz: kernel/drivers/nvme/host/nvme-core.ko.xz kernel/drivers/nvme/common/nvme-auth.ko.xz kernel/block/t10-pi.ko.xz kernel/lib/crc-t10dif.ko.xz kernel/lib/crc64.ko.xz
kernel/arch/x86/crypto/crct10dif_generic.ko.xz:
`))
	_, err = kernelModules(k, cmdline, newInitramfs())
	require.ErrorIs(t, err, ErrKernel, "a module that is listed and not there")

	for _, f := range []string{"kernel/drivers/nvme/host/nvme-core.ko.xz", "kernel/drivers/nvme/host/nvme.ko.xz", "kernel/drivers/nvme/common/nvme-auth.ko.xz",
		"kernel/block/t10-pi.ko.xz", "kernel/lib/crc64.ko.xz", "kernel/arch/x86/crypto/crct10dif_generic.ko.xz"} {
		writeFile(t, filepath.Join(dir, f), []byte("module"))
	}
	r := newInitramfs()
	m, err = kernelModules(k, cmdline, r)
	require.NoError(t, err)
	var names []string
	for _, x := range m {
		names = append(names, x.Name)
		require.True(t, x.Compressed)
		require.Equal(t, x.Name == "crct10dif_generic", x.Optional)
		require.Contains(t, r.files, x.Path)
	}
	require.Equal(t, []string{"crct10dif_generic", "crc64", "t10_pi", "nvme_auth", "nvme_core", "nvme"}, names)
	require.Equal(t, "multipath=N io_timeout=5", m[4].Params)
	require.Equal(t, "poll_queues=2 x", m[5].Params)
}

func TestModuleTreeBesideTheImage(t *testing.T) {
	dir := t.TempDir()
	k := Kernel{Path: writeFile(t, filepath.Join(dir, "modules", "6.1", "vmlinuz"), fakeKernel("6.1")), Version: "6.1"}
	require.Empty(t, moduleTree(k))
	writeFile(t, filepath.Join(dir, "modules", "6.1", "modules.builtin"), nil)
	require.Equal(t, filepath.Join(dir, "modules", "6.1"), moduleTree(k))
}
