package lab

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// FindNamespace returns the name of a namespace's block node, such as nvme0n1, by the serial number of its drive and its
// NSID. It looks into this machine's sysfs, so that it is of use inside the guest. The character node's name has ng in
// place of nvme, unless the drive was plugged in anew.
func FindNamespace(serial string, nsid int) (string, error) {
	return findNamespace("/sys/class/block", serial, nsid)
}

func findNamespace(class, serial string, nsid int) (string, error) {
	found, err := filepath.Glob(filepath.Join(class, "nvme*n*"))
	if err != nil {
		return "", err
	}
	var have []string
	for _, f := range found {
		if !isNamespaceNode(filepath.Base(f)) {
			continue
		}
		s, id := readText(filepath.Join(f, "device", "serial")), readText(filepath.Join(f, "nsid"))
		if s == serial && id == strconv.Itoa(nsid) {
			return filepath.Base(f), nil
		}
		have = append(have, fmt.Sprintf("%s (serial %s, NSID %s)", filepath.Base(f), s, id))
	}
	if len(have) == 0 {
		return "", errors.New("lab: there is no NVMe namespace on this machine")
	}
	return "", fmt.Errorf("lab: no namespace with serial number %s and NSID %d; there are %s", serial, nsid, strings.Join(have, ", "))
}

// isNamespaceNode tells the node of a namespace from that of one of its paths (nvme0c0n1), its partitions (nvme0n1p1) and a
// controller (nvme0).
func isNamespaceNode(name string) bool {
	rest, ok := strings.CutPrefix(name, "nvme")
	if !ok {
		rest, ok = strings.CutPrefix(name, "ng")
	}
	controller, namespace, ok2 := strings.Cut(rest, "n")
	_, err1 := parseWhole(controller)
	_, err2 := parseWhole(namespace)
	return ok && ok2 && err1 == nil && err2 == nil
}
