package lab

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsNamespaceNode(t *testing.T) {
	for name, want := range map[string]bool{
		"nvme0n1": true, "ng12n34": true, "nvme0": false, "nvme0c0n1": false, "nvme0n1p1": false, "null": false, "sda": false, "ngn": false, "nvme0n": false,
	} {
		require.Equal(t, want, isNamespaceNode(name), name)
	}
}

func TestFindNamespace(t *testing.T) {
	class := t.TempDir()
	_, err := findNamespace(class, "lab0", 1)
	require.ErrorContains(t, err, "no NVMe namespace")
	for name, ids := range map[string][2]string{"nvme0n1": {"lab0                ", "2"}, "nvme0n2": {"lab0", "1"}, "nvme1n1": {"lab1", "1"}, "nvme0c0n2": {"lab0", "1"}} {
		writeFile(t, filepath.Join(class, name, "device", "serial"), []byte(ids[0]+"\n"))
		writeFile(t, filepath.Join(class, name, "nsid"), []byte(ids[1]+"\n"))
	}
	got, err := findNamespace(class, "lab0", 1)
	require.NoError(t, err)
	require.Equal(t, "nvme0n2", got)
	got, err = findNamespace(class, "lab0", 2)
	require.NoError(t, err)
	require.Equal(t, "nvme0n1", got)
	_, err = findNamespace(class, "lab0", 3)
	require.ErrorContains(t, err, "nvme1n1 (serial lab1, NSID 1)")
}
