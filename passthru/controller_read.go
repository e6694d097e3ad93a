package passthru

import (
	"context"
	"fmt"

	"github.com/nvmepass/nvmepass/nvme"
)

// Identify reads an Identify data structure of nvme.IdentifySize bytes.
func (c *Controller) Identify(ctx context.Context, cns nvme.CNS, o nvme.IdentifyOptions) ([]byte, error) {
	cmd, err := nvme.NewIdentify(cns, o)
	if err != nil {
		return nil, &OpError{Op: "identify", Path: c.path, Err: err}
	}
	data := make([]byte, nvme.IdentifySize)
	if _, err := c.Do(ctx, cmd, data); err != nil {
		return nil, err
	}
	return data, nil
}

// IdentifyController reads what the controller is, now: see Identity.
func (c *Controller) IdentifyController(ctx context.Context) (*nvme.IdentifyController, error) {
	data, err := c.Identify(ctx, nvme.CNSController, nvme.IdentifyOptions{})
	if err != nil {
		return nil, err
	}
	return nvme.DecodeIdentifyController(data)
}

// IdentifyNamespace reads what a namespace is. One that is not active is all
// zeros.
func (c *Controller) IdentifyNamespace(ctx context.Context, nsid uint32) (*nvme.IdentifyNamespace, error) {
	data, err := c.Identify(ctx, nvme.CNSNamespace, nvme.IdentifyOptions{NSID: nsid})
	if err != nil {
		return nil, err
	}
	return nvme.DecodeIdentifyNamespace(data)
}

// NamespaceDescriptors reads the identifiers of a namespace.
func (c *Controller) NamespaceDescriptors(ctx context.Context, nsid uint32) (*nvme.NamespaceDescriptors, error) {
	data, err := c.Identify(ctx, nvme.CNSNamespaceDescriptors, nvme.IdentifyOptions{NSID: nsid})
	if err != nil {
		return nil, err
	}
	return nvme.DecodeNamespaceDescriptors(data)
}

// ActiveNamespaces lists the IDs of all active namespaces in ascending order,
// in as many commands as it takes.
func (c *Controller) ActiveNamespaces(ctx context.Context) ([]uint32, error) {
	var all []uint32
	for from := uint32(0); ; {
		data, err := c.Identify(ctx, nvme.CNSActiveNamespaces, nvme.IdentifyOptions{NSID: from})
		if err != nil {
			return nil, err
		}
		ids, err := nvme.DecodeNamespaceList(data)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if id <= from {
				return nil, &OpError{Op: "list namespaces of", Path: c.path, Err: fmt.Errorf("the drive lists namespace %d after %d: the order must ascend", id, from)}
			}
			from = id
		}
		if all = append(all, ids...); len(all) > maxNamespaces {
			return nil, &OpError{Op: "list namespaces of", Path: c.path, Err: fmt.Errorf("the drive lists more than %d namespaces: no drive has as many, so that its answers are not to be trusted", maxNamespaces)}
		}
		if len(ids) < nvme.MaxListedNamespaces || from >= nvme.AllNamespaces-1 {
			return all, nil
		}
	}
}

// maxNamespaces bounds what a drive can make ActiveNamespaces read: 64 commands.
const maxNamespaces = 1 << 16

// MaxLog is the longest log that Log reads, in bytes.
const MaxLog = 1 << 30

// Log reads length bytes, 1 to MaxLog, of a log page from o.Offset on. A long
// one is read in pieces, which a drive without nvme.LPA.Extended cannot; all
// but the last keep the asynchronous event that announced the page (RAE), the
// last as o says. A log that changes meanwhile has a generation number of its
// own for the caller to compare.
func (c *Controller) Log(ctx context.Context, lid nvme.LID, length int, o nvme.LogOptions) ([]byte, error) {
	data, err := c.readLog(ctx, lid, length, o)
	if err != nil {
		return nil, &OpError{Op: fmt.Sprintf("read log 0x%02x of", uint8(lid)), Path: c.path, Err: err}
	}
	return data, nil
}

func (c *Controller) readLog(ctx context.Context, lid nvme.LID, length int, o nvme.LogOptions) ([]byte, error) {
	if length < 1 || length > MaxLog {
		return nil, fmt.Errorf("%d bytes: need 1 to %d", length, MaxLog)
	}
	piece := adminBuffer
	if c.maxTransfer != 0 && c.maxTransfer < adminBuffer {
		piece = int(c.maxTransfer)
	}
	// Identify comes first, and then nothing is known of the drive.
	extended := c.identity != nil && c.identity.LPA.Extended()
	switch {
	case length > piece && !extended:
		return nil, fmt.Errorf("%d bytes: one command moves %d, and this drive has no offsets into logs (LPA bit 2): ask for less", length, piece)
	case length > piece && o.ByIndex:
		return nil, fmt.Errorf("%d bytes by index: one command moves %d, and what comes next has no index of its own: ask for less", length, piece)
	case o.Offset != 0 && !extended:
		return nil, fmt.Errorf("offset %d: this drive has no offsets into logs (LPA bit 2): read from 0", o.Offset)
	}
	data := make([]byte, (length+3)&^3)
	event := o.RAE
	for at := 0; at < len(data); {
		part := data[at:min(at+piece, len(data))]
		o.RAE = event || at+len(part) < len(data)
		cmd, err := nvme.NewGetLogPage(lid, uint32(len(part)), o)
		if err != nil {
			return nil, err
		}
		if _, err := c.Do(ctx, cmd, part); err != nil {
			return nil, fmt.Errorf("%d of %d bytes read: %w", at, length, err)
		}
		at += len(part)
		o.Offset += uint64(len(part))
	}
	return data[:length], nil
}

