package inventory

import (
	"fmt"

	"github.com/nvmepass/nvmepass/nvme"
)

// Word is a field of bits with what they mean.
type Word struct {
	// Name is the specification's, such as "ONCS"; Raw its value.
	Name string `json:"name"`
	Raw  uint32 `json:"raw"`
	// Has lists what is supported, in words.
	Has []string `json:"has"`
}

// bit is one thing that a field may tell.
type bit struct {
	set  bool
	text string
}

func word(name string, raw uint32, bits ...bit) Word {
	return Word{Name: name, Raw: raw, Has: texts(bits)}
}

func texts(bits []bit) []string {
	out := []string{}
	for _, b := range bits {
		if b.set {
			out = append(out, b.text)
		}
	}
	return out
}

// capabilities are the fields that say which commands there are and how they
// behave.
func capabilities(c *nvme.IdentifyController) []Word {
	return []Word{
		word("ONCS", uint32(c.ONCS),
			bit{c.ONCS.Compare(), "compare"}, bit{c.ONCS.WriteUncorrectable(), "write uncorrectable"}, bit{c.ONCS.DSM(), "dataset management"},
			bit{c.ONCS.WriteZeroes(), "write zeroes"}, bit{c.ONCS.SaveFeatures(), "saved features"}, bit{c.ONCS.Reservations(), "reservations"},
			bit{c.ONCS.Timestamp(), "timestamp"}, bit{c.ONCS.Verify(), "verify"}, bit{c.ONCS.Copy(), "copy"}, bit{c.ONCS.CopyAtomic(), "atomic copy"},
			bit{c.ONCS.FastCopyOnly(), "fast copies only"}, bit{c.ONCS.NamespaceZeroes(), "zeroing of a whole namespace"}),
		word("FUSES", uint32(c.FUSES), bit{c.FUSES&1 != 0, "fused compare and write"}),
		word("OACS", uint32(c.OACS),
			bit{c.OACS.Security(), "security send and receive"}, bit{c.OACS.Format(), "format"}, bit{c.OACS.Firmware(), "firmware download"},
			bit{c.OACS.NamespaceManagement(), "namespace management"}, bit{c.OACS.SelfTest(), "self-test"}, bit{c.OACS.Directives(), "directives"},
			bit{c.OACS.ManagementInterface(), "management interface"}, bit{c.OACS.Virtualization(), "virtualization management"},
			bit{c.OACS.DoorbellBuffer(), "doorbell buffer"}, bit{c.OACS.LBAStatus(), "get LBA status"}, bit{c.OACS.Lockdown(), "lockdown"}),
		word("CTRATT", uint32(c.CTRATT),
			bit{c.CTRATT.HostID128(), "128-bit host ID"}, bit{c.CTRATT.NVMSets(), "NVM sets"}, bit{c.CTRATT.EnduranceGroups(), "endurance groups"},
			bit{c.CTRATT.UUIDList(), "UUID list"}, bit{c.CTRATT.ExtendedLBAFormats(), "extended LBA formats"},
			bit{c.CTRATT.MDTSExcludesMetadata(), "MDTS without metadata"}, bit{c.CTRATT.FDP(), "flexible data placement"}),
		word("LPA", uint32(c.LPA),
			bit{c.LPA.SMARTPerNamespace(), "SMART per namespace"}, bit{c.LPA.Effects(), "effects log"}, bit{c.LPA.Extended(), "log offsets"},
			bit{c.LPA.Telemetry(), "telemetry"}, bit{c.LPA.PersistentEvents(), "persistent events"}),
		word("CMIC", uint32(c.CMIC),
			bit{c.CMIC.MultiPort(), "several ports"}, bit{c.CMIC.MultiController(), "several controllers"}, bit{c.CMIC.SRIOV(), "SR-IOV function"},
			bit{c.CMIC.ANA(), "asymmetric namespace access"}),
		word("SGLS", uint32(c.SGLS),
			bit{c.SGLS.Supported(), "scatter gather lists"}, bit{c.SGLS.DwordAligned(), "of 4-byte alignment"}, bit{c.SGLS.MetadataSGL(), "also for metadata"}),
		word("FNA", uint32(c.FNA),
			bit{c.FNA.FormatAll(), "format takes all namespaces"}, bit{c.FNA.EraseAll(), "erase takes all namespaces"}, bit{c.FNA.CryptoErase(), "cryptographic erase"}),
	}
}

// features are a namespace's.
func features(ns *nvme.IdentifyNamespace) []string {
	return texts([]bit{
		{ns.NSFEAT.ThinProvisioning(), "thin provisioning"},
		{ns.NSFEAT.DULBE(), "reads of deallocated blocks can be made an error"},
		{ns.NSFEAT.UIDReuse(), "identifiers are never used again"},
		{ns.DLFEAT.ReadsZero(), "deallocated blocks read as zeros"},
		{ns.DLFEAT.ReadsOnes(), "deallocated blocks read as ones"},
		{ns.DLFEAT.DeallocateByWriteZeroes(), "write zeroes can deallocate"},
		{ns.NMIC&1 != 0, "may be shared by controllers"},
		{ns.NSATTR&1 != 0, "write protected"},
		{ns.RESCAP != 0, fmt.Sprintf("reservations (RESCAP 0x%02x)", ns.RESCAP)},
	})
}

// atomic tells the atomic units; those of the controller hold where the
// namespace has none of its own.
func atomic(ns *nvme.IdentifyNamespace, c *nvme.IdentifyController) Atomic {
	a := Atomic{
		WriteBlocks: uint32(c.AWUN) + 1, PowerFailBlocks: uint32(c.AWUPF) + 1, CompareWriteBlocks: uint32(c.ACWU) + 1,
		OptimalBlocks: uint32(ns.NOIOB), PerNamespace: ns.NSFEAT.AtomicWrites(),
	}
	if a.PerNamespace {
		a.WriteBlocks, a.PowerFailBlocks, a.CompareWriteBlocks = uint32(ns.NAWUN)+1, uint32(ns.NAWUPF)+1, uint32(ns.NACWU)+1
		if ns.NABSN != 0 {
			a.BoundaryBlocks, a.OffsetBlocks = uint32(ns.NABSN)+1, uint32(ns.NABO)
		}
	}
	return a
}

// preferred are the sizes and alignments that the drive likes.
func preferred(ns *nvme.IdentifyNamespace) []Value {
	if !ns.NSFEAT.PreferredSizes() {
		return []Value{}
	}
	return []Value{
		{"write granularity", uint64(ns.NPWG) + 1}, {"write alignment", uint64(ns.NPWA) + 1},
		{"deallocate granularity", uint64(ns.NPDG) + 1}, {"deallocate alignment", uint64(ns.NPDA) + 1},
		{"optimal write size", uint64(ns.NOWS) + 1},
	}
}
