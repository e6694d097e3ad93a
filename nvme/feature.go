package nvme

import "fmt"

// FID identifies a feature.
type FID uint8

// Features (base specification, "Feature Identifiers").
const (
	FeatArbitration        FID = 0x01
	FeatPowerManagement    FID = 0x02
	FeatLBARangeType       FID = 0x03
	FeatTemperature        FID = 0x04
	FeatErrorRecovery      FID = 0x05
	FeatVolatileWriteCache FID = 0x06
	FeatNumberOfQueues     FID = 0x07
	FeatIRQCoalescing      FID = 0x08
	FeatIRQConfig          FID = 0x09
	FeatWriteAtomicity     FID = 0x0a
	FeatAsyncEvent         FID = 0x0b
	FeatAPST               FID = 0x0c
	FeatHostMemoryBuffer   FID = 0x0d
	FeatTimestamp          FID = 0x0e
	FeatKeepAlive          FID = 0x0f
	FeatHCTM               FID = 0x10
	FeatNonOpPower         FID = 0x11
	FeatReadRecovery       FID = 0x12
	FeatPLMConfig          FID = 0x13
	FeatPLMWindow          FID = 0x14
	FeatLBAStatusInterval  FID = 0x15
	FeatHostBehavior       FID = 0x16
	FeatSanitizeConfig     FID = 0x17
	FeatEnduranceEvents    FID = 0x18
	FeatCommandSetProfile  FID = 0x19
	FeatSpinup             FID = 0x1a
	FeatPowerLossSignal    FID = 0x1b
	FeatPerformance        FID = 0x1c
	FeatFDP                FID = 0x1d
	FeatFDPEvents          FID = 0x1e
	FeatAdminLabel         FID = 0x1f
	FeatKeyValue           FID = 0x20
	FeatCtrlDataQueue      FID = 0x21
	// FeatEnhancedControllerMetadata, FeatControllerMetadata and
	// FeatNamespaceMetadata belong to the management interface.
	FeatEnhancedControllerMetadata FID = 0x7d
	FeatControllerMetadata         FID = 0x7e
	FeatNamespaceMetadata          FID = 0x7f
	FeatSoftwareProgress           FID = 0x80
	FeatHostID                     FID = 0x81
	FeatReservationMask            FID = 0x82
	FeatReservationPersist         FID = 0x83
	FeatWriteProtect               FID = 0x84
	FeatBootWriteProtect           FID = 0x85
)

// Data structures of features, in bytes.
const (
	featureAPST         = 256
	featureTimestamp    = 8
	featurePage         = 512
	featureHostMetadata = 4096
	featureHostID       = 8
	featureHostIDExt    = 16
	lbaRangeEntry       = 64
)

// DataLen is how many bytes a Get Features, or with set a Set Features, of
// this feature moves at the least; value is its CDW11. The controller moves
// them whatever the length of the buffer, so that a shorter one is
// overwritten past its end. 0 stands for no data, and for features that are
// not known or whose data says itself how long it is.
func (f FID) DataLen(set bool, value uint32) uint32 {
	switch f {
	case FeatLBARangeType:
		if set {
			return (value&0x3f + 1) * lbaRangeEntry
		}
		return IdentifySize
	case FeatAPST:
		return featureAPST
	case FeatHostMemoryBuffer:
		if set {
			return 0
		}
		return IdentifySize
	case FeatTimestamp:
		return featureTimestamp
	case FeatPLMConfig, FeatHostBehavior:
		return featurePage
	case FeatPerformance:
		return IdentifySize
	case FeatEnhancedControllerMetadata, FeatControllerMetadata, FeatNamespaceMetadata:
		if set {
			return 0
		}
		return featureHostMetadata
	case FeatHostID:
		if value&1 != 0 {
			return featureHostIDExt
		}
		return featureHostID
	}
	return 0
}

// featureData is the least data of a command that gets or sets a feature.
func (c *Command) featureData() uint32 {
	if c.Opcode == AdminSetFeatures {
		return FID(c.CDW10).DataLen(true, c.CDW11)
	}
	if FeatureSelect(c.CDW10>>featureSelectShift&7) == FeatureSupported {
		return 0 // the answer is in the completion
	}
	return FID(c.CDW10).DataLen(false, c.CDW11)
}

// FeatureSelect says which value of a feature to get.
type FeatureSelect uint8

// Values of a feature.
const (
	FeatureCurrent FeatureSelect = iota
	FeatureDefault
	FeatureSaved
	// FeatureSupported gets what can be done with the feature.
	FeatureSupported
)

// String names the value.
func (s FeatureSelect) String() string {
	switch s {
	case FeatureCurrent:
		return "current"
	case FeatureDefault:
		return "default"
	case FeatureSaved:
		return "saved"
	case FeatureSupported:
		return "supported"
	}
	return fmt.Sprintf("unknown (%d)", uint8(s))
}

const featureSelectShift = 8

// NewGetFeatures builds a Get Features. value goes to CDW11; length is the
// size in bytes of the data of features that have some. The completion's
// dword 0 is the value.
func NewGetFeatures(nsid uint32, fid FID, sel FeatureSelect, value, length uint32) (Command, error) {
	if sel > FeatureSupported {
		return Command{}, refuse(SetAdmin, AdminGetFeatures, nsid, "sel", "%d is not 0 (current) to 3 (supported)", sel)
	}
	return Command{
		Opcode:  AdminGetFeatures,
		NSID:    nsid,
		CDW10:   uint32(sel)<<featureSelectShift | uint32(fid),
		CDW11:   value,
		DataLen: length,
	}, nil
}

// FeatureOptions are the parts of Set Features that most features do without.
type FeatureOptions struct {
	// Save keeps the value over power cycles.
	Save bool
	// CDW12, CDW13 and CDW15 are further values; CDW14 holds the UUID index
	// in bits 0 to 6.
	CDW12, CDW13, CDW14, CDW15 uint32
	// Length is the size in bytes of the data of features that have some.
	Length uint32
}

const featureSave = 1 << 31

// NewSetFeatures builds a Set Features with value in CDW11. Newer kernels
// refuse it for features that belong to the driver: host behavior, host
// memory buffer, number of queues, power state transition, keep alive.
func NewSetFeatures(nsid uint32, fid FID, value uint32, o FeatureOptions) Command {
	c := Command{
		Opcode:  AdminSetFeatures,
		NSID:    nsid,
		CDW10:   uint32(fid),
		CDW11:   value,
		CDW12:   o.CDW12,
		CDW13:   o.CDW13,
		CDW14:   o.CDW14,
		CDW15:   o.CDW15,
		DataLen: o.Length,
	}
	if o.Save {
		c.CDW10 |= featureSave
	}
	return c
}
