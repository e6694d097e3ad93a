package consent

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// signature is a mark that a file system, a volume manager or the like leaves
// at a fixed place.
type signature struct {
	name   string
	offset int // in bytes, from the end if negative
	magic  string
}

// signatures of what is likely on a drive; places are those of the formats' own
// headers.
var signatures = []signature{
	{"a GPT partition table", 512, "EFI PART"},
	{"a GPT partition table", 4096, "EFI PART"}, // blocks of 4 KiB
	{"a GPT partition table's backup", -512, "EFI PART"},
	{"a GPT partition table's backup", -4096, "EFI PART"},
	{"an ext2, ext3 or ext4 file system", 1080, "\x53\xef"},
	{"an XFS file system", 0, "XFSB"},
	{"a Btrfs file system", 64<<10 + 64, "_BHRfS_M"},
	{"an F2FS file system", 1024, "\x10\x20\xf5\xf2"},
	{"an EROFS file system", 1024, "\xe2\xe1\xf5\xe0"},
	{"an NTFS file system", 3, "NTFS    "},
	{"an exFAT file system", 3, "EXFAT   "},
	{"a FAT file system", 54, "FAT1"},
	{"a FAT file system", 82, "FAT32"},
	{"a SquashFS file system", 0, "hsqs"},
	{"an ISO 9660 file system", 32769, "CD001"},
	{"a JFS file system", 32768, "JFS1"},
	{"a ReiserFS file system", 65588, "ReIsEr"},
	{"a NILFS2 file system", 1030, "\x34\x34"},
	{"a GFS2 file system", 65536, "\x01\x16\x19\x70"},
	{"an OCFS2 file system", 4096, "OCFSV2"},
	{"a bcachefs file system", 4096 + 24, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"},
	{"a bcache device", 4096 + 24, "\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"},
	{"a Ceph BlueStore", 0, "bluestore block device\n"},
	{"a VMFS file system", 1 << 20, "\x0d\xd0\x01\xc0"},
	{"LUKS encryption", 0, "LUKS\xba\xbe"},
	{"swap space", 4096 - 10, "SWAPSPACE2"},
	{"swap space", 16<<10 - 10, "SWAPSPACE2"},
	{"swap space", 64<<10 - 10, "SWAPSPACE2"},
	{"an LVM physical volume", 0, "LABELONE"},
	{"an LVM physical volume", 512, "LABELONE"},
	{"an LVM physical volume", 1024, "LABELONE"},
	{"an LVM physical volume", 1536, "LABELONE"},
	{"a member of an md array", 0, "\xfc\x4e\x2b\xa9"},
	{"a member of an md array", 4096, "\xfc\x4e\x2b\xa9"},
	{"a member of an md array", -8192, "\xfc\x4e\x2b\xa9"},
	{"a member of an md array", -64 << 10, "\xfc\x4e\x2b\xa9"},
	{"a member of an md array", -128 << 10, "\xfc\x4e\x2b\xa9"},
}

// ends are the first and the last bytes of a namespace's data.
type ends struct {
	head, tail []byte
	// unread says why a part could not be read, "" if all was.
	unread string
}

// endSize is how much of either end is looked at: up to the farthest mark.
const endSize = 1<<20 + 4096

// signatures says what the ends show.
func (e *ends) signatures() (found []string) {
	add := func(what string) {
		if text := "it holds " + what; !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	for _, s := range signatures {
		from, at := e.head, s.offset
		if at < 0 {
			from, at = e.tail, len(e.tail)+at
		}
		if at >= 0 && at < len(from) && bytes.HasPrefix(from[at:], []byte(s.magic)) {
			add(s.name)
		}
	}
	if isMBR(e.head) {
		add("an MBR partition table or boot sector")
	}
	if isZFS(e.head) {
		add("a ZFS pool")
	}
	if e.unread != "" {
		found = append(found, "what it holds is not known: "+e.unread)
	}
	return found
}

// isMBR: the boot signature, with at least one partition.
func isMBR(b []byte) bool {
	if len(b) < 512 || b[510] != 0x55 || b[511] != 0xaa {
		return false
	}
	for i := range 4 {
		if b[446+16*i+4] != 0 { // the partition's type
			return true
		}
	}
	return b[0] == 0xeb || b[0] == 0xe9 // code that jumps over parameters
}

// isZFS: an uberblock among those of the first label, in either byte order.
func isZFS(b []byte) bool {
	const magic, first, last, step = 0x00bab10c, 128 << 10, 256 << 10, 1 << 10
	for at := first; at+8 <= min(last, len(b)); at += step {
		if binary.LittleEndian.Uint64(b[at:]) == magic || binary.BigEndian.Uint64(b[at:]) == magic {
			return true
		}
	}
	return false
}
