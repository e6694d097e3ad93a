package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// monitor speaks QMP, QEMU's monitor protocol (docs/interop/qmp-spec.txt of QEMU), over a connected stream.
type monitor struct {
	w io.Writer

	mu      sync.Mutex
	next    int
	waiting map[int]chan qmpMessage
	events  map[qmpEvent][]chan struct{}
	err     error         // why there is no monitor any more
	closed  chan struct{} // with err
}

// qmpEvent is an event of one device.
type qmpEvent struct{ name, device string }

// qmpMessage is whatever QEMU sends.
type qmpMessage struct {
	ID    *int `json:"id"`
	Error *struct {
		Class string `json:"class"`
		Desc  string `json:"desc"`
	} `json:"error"`
	Event string `json:"event"`
	Data  struct {
		Device string `json:"device"`
	} `json:"data"`
}

// qmpLimit bounds one command. QEMU answers between two turns of its main loop, which a busy host delays.
const qmpLimit = 30 * time.Second

// newMonitor greets QEMU; rw stays the caller's to close, which ends the monitor.
func newMonitor(rw io.ReadWriter) (*monitor, error) {
	m := &monitor{w: rw, waiting: map[int]chan qmpMessage{}, events: map[qmpEvent][]chan struct{}{}, closed: make(chan struct{})}
	go m.read(rw)
	return m, m.execute("qmp_capabilities", nil)
}

// read hands out messages until the stream ends.
func (m *monitor) read(r io.Reader) {
	d := json.NewDecoder(bufio.NewReader(r))
	var err error
	for err == nil {
		var msg qmpMessage
		if err = d.Decode(&msg); err != nil {
			break
		}
		m.mu.Lock()
		if msg.ID != nil {
			if c := m.waiting[*msg.ID]; c != nil {
				c <- msg
				delete(m.waiting, *msg.ID)
			}
		}
		e := qmpEvent{msg.Event, msg.Data.Device}
		for _, c := range m.events[e] {
			close(c)
		}
		delete(m.events, e)
		m.mu.Unlock()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = fmt.Errorf("QEMU's monitor is gone: %w", err)
	close(m.closed)
}

// execute sends a command and waits for its answer. arguments may be nil.
func (m *monitor) execute(command string, arguments *jsonObject) error {
	c := make(chan qmpMessage, 1)
	m.mu.Lock()
	m.next++
	id := m.next
	m.waiting[id] = c
	msg := object("execute", command, "id", id)
	if arguments != nil {
		msg.set("arguments", arguments)
	}
	_, err := io.WriteString(m.w, msg.String()+"\n")
	m.mu.Unlock()
	if err != nil {
		return fmt.Errorf("QEMU's monitor: %s: %w", command, err)
	}
	t := time.NewTimer(qmpLimit)
	defer t.Stop()
	select {
	case got := <-c:
		if got.Error != nil {
			return fmt.Errorf("QEMU refused %s: %s", command, got.Error.Desc)
		}
		return nil
	case <-m.closed:
		return m.err
	case <-t.C:
		return fmt.Errorf("QEMU did not answer %s within %v", command, qmpLimit)
	}
}

// await returns a function that waits for an event of a device which comes after this call.
func (m *monitor) await(event, device string) func(limit time.Duration) error {
	c := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	e := qmpEvent{event, device}
	m.events[e] = append(m.events[e], c)
	return func(limit time.Duration) error {
		t := time.NewTimer(limit)
		defer t.Stop()
		select {
		case <-c:
			return nil
		case <-m.closed:
			return m.err
		case <-t.C:
			return errors.New("the guest did not let go of it within " + limit.String())
		}
	}
}
