package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// frameType tells what a frame on the link between host and guest carries.
type frameType byte

// Frames from the guest.
const (
	frameHello  frameType = 'H' // init runs; payload: protocol version
	frameReady  frameType = 'R' // the drives are there, the program starts now; payload: the guest's time since boot in ms
	frameNote   frameType = 'N' // a line for the user from the guest's init
	frameStdout frameType = 'O'
	frameStderr frameType = 'E'
	frameFiles  frameType = 'F' // a piece of the tar stream of /out
	frameExit   frameType = 'X' // payload: exit code, signal (4 bytes each)
	frameAsk    frameType = 'A' // payload: number (4 bytes), then an Action as JSON
	frameFail   frameType = '!' // init could not run the program; payload: text
)

// Frames from the host.
const (
	frameSignal frameType = 's' // payload: signal number (4 bytes)
	frameFree   frameType = 'f' // payload: number (4 bytes) of a shared memory slot that was read
	frameAnswer frameType = 'a' // payload: number of the frameAsk (4 bytes), then a controlAnswer as JSON
	frameBye    frameType = 'b' // everything arrived: power off
)

const (
	protocolVersion = 1
	frameHeader     = 5 // type, length
	// maxFrame bounds the payload that travels over the serial port itself.
	maxFrame = 64 << 10
	// sharedFlag in the length says that the payload is a reference (slot, length) into shared memory.
	sharedFlag = 1 << 31
)

// Shared memory is cut into slots of one payload each. The guest owns a slot until it sends the frame that refers to it,
// the host until it sends the slot's number back.
const (
	slotSize   = 64 << 10
	slotCount  = 16
	sharedSize = slotSize * slotCount
)

// inlineMax is the largest payload for which the serial port beats a detour over shared memory.
const inlineMax = 256

func appendFrame(b []byte, t frameType, payload []byte) []byte {
	b = append(b, byte(t))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

func appendSharedFrame(b []byte, t frameType, slot, length int) []byte {
	b = append(b, byte(t))
	b = binary.LittleEndian.AppendUint32(b, 8|sharedFlag)
	b = binary.LittleEndian.AppendUint32(b, uint32(slot))
	return binary.LittleEndian.AppendUint32(b, uint32(length))
}

// readFrame reads one frame. The payload is valid until the next call with the same buffer, which is grown when needed. For a
// shared frame, slot is its slot and payload has the length of the data to fetch; otherwise slot is -1.
func readFrame(r io.Reader, buf *[]byte) (t frameType, payload []byte, slot int, err error) {
	var h [frameHeader + 8]byte
	if _, err := io.ReadFull(r, h[:frameHeader]); err != nil {
		return 0, nil, -1, err
	}
	t = frameType(h[0])
	n := binary.LittleEndian.Uint32(h[1:])
	slot = -1
	shared := n&sharedFlag != 0
	n &^= sharedFlag
	if shared {
		if n != 8 {
			return 0, nil, -1, fmt.Errorf("lab: link out of step: shared frame %q of %d bytes, want 8", t, n)
		}
		if _, err := io.ReadFull(r, h[frameHeader:]); err != nil {
			return 0, nil, -1, noEOF(err)
		}
		s := binary.LittleEndian.Uint32(h[frameHeader:])
		n = binary.LittleEndian.Uint32(h[frameHeader+4:])
		if s >= slotCount || n > slotSize {
			return 0, nil, -1, fmt.Errorf("lab: link out of step: shared frame %q in slot %d with %d bytes, limits are %d and %d", t, s, n, slotCount-1, slotSize)
		}
		slot = int(s)
	}
	if n > maxFrame {
		return 0, nil, -1, fmt.Errorf("lab: link out of step: frame %q of %d bytes, the limit is %d", t, n, maxFrame)
	}
	if cap(*buf) < int(n) {
		*buf = make([]byte, max(int(n), 4096))
	}
	payload = (*buf)[:n]
	if shared {
		return t, payload, slot, nil
	}
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, -1, noEOF(err)
	}
	return t, payload, -1, nil
}

// noEOF turns the end of the stream inside a frame into an error of its own.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func uint32s(v ...uint32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// uint32At returns the i-th number of a payload, and whether the payload has it.
func uint32At(p []byte, i int) (uint32, bool) {
	if len(p) < 4*i+4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(p[4*i:]), true
}
