package blockio

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplitPolledOn(t *testing.T) {
	for release, ok := range map[string]bool{
		"6.1.0-50-cloud-amd64": false, "6.11.9": false, "5.19.0": false, "": false, "next": false,
		"6.12.117+deb13-cloud-amd64": true, "6.18.44": true, "7.0.0": true, "10.1": true,
	} {
		err := splitPolledOn(release)
		require.Equal(t, ok, err == nil, release)
		if !ok {
			require.ErrorContains(t, err, "6.12")
		}
	}
}
