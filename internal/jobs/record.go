package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/latency"
)

// Schema names the JSON form of [Result]. Its number rises when a key changes
// its meaning or goes; new keys do not raise it.
const Schema = "nvmepass.run/1"

// Result is one run of a workload.
type Result struct {
	Schema string `json:"schema"`
	// ToolVersion is the caller's to fill, as is Environment.
	ToolVersion string `json:"tool_version"`
	// Started and Finished are in UTC, to the millisecond.
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	// Interrupted says that the run was ended from outside.
	Interrupted bool                `json:"interrupted"`
	Config      Config              `json:"config"`
	Environment compare.Environment `json:"environment"`
	// Total sums up all devices, each of Devices what all jobs did on it, in
	// the order of Config.Devices, and each of Jobs what one ring did.
	Total   Figures        `json:"total"`
	Devices []DeviceResult `json:"devices"`
	Jobs    []JobResult    `json:"jobs"`
	// Errors counts failed and cancelled commands by the text of their error.
	Errors map[string]uint64 `json:"errors"`
	// Warnings say what a reader of the figures must know, one sentence each.
	Warnings []string `json:"warnings"`
}

// DeviceResult is what happened on one device.
type DeviceResult struct {
	Device string `json:"device"`
	Figures
}

// JobResult is what one job did.
type JobResult struct {
	Devices []string `json:"devices"`
	// CPUs are those that its thread was bound to, empty for none.
	CPUs []int `json:"cpus"`
	Figures
	Settings iosetup.Effective `json:"settings"`
	// Error says why the job ended early; empty when it did not.
	Error string `json:"error"`
}

// Figures are what was measured. Those that cannot be had are nil. Counts
// without "Run" lie inside the window.
type Figures struct {
	WindowNS  int64  `json:"window_ns"`
	OK        uint64 `json:"ok"`
	Failed    uint64 `json:"failed"`
	Cancelled uint64 `json:"cancelled"`
	// Run counts the whole run: warm-up, window and drain.
	Run compare.Counts `json:"run"`
	// Bytes were moved or covered by the commands in OK.
	Bytes          uint64   `json:"bytes"`
	IOPS           *float64 `json:"iops"`
	BytesPerSecond *float64 `json:"bytes_per_second"`
	// Samples are the IOPS of the whole seconds of the window; nil without one.
	Samples *Spread `json:"iops_samples"`
	// Ring is what it took; nil for a device that shares its rings.
	Ring *Ring `json:"ring"`
	// Directions are the parts by what commands did.
	Directions []DirectionFigures `json:"directions"`
}

// Ring is what it took to move commands, inside the window.
type Ring struct {
	Enters        uint64   `json:"enters"`
	SubmitPerCall *float64 `json:"submit_per_call"`
	ReapPerCall   *float64 `json:"reap_per_call"`
	// MeanInFlight is the mean number of commands submitted and not reaped,
	// summed over jobs.
	MeanInFlight     *float64 `json:"mean_in_flight"`
	UserCPUNS        int64    `json:"user_cpu_ns"`
	SystemCPUNS      int64    `json:"system_cpu_ns"`
	UserCPUNSPerIO   *float64 `json:"user_cpu_ns_per_io"`
	SystemCPUNSPerIO *float64 `json:"system_cpu_ns_per_io"`
}

// DirectionFigures are those of reads, writes or trims alone.
type DirectionFigures struct {
	// Direction is read, write or trim.
	Direction      string           `json:"direction"`
	OK             uint64           `json:"ok"`
	Failed         uint64           `json:"failed"`
	Cancelled      uint64           `json:"cancelled"`
	Bytes          uint64           `json:"bytes"`
	IOPS           *float64         `json:"iops"`
	BytesPerSecond *float64         `json:"bytes_per_second"`
	Latency        *latency.Summary `json:"latency"`
}

// Decode reads a record, as nvmepass run -o json writes it.
func Decode(rd io.Reader) (*Result, error) {
	dec := json.NewDecoder(rd)
	var res Result
	if err := dec.Decode(&res); err != nil {
		return nil, fmt.Errorf("read record: not a JSON document of nvmepass run: %w", err)
	}
	if res.Schema != Schema {
		return nil, fmt.Errorf("read record: schema %q: need %q", res.Schema, Schema)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read record: something follows the document")
	}
	return &res, nil
}
