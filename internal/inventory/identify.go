package inventory

import (
	"errors"
	"syscall"

	"github.com/nvmepass/nvmepass/nvme"
)

// identity is what a drive says of one namespace.
type identity struct {
	ctrl *nvme.IdentifyController
	ns   *nvme.IdentifyNamespace
	nvm  *nvme.IdentifyNVMNamespace // nil without extended LBA formats
	// ids is nil if the drive, or the kernel, does not tell identifiers.
	ids *nvme.NamespaceDescriptors
	// set is the command set. setDenied: the kernel let nobody ask for it,
	// and NVM is a guess; a drive that does not tell has NVM alone.
	set       nvme.CommandSet
	setDenied bool
	// layout is that of the format in use; layoutErr says why there is none.
	layout    nvme.Layout
	layoutErr error
}

func readController(a Asker) (*nvme.IdentifyController, error) {
	b, err := a.Identify(nvme.CNSController, nvme.IdentifyOptions{})
	if err != nil {
		return nil, err
	}
	return nvme.DecodeIdentifyController(b)
}

// readNamespace reads all that the layout depends on. The parts that need
// rights or that older drives lack may be missing.
func readNamespace(a Asker, nsid uint32) (*identity, error) {
	var id identity
	var err error
	if id.ctrl, err = readController(a); err != nil {
		return nil, err
	}
	b, err := a.Identify(nvme.CNSNamespaceDescriptors, nvme.IdentifyOptions{NSID: nsid})
	if err == nil {
		if id.ids, err = nvme.DecodeNamespaceDescriptors(b); err == nil {
			id.set = id.ids.CSI
		}
	} else {
		id.setDenied = errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)
	}
	if b, err = a.Identify(nvme.CNSNamespace, nvme.IdentifyOptions{NSID: nsid}); err != nil {
		return nil, err
	}
	if id.ns, err = nvme.DecodeIdentifyNamespace(b); err != nil {
		return nil, err
	}
	if id.ctrl.CTRATT.ExtendedLBAFormats() {
		if b, err = a.Identify(nvme.CNSSetNamespace, nvme.IdentifyOptions{NSID: nsid}); err == nil {
			id.nvm, _ = nvme.DecodeIdentifyNVMNamespace(b) // nil on an error, which is right
		}
	}
	id.layout, id.layoutErr = id.ns.LayoutWith(id.nvm)
	return &id, nil
}

// activeNamespaces lists the active namespaces of a controller.
func activeNamespaces(a Asker) ([]uint32, error) {
	all := []uint32{}
	for from := uint32(0); ; {
		b, err := a.Identify(nvme.CNSActiveNamespaces, nvme.IdentifyOptions{NSID: from})
		if err != nil {
			return nil, err
		}
		ids, err := nvme.DecodeNamespaceList(b)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if id > from { // a list that does not ascend ends here
				all, from = append(all, id), id
			}
		}
		if len(ids) < nvme.MaxListedNamespaces || ids[len(ids)-1] != from || from >= nvme.AllNamespaces-1 {
			return all, nil
		}
	}
}
