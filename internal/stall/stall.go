// Package stall tells a drive that does not answer from a process that did not
// look: one that was stopped (SIGSTOP), frozen or starved.
package stall

import "time"

// longestLook bounds what one interval between two looks counts for. Whoever
// waits looks several times a second.
const longestLook = time.Second

// Clock adds up the time in which nothing came back, as seen by somebody who
// looks now and then. Of an interval between two looks, at most a second counts,
// and at most half of the limit: whatever the process missed while it did not
// run, it looks again before the limit can be over. The zero value is ready; it
// belongs to one goroutine.
type Clock struct {
	last time.Time
	idle time.Duration
}

// Reset starts anew, because something came back.
func (c *Clock) Reset() { *c = Clock{} }

// Over is a look: it tells whether nothing has come back for longer than limit.
// The first one after a Reset starts the clock.
func (c *Clock) Over(limit time.Duration) bool { return c.at(time.Now(), limit) }

// Started tells whether there was a look since the last Reset.
func (c *Clock) Started() bool { return !c.last.IsZero() }

func (c *Clock) at(now time.Time, limit time.Duration) bool {
	if c.Started() {
		c.idle += min(now.Sub(c.last), longestLook, limit/2)
	}
	c.last = now
	return c.idle > limit
}

// Wait waits for done to be closed, for as long as Over would have it, and tells
// whether it was.
func Wait(done <-chan struct{}, limit time.Duration) bool {
	look := time.NewTicker(LookEvery(limit))
	defer look.Stop()
	var idle Clock
	for {
		select {
		case <-done:
			return true
		case <-look.C:
			if idle.Over(limit) {
				return false
			}
		}
	}
}

// LookEvery is how often to look so that a limit holds closely.
func LookEvery(limit time.Duration) time.Duration {
	return min(max(limit/8, time.Millisecond), 100*time.Millisecond)
}