// look reads a log page of the whole controller and leaves the event that
// announced it to those who wait for it.
func (c *Controller) look(ctx context.Context, lid nvme.LID, length int) ([]byte, error) {
	return c.Log(ctx, lid, length, nvme.LogOptions{NSID: nvme.AllNamespaces, RAE: true})
}

// SMART reads the SMART / Health log. This and the logs below keep the
// asynchronous event that announced them; Log can clear it.
func (c *Controller) SMART(ctx context.Context) (*nvme.SMARTLog, error) {
	data, err := c.look(ctx, nvme.LogSMART, nvme.SMARTLogSize)
	if err != nil {
		return nil, err
	}
	return nvme.DecodeSMARTLog(data)
}

// ErrorLog reads up to most entries of the error log, the newest first; 0 is
// all that the controller keeps (ELPE). Entries may be unused.
func (c *Controller) ErrorLog(ctx context.Context, most int) ([]nvme.ErrorLogEntry, error) {
	n := int(c.identity.ELPE) + 1
	if most < 0 {
		return nil, &OpError{Op: "read error log of", Path: c.path, Err: fmt.Errorf("%d entries: need 1 or more, or 0 for all %d", most, n)}
	}
	if most > 0 {
		n = min(n, most)
	}
	data, err := c.look(ctx, nvme.LogError, n*nvme.ErrorLogEntrySize)
	if err != nil {
		return nil, err
	}
	return nvme.DecodeErrorLog(data)
}

// FirmwareSlots reads which firmware is in which slot.
func (c *Controller) FirmwareSlots(ctx context.Context) (*nvme.FirmwareSlots, error) {
	data, err := c.look(ctx, nvme.LogFirmwareSlot, nvme.FirmwareSlotLogSize)
	if err != nil {
		return nil, err
	}
	return nvme.DecodeFirmwareSlots(data)
}

// Effects reads the Commands Supported and Effects log for a command set.
func (c *Controller) Effects(ctx context.Context, set nvme.CommandSet) (*nvme.EffectsLog, error) {
	data, err := c.Log(ctx, nvme.LogEffects, nvme.EffectsLogSize, nvme.LogOptions{RAE: true, CSI: set})
	if err != nil {
		return nil, err
	}
	return nvme.DecodeEffectsLog(data)
}

// ChangedNamespaces reads which namespaces changed since the list was cleared,
// which the driver does when it is told of a change.
func (c *Controller) ChangedNamespaces(ctx context.Context) (*nvme.ChangedNamespaces, error) {
	data, err := c.look(ctx, nvme.LogChangedNamespaces, nvme.IdentifySize)
	if err != nil {
		return nil, err
	}
	return nvme.DecodeChangedNamespaces(data)
}

// FeatureRequest says which value of a feature to get.
type FeatureRequest struct {
	// NSID is the namespace, 0 or nvme.AllNamespaces for the controller's.
	NSID   uint32
	Select nvme.FeatureSelect
	// Value goes to CDW11, for features that take a selector there.
	Value uint32
	// Length is the size in bytes of the data of features that have some.
	Length uint32
}

// GetFeatures reads a feature: its value (the low half of result for all
// features of the specification) and its data.
func (c *Controller) GetFeatures(ctx context.Context, fid nvme.FID, r FeatureRequest) (result uint64, data []byte, err error) {
	cmd, err := nvme.NewGetFeatures(r.NSID, fid, r.Select, r.Value, r.Length)
	if err == nil && r.Length > adminBuffer {
		err = fmt.Errorf("%d bytes of data: features have at most %d", r.Length, adminBuffer)
	}
	if err != nil {
		return 0, nil, &OpError{Op: "get-features", Path: c.path, Err: err}
	}
	data = make([]byte, r.Length)
	if result, err = c.Do(ctx, cmd, data); err != nil {
		return result, nil, err
	}
	return result, data, nil
}

// SetFeatures sets a feature to value and data, whose length overrides
// o.Length. It needs ControllerConfig.Writable.
func (c *Controller) SetFeatures(ctx context.Context, nsid uint32, fid nvme.FID, value uint32, data []byte, o nvme.FeatureOptions) (result uint64, err error) {
	if len(data) > adminBuffer {
		return 0, &OpError{Op: "set-features", Path: c.path, Err: fmt.Errorf("%d bytes of data: features have at most %d", len(data), adminBuffer)}
	}
	o.Length = uint32(len(data))
	return c.Do(ctx, nvme.NewSetFeatures(nsid, fid, value, o), data)
}
