package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// Verb names what the host can do to the machine while a program runs in the guest.
type Verb string

// The verbs there are. Only those in Config.Actions are open to the guest.
const (
	// VerbPause stops the whole machine for Action.For: processors, drives and the emulated clock.
	VerbPause Verb = "pause"
	// VerbThrottle sets a namespace's limits to Action.IOPS and Action.Bandwidth; both 0 lift them. A limit of 1 byte per
	// second makes a drive that is as good as stuck: what waits goes on when the limit is lifted.
	VerbThrottle Verb = "throttle"
	// VerbUnplug pulls a drive that has Drive.Hotplug, and waits until the guest has let go of it. VerbPlug puts it back.
	VerbUnplug Verb = "unplug"
	VerbPlug   Verb = "plug"
	// VerbResize changes the size of a pulled drive to Action.Size bytes.
	VerbResize Verb = "resize"
)

// verbs in the order of error messages.
var verbs = []Verb{VerbPause, VerbThrottle, VerbUnplug, VerbPlug, VerbResize}

// maxPause bounds Action.For.
const maxPause = 5 * time.Minute

// Action is one thing to do to the machine.
type Action struct {
	Verb Verb `json:"verb"`
	// Drive is the serial number of the drive; not for VerbPause.
	Drive string `json:"drive,omitempty"`
	// NSID of the namespace to throttle, 0 for the first of the drive.
	NSID int `json:"nsid,omitempty"`
	// For is how long VerbPause lasts.
	For time.Duration `json:"for,omitempty"`
	// IOPS and Bandwidth (bytes per second) are VerbThrottle's limits.
	IOPS      int64 `json:"iops,omitempty"`
	Bandwidth int64 `json:"bandwidth,omitempty"`
	// Size in bytes is VerbResize's.
	Size int64 `json:"size,omitempty"`
}

// ActionError reports an action that was not carried out.
type ActionError struct {
	Verb    Verb   `json:"verb,omitempty"`
	Drive   string `json:"drive,omitempty"`
	Problem string `json:"problem"`
}

// Error implements error.
func (e *ActionError) Error() string {
	s := "lab: action"
	if e.Verb != "" {
		s += " " + string(e.Verb)
	}
	if e.Drive != "" {
		s += " of drive " + e.Drive
	}
	return s + ": " + e.Problem
}

func (a Action) bad(format string, args ...any) error {
	return &ActionError{Verb: a.Verb, Drive: a.Drive, Problem: fmt.Sprintf(format, args...)}
}

// validate refuses what no machine could do.
func (a Action) validate() error {
	switch {
	case !slices.Contains(verbs, a.Verb):
		return a.bad("unknown; the verbs are %s", joinVerbs(verbs))
	case a.Verb == VerbPause && (a.For <= 0 || a.For > maxPause):
		return a.bad("for %v: must be above 0 and at most %v", a.For, maxPause)
	case a.Verb != VerbPause && a.Drive == "":
		return a.bad("names no drive; give its serial number")
	case a.Verb == VerbThrottle && (a.IOPS < 0 || a.Bandwidth < 0 || a.IOPS > maxIOPS || a.Bandwidth > maxBandwidth):
		return a.bad("%d IOPS and %d bytes per second: must be from 0 to %d and %d; 0 is no limit", a.IOPS, a.Bandwidth, int64(maxIOPS), int64(maxBandwidth))
	case a.Verb == VerbResize && (a.Size < minDriveSize || a.Size > maxDriveSize || a.Size%512 != 0):
		return a.bad("size %d: must be a multiple of 512 from %d to %d", a.Size, minDriveSize, int64(maxDriveSize))
	}
	return nil
}

func joinVerbs(v []Verb) string {
	var b strings.Builder
	for i, x := range v {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(x))
	}
	return b.String()
}

// validateActions checks Config.Actions.
func validateActions(allowed []Verb) error {
	for _, v := range allowed {
		if !slices.Contains(verbs, v) {
			return configError("action %q: the verbs are %s", v, joinVerbs(verbs))
		}
	}
	return nil
}

// controlPath is the socket in the guest over which a program asks for an action: a line of JSON each way on a connection.
const controlPath = "/lab/control"

// controlAnswer is what comes back.
type controlAnswer struct {
	Failed *ActionError `json:"failed,omitempty"`
}

// refused is the answer to an action that was not carried out.
func refused(err error) []byte {
	var known *ActionError
	if !errors.As(err, &known) {
		known = &ActionError{Problem: err.Error()}
	}
	return encodeAnswer(controlAnswer{known})
}

// encodeAnswer never fails: an answer is text.
func encodeAnswer(a controlAnswer) []byte {
	b, _ := json.Marshal(a)
	return b
}

// askLimit bounds an action as seen from the guest, beyond the action's own time. A paused machine's clock stands still.
const askLimit = 90 * time.Second

// Ask asks the host, from a program in the guest, to do something to the machine, and returns when it is done. An action that
// was refused or failed is an *ActionError. It may be called from any goroutine.
func Ask(a Action) error { return ask(controlPath, a) }

func ask(path string, a Action) error {
	if err := a.validate(); err != nil {
		return err
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		return a.bad("no host to ask (%v): Config.Actions opens the way", err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(a.For + askLimit)); err != nil {
		return a.bad("%v", err)
	}
	var got controlAnswer
	if err := json.NewEncoder(c).Encode(a); err != nil {
		return a.bad("ask the host: %v", err)
	}
	if err := json.NewDecoder(io.LimitReader(c, maxFrame)).Decode(&got); err != nil {
		return a.bad("the host's answer: %v", err)
	}
	if got.Failed != nil {
		return got.Failed
	}
	return nil
}
