package single

import (
	"fmt"

	"github.com/nvmepass/nvmepass/internal/badflag"
	"github.com/nvmepass/nvmepass/nvme"
)

func identify(o *Options, t *Target, in *Source) (*Request, error) {
	cns := o.CNS
	if !o.HasCNS {
		cns = nvme.CNSController
		if t.NSID != 0 {
			cns = nvme.CNSNamespace
		}
	}
	nsid := uint32(0)
	switch cns {
	case nvme.CNSController, nvme.CNSSetController, nvme.CNSNVMSets, nvme.CNSControllers, nvme.CNSPrimaryController, nvme.CNSSecondaryControllers,
		nvme.CNSUUIDs, nvme.CNSDomains, nvme.CNSEnduranceGroups, nvme.CNSCommandSets, nvme.CNSNamespaceGranularity,
		nvme.CNSNamespaceFormat, nvme.CNSSetNamespaceFormat:
		nsid = o.NSID
	case nvme.CNSActiveNamespaces, nvme.CNSSetActiveNamespaces, nvme.CNSAllocatedNamespaces, nvme.CNSSetAllocatedNamespaces:
		nsid = o.NSID // where the list starts, not the node's
	case nvme.CNSAttachedControllers:
		nsid = t.NSID
	default:
		if nsid = t.NSID; nsid == 0 {
			return nil, &badflag.Error{Flag: "--namespace-id", Problem: fmt.Sprintf("structure %#02x is one of a namespace, and none is named", uint8(cns)), Remedy: "give it, or name a namespace's node such as /dev/ng0n1"}
		}
	}
	cmd, err := nvme.NewIdentify(cns, nvme.IdentifyOptions{NSID: nsid, CNTID: o.CNTID, SpecificID: o.CNSSpecID, CSI: nvme.CommandSet(o.CSI), UUIDIndex: o.UUIDIndex})
	if err != nil {
		return nil, err
	}
	r := &Request{Set: nvme.SetAdmin, Command: cmd, decode: identifyDecoder(cns, nvme.CommandSet(o.CSI))}
	return r, r.fill(in)
}

// maxLog is the longest log page that is read, in bytes.
const maxLog = 1 << 30

// maxLogCommand is the longest piece that one Get Log Page of this package
// moves, in bytes: every drive takes it.
const maxLogCommand = 4096

func getLog(o *Options, t *Target, in *Source) (*Request, error) {
	length := o.LogLen
	if length == 0 {
		length = logLength(o.LID, t)
	}
	if length == 0 {
		return nil, &badflag.Error{Flag: "--log-len", Problem: fmt.Sprintf("how long log page %#02x is, is not known", uint8(o.LID)), Remedy: "give it in bytes, a multiple of 4"}
	}
	if length > maxLog || length%4 != 0 {
		return nil, &badflag.Error{Flag: "--log-len", Value: fmt.Sprint(length), Problem: fmt.Sprintf("has to be a multiple of 4 up to %d", maxLog), Remedy: "round it up, or read the rest with --offset"}
	}
	nsid := o.NSID
	if nsid == 0 {
		nsid = nvme.AllNamespaces
		if o.LID == nvme.LogChangedZones {
			nsid = t.NSID
		}
	}
	opts := nvme.LogOptions{NSID: nsid, Offset: o.Offset, LSP: o.LSP, LSI: o.LSI, RAE: o.RAE, CSI: nvme.CommandSet(o.CSI), UUIDIndex: o.UUIDIndex}
	cmd, err := nvme.NewGetLogPage(o.LID, min(length, maxLogCommand), opts)
	if err != nil {
		return nil, err
	}
	r := &Request{Set: nvme.SetAdmin, Command: cmd}
	if length > maxLogCommand {
		r.Log = &opts
	}
	if o.Offset == 0 {
		r.decode = logDecoder(o.LID)
	}
	err = r.fill(in)
	if r.Log != nil {
		r.Data = in.blank(uint64(length))
	}
	return r, err
}

func getFeature(o *Options, _ *Target, in *Source) (*Request, error) {
	length := o.FeatureLen
	if length == 0 && o.Select != uint8(nvme.FeatureSupported) {
		length = o.FID.DataLen(false, o.CDW[11])
	}
	if o.Select > uint8(nvme.FeatureSupported) {
		return nil, &badflag.Error{Flag: "--sel", Value: fmt.Sprint(o.Select), Problem: "is no value of a feature", Remedy: "give 0 current, 1 default, 2 saved or 3 supported capabilities"}
	}
	cmd, err := nvme.NewGetFeatures(o.NSID, o.FID, nvme.FeatureSelect(o.Select), o.CDW[11], length)
	if err != nil {
		return nil, err
	}
	cmd.CDW14 = uint32(o.UUIDIndex & 0x7f)
	r := &Request{Set: nvme.SetAdmin, Command: cmd}
	sel := nvme.FeatureSelect(o.Select)
	r.decode = func(_ []byte, result uint64) (any, error) { return featureValue(o.FID, sel, uint32(result)), nil }
	return r, r.fill(in)
}

func setFeature(o *Options, _ *Target, in *Source) (*Request, error) {
	length := o.FeatureLen
	if length == 0 {
		length = o.FID.DataLen(true, o.Value)
	}
	cmd := nvme.NewSetFeatures(o.NSID, o.FID, o.Value, nvme.FeatureOptions{Save: o.Save, CDW12: o.CDW[12], CDW14: uint32(o.UUIDIndex & 0x7f), Length: length})
	r := &Request{Set: nvme.SetAdmin, Command: cmd, Effect: Sets}
	if length == 0 && in.Data != nil {
		return nil, &badflag.Error{Flag: "--data-len", Problem: fmt.Sprintf("feature %#02x is not known to have data", uint8(o.FID)), Remedy: "give its length in bytes, or no --data"}
	}
	return r, r.fill(in)
}
