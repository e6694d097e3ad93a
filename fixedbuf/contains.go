package fixedbuf

// Holds tells whether b lies wholly within one slot of the arena, so that a
// command may move data to or from it.
func (a *Arena) Holds(b []byte) bool {
	if len(b) == 0 || a.mem == nil {
		return false
	}
	start, first := addressOf(b), a.Addr(0)
	if start < first {
		return false
	}
	slot, off := (start-first)/uint64(a.stride), (start-first)%uint64(a.stride)
	return slot < uint64(a.slots) && off < uint64(a.slotSize) && uint64(len(b)) <= uint64(a.slotSize)-off
}

// AddressOf is the address of b, for commands. Memory on the Go heap must be
// pinned by the caller.
func AddressOf(b []byte) uint64 { return addressOf(b) }
