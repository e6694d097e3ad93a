package sysfs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDisks(t *testing.T) {
	x, ctrl, _, disk := plain(t)
	x.disk(ctrl, "nvme0n2", 7, "junk")
	x.device("devices/virtual/block/loop0", "block", "block", "7:0", "loop0")
	x.attr("devices/x/nvme0n1p1/partition", "1")
	x.link("class/block/nvme0n1p1", "devices/x/nvme0n1p1")
	got := x.Disks()
	require.Len(t, got, 2, "%+v", got)
	require.Equal(t, Disk{Name: "nvme0n1", Dir: x.path(disk), Node: "/dev/nvme0n1", NSID: 1}, got[0])
	require.Zero(t, got[1].NSID)
	require.Equal(t, x.path(ctrl), got[0].Parent())
	require.Equal(t, []string{x.path(ctrl)}, x.ControllerDirs())
	require.Empty(t, x.SubsystemOf(x.path(ctrl)))

	m, subsys, paths := multipath(t)
	got = m.Disks()
	require.Len(t, got, 3)
	hidden := 0
	for _, d := range got {
		if d.Hidden {
			hidden++
			require.Empty(t, d.Node)
			require.Contains(t, []string{m.path(paths[0]), m.path(paths[1])}, d.Dir)
		}
	}
	require.Equal(t, 2, hidden)
	m.link("class/nvme-subsystem/nvme-subsys0", subsys)
	for _, dir := range m.ControllerDirs() {
		require.Equal(t, m.path(subsys), m.SubsystemOf(dir))
	}
	empty := newTree(t)
	require.Empty(t, empty.Disks())
	require.Empty(t, empty.ControllerDirs())
}

func TestSameInstance(t *testing.T) {
	require.True(t, SameInstance("ng0n1", "nvme0n1"))
	require.True(t, SameInstance("ng10n12", "nvme10n12"))
	require.False(t, SameInstance("ng0n1", "nvme0n11"))
	require.False(t, SameInstance("ng0n1", "nvme1n1"))
}

func TestAttributes(t *testing.T) {
	x, ctrl, _, disk := plain(t)
	require.Equal(t, "lab0", Attr(x.path(ctrl), "serial"))
	require.Empty(t, Attr(x.path(ctrl), "none"))
	n, ok := AttrInt(x.path(disk), "nsid")
	require.True(t, ok)
	require.EqualValues(t, 1, n)
	_, ok = AttrInt(x.path(ctrl), "serial")
	require.False(t, ok)
	require.Equal(t, x.path(ctrl), x.Resolve("class", "nvme", "nvme0"))
	require.Empty(t, x.Resolve("class", "nvme", "nvme9"))
	require.Equal(t, "/dev/nvme0", x.Node(x.path(ctrl)))
	require.Contains(t, Children(x.path(ctrl)), "nvme0n1")
}

func TestPCILink(t *testing.T) {
	x, ctrl, _, _ := plain(t)
	_, ok := ReadPCILink(x.path(ctrl))
	require.False(t, ok, "no attributes")
	pci := "devices/pci0000:00/0000:00:01.0/"
	x.attr(pci+"current_link_speed", "8.0 GT/s PCIe")
	x.attr(pci+"max_link_speed", "16.0 GT/s PCIe")
	x.attr(pci+"current_link_width", "4")
	x.attr(pci+"max_link_width", "4")
	l, ok := ReadPCILink(x.path(ctrl))
	require.True(t, ok)
	require.Equal(t, PCILink{Dir: x.path(pci[:len(pci)-1]), Speed: 8, MaxSpeed: 16, Width: 4, MaxWidth: 4}, l)
	x.attr("devices/pci0000:00/max_link_speed", "8 GT/s")
	x.attr("devices/pci0000:00/max_link_width", "16")
	l, _ = ReadPCILink(x.path(ctrl))
	require.Equal(t, 8.0, l.PortSpeed)
	require.Equal(t, 16, l.PortWidth)
	for attr, junk := range map[string]string{"current_link_speed": "Unknown", "current_link_width": "255"} {
		old := Attr(x.path(pci), attr)
		x.attr(pci+attr, junk)
		_, ok = ReadPCILink(x.path(ctrl))
		require.False(t, ok, junk)
		x.attr(pci+attr, old)
	}
	_, ok = ReadPCILink(x.path("nowhere"))
	require.False(t, ok)
}

func TestUses(t *testing.T) {
	x, _, _, disk := plain(t)
	uses := func() []Use { return x.Uses(x.path(disk), x.path("proc")) }
	require.Empty(t, uses())
	require.Empty(t, x.Uses("", x.path("proc")))

	x.attr(disk+"/dev", "259:0")
	x.attr("proc/self/mountinfo", "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\nshort\n23 1 8:2 / /x rw -")
	x.attr("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2")
	require.Empty(t, uses(), "of others")

	part := disk + "/nvme0n1p1"
	x.attr(part+"/partition", "1")
	x.attr(part+"/dev", "259:1")
	dm := "devices/virtual/block/dm-0"
	x.attr(dm+"/dm/name", "vg-data")
	x.attr(dm+"/dev", "253:0")
	x.link("class/block/dm-0", dm)
	x.link(part+"/holders/dm-0", dm)
	x.link(dm+"/holders/dm-0", dm) // in a circle
	x.attr("proc/self/mountinfo",
		"30 1 253:0 / /srv/a\\040b rw - xfs /dev/mapper/vg-data rw\n"+
			"31 1 0:40 / /btrfs rw - btrfs /dev/nvme0n1p1 rw") // its number is its own
	x.attr("proc/swaps", "Filename Type\n/dev/nvme0n1p1 partition 1 0 -2")
	require.Equal(t, []Use{
		{Kind: "partition", Device: "nvme0n1", By: "nvme0n1p1"},
		{Kind: "holder", Device: "nvme0n1p1", By: "dm-0 (vg-data)"},
		{Kind: "holder", Device: "dm-0", By: "dm-0 (vg-data)"},
		{Kind: "mount", Device: "dm-0", By: "/srv/a b"},
		{Kind: "mount", Device: "nvme0n1p1", By: "/btrfs"},
		{Kind: "swap", Device: "nvme0n1p1"},
	}, uses())
}
