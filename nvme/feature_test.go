package nvme

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOptionalCopyAndZeroes(t *testing.T) {
	for bit, f := range map[int]func(ONCS) bool{8: ONCS.Copy, 9: ONCS.CopyAtomic, 10: ONCS.FastCopyOnly, 12: ONCS.NamespaceZeroes} {
		require.True(t, f(1<<bit), "bit %d", bit)
		require.False(t, f(^ONCS(1<<bit)), "bit %d", bit)
	}
}

func TestCopyLimits(t *testing.T) {
	n, err := DecodeIdentifyNamespace(page(74, uint16(128), 76, uint32(1024), 80, uint8(127)))
	require.NoError(t, err)
	require.Equal(t, CopyLimits{Ranges: 128, RangeBlocks: 128, Blocks: 1024}, n.CopyLimits())
}

// The sizes of the features' data structures, from the specification's figures.
func TestFeatureDataLen(t *testing.T) {
	for fid, want := range map[FID]struct{ get, set uint32 }{
		FeatLBARangeType: {4096, 64}, FeatAPST: {256, 256}, FeatHostMemoryBuffer: {4096, 0}, FeatTimestamp: {8, 8}, FeatPLMConfig: {512, 512},
		FeatHostBehavior: {512, 512}, FeatPerformance: {4096, 4096}, FeatEnhancedControllerMetadata: {4096, 0}, FeatControllerMetadata: {4096, 0},
		FeatNamespaceMetadata: {4096, 0}, FeatHostID: {8, 8}, FeatVolatileWriteCache: {}, FeatNumberOfQueues: {}, 0xc5: {},
	} {
		require.Equal(t, want.get, fid.DataLen(false, 0), "get 0x%02x", uint8(fid))
		require.Equal(t, want.set, fid.DataLen(true, 0), "set 0x%02x", uint8(fid))
	}
	require.Equal(t, uint32(16), FeatHostID.DataLen(false, 1), "extended identifier")
	require.Equal(t, uint32(4096), FeatLBARangeType.DataLen(true, 63))
}
