package lab

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
)

// guestControl passes a program's requests on to the host and the answers back.
type guestControl struct {
	link *guestLink

	mu      sync.Mutex
	next    uint32
	waiting map[uint32]chan []byte
}

// serve listens for programs; it does not return.
func (c *guestControl) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			// Whoever asked is gone if this fails.
			_, _ = conn.Write(append(c.relay(conn), '\n'))
		}()
	}
}

// relay sends one request to the host and returns the answer.
func (c *guestControl) relay(r io.Reader) []byte {
	line, err := bufio.NewReader(io.LimitReader(r, inlineMax)).ReadBytes('\n')
	if err != nil {
		return refused(fmt.Errorf("a request is one line of at most %d bytes: %w", inlineMax, err))
	}
	answer := make(chan []byte, 1)
	c.mu.Lock()
	if c.waiting == nil {
		c.waiting = map[uint32]chan []byte{}
	}
	c.next++
	id := c.next
	c.waiting[id] = answer
	c.mu.Unlock()
	c.link.send(frameAsk, append(uint32s(id), line...))
	return <-answer
}

// answered takes an answer from the host: a request's number and its JSON.
func (c *guestControl) answered(p []byte) {
	if len(p) < 4 {
		return
	}
	id := binary.LittleEndian.Uint32(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.waiting[id]; answer != nil {
		answer <- append([]byte(nil), p[4:]...)
		delete(c.waiting, id)
	}
}
