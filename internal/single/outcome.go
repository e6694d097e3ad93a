package single

import (
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nvmepass/nvmepass/nvme"
)

// Schema is the version of a [Document].
const Schema = "nvmepass.command/1"

// Document is a command and what came of it, as JSON has it. Documented in
// docs/commands.md.
type Document struct {
	Schema  string  `json:"schema"`
	Device  string  `json:"device,omitempty"`
	DryRun  bool    `json:"dry_run"`
	Command Command `json:"command"`
	// Encoding is there if it was asked for.
	Encoding *Encoding `json:"encoding,omitempty"`
	// Status is the drive's answer, nil if there was none.
	Status *Status `json:"status,omitempty"`
	// Result is the completion's 64 bits in hexadecimal.
	Result string `json:"result,omitempty"`
	// LatencyNS is there if it was asked for.
	LatencyNS *int64 `json:"latency_ns,omitempty"`
	// Error is a failure that is not the drive's.
	Error string `json:"error,omitempty"`
	// Decoded is the data in the specification's words.
	Decoded  any   `json:"decoded,omitempty"`
	Data     *Data `json:"data,omitempty"`
	Metadata *Data `json:"metadata,omitempty"`
}

// Command is what was asked of the drive.
type Command struct {
	Name        string `json:"name"`
	Set         string `json:"command_set"`
	Opcode      string `json:"opcode"`
	NSID        uint32 `json:"nsid"`
	DataLen     uint32 `json:"data_len"`
	MetadataLen uint32 `json:"metadata_len"`
	TimeoutMS   uint32 `json:"timeout_ms"`
	// SLBA and Blocks are there for commands that have them; Blocks counts
	// from one.
	SLBA   *uint64 `json:"slba,omitempty"`
	Blocks *uint32 `json:"blocks,omitempty"`
}

// Encoding is how it is written.
type Encoding struct {
	SQE
	Dwords []Dword `json:"dwords"`
	// Payload is the data that goes to the drive with it where the tool made
	// it: the ranges of trim and copy, in hexadecimal digits.
	Payload string `json:"payload,omitempty"`
}

// Status is an NVMe status in its parts.
type Status struct {
	// SCT and SC are status code type and status code, CRD the retry delay,
	// More that the error log has more, DNR that it would fail again.
	SCT         uint8  `json:"sct"`
	SC          uint8  `json:"sc"`
	CRD         uint8  `json:"crd"`
	More        bool   `json:"more"`
	DNR         bool   `json:"dnr"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Data is what came from the drive: in hexadecimal digits, or in a file.
type Data struct {
	Bytes int    `json:"bytes"`
	Hex   string `json:"hex,omitempty"`
	File  string `json:"file,omitempty"`

	raw []byte
}

// NewDocument describes a command before it is sent.
func NewDocument(r *Request, device string) *Document {
	c := &r.Command
	d := &Document{Schema: Schema, Device: device, Command: Command{
		Name: r.Name, Set: r.Set.String(), Opcode: fmt.Sprintf("0x%02x", uint8(c.Opcode)), NSID: c.NSID,
		DataLen: c.DataLen, MetadataLen: c.MetadataLen, TimeoutMS: c.TimeoutMS,
	}}
	if r.Log != nil {
		d.Command.DataLen = uint32(len(r.Data))
	}
	if r.Set != nvme.SetAdmin && blockParts(r.Layout, c.Opcode) != nil && r.Set != nvme.SetKV {
		slba, n := c.SLBA(), c.NLB()
		d.Command.SLBA, d.Command.Blocks = &slba, &n
	}
	return d
}

// Encode adds how the command is written.
func (d *Document) Encode(r *Request) {
	d.Encoding = &Encoding{SQE: EncodeSQE(r), Dwords: DecodeDwords(r)}
	if r.Set != nvme.SetAdmin && (r.Command.Opcode == nvme.OpDSM || r.Command.Opcode == nvme.OpCopy) {
		d.Encoding.Payload = hex.EncodeToString(r.Data)
	}
}

// Finish adds what came of it. files name where data and metadata were written
// to, "" for nowhere, so that they belong into the document.
func (d *Document) Finish(r *Request, result uint64, took time.Duration, latency bool, err error, dataFile, metadataFile string) {
	if latency {
		ns := took.Nanoseconds()
		d.LatencyNS = &ns
	}
	var status *nvme.StatusError
	switch {
	case errors.As(err, &status):
		d.Status = statusOf(status.Status)
		d.Result = fmt.Sprintf("0x%016x", status.Result)
		return
	case err != nil:
		d.Error = err.Error()
		return
	}
	d.Status = statusOf(0)
	d.Result = fmt.Sprintf("0x%016x", result)
	if v, derr := r.Decoded(result); derr != nil {
		d.Error = "decode the data: " + derr.Error()
	} else {
		d.Decoded = v
	}
	if !r.FromDrive() {
		return
	}
	d.Data, d.Metadata = dataOf(r.Data, dataFile), dataOf(r.Metadata, metadataFile)
	if d.Decoded != nil && dataFile == "" {
		d.Data = nil // it has been said
	}
}

func statusOf(s nvme.Status) *Status {
	return &Status{SCT: s.SCT(), SC: s.SC(), CRD: s.CRD(), More: s.More(), DNR: s.DNR(), Name: s.Code().Name(), Description: s.Code().Text()}
}

func dataOf(b []byte, file string) *Data {
	if len(b) == 0 {
		return nil
	}
	d := &Data{Bytes: len(b), File: file}
	if file == "" {
		d.Hex, d.raw = hex.EncodeToString(b), b
	}
	return d
}
