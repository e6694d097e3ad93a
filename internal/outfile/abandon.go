package outfile

import (
	"errors"
	"os"
	"sync"
)

// unfinished are the files that have not taken their target's place yet.
var unfinished struct {
	sync.Mutex
	names     map[string]bool
	abandoned bool
}

// Abandon removes what is written at this moment, for a process that is about to be
// ended by a signal. Write fails from then on.
func Abandon() {
	u := &unfinished
	u.Lock()
	defer u.Unlock()
	u.abandoned = true
	for name := range u.names {
		_ = os.Remove(name)
	}
}

var errAbandoned = errors.New("the process is ending")

// begin opens a file that Abandon knows of.
func begin(name string) (*os.File, error) {
	u := &unfinished
	u.Lock()
	defer u.Unlock()
	if u.abandoned {
		return nil, errAbandoned
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		if u.names == nil {
			u.names = map[string]bool{}
		}
		u.names[name] = true
	}
	return f, err
}

// place has a file of begin take the place of path.
func place(name, path string) error {
	u := &unfinished
	u.Lock()
	defer u.Unlock()
	if u.abandoned {
		return errAbandoned
	}
	if err := os.Rename(name, path); err != nil {
		return err
	}
	delete(u.names, name)
	return nil
}

// drop removes a file of begin.
func drop(name string) error {
	u := &unfinished
	u.Lock()
	defer u.Unlock()
	delete(u.names, name)
	if u.abandoned {
		return nil // it is gone
	}
	return os.Remove(name)
}
