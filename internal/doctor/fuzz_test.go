package doctor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseVersion: a release is read as what it begins with or not at all, and
// which faults it has follows from that alone.
func FuzzParseVersion(f *testing.F) {
	for _, s := range []string{"6.1.176", "6.1.0-28-amd64", "7.0.0-rc2", "6.12.117+deb13-cloud-amd64", "6", "", "99999999999999999999.1.1", "6.1.-1", "6.1\x00", "５.19"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		v := parseVersion(in)
		if !v.known() {
			for i := range faults {
				_, found := faults[i].finding(in, v)
				require.False(t, found, "%s of a version that is not known", faults[i].id)
			}
			return
		}
		require.True(t, v.minor >= 0 && v.patch >= -1 && v.rc >= 0, v)
		require.True(t, v.atLeast(v.major, v.minor))
		require.False(t, v.atLeast(v.major, v.minor+1))
		plain := fmt.Sprintf("%d.%d.%d", v.major, v.minor, max(v.patch, 0))
		again := parseVersion(plain)
		require.Equal(t, [3]int{v.major, v.minor, max(v.patch, 0)}, [3]int{again.major, again.minor, again.patch})
		for i := range faults {
			if finding, found := faults[i].finding(in, v); found {
				require.NotEmpty(t, finding.Found)
				require.NotEmpty(t, finding.Why)
			}
		}
	})
}
