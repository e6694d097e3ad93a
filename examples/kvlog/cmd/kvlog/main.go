// Command kvlog keeps keys and values on a raw NVMe namespace; see package
// kvlog.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nvmepass/nvmepass/examples/kvlog"
	"github.com/nvmepass/nvmepass/passthru"
)

const usage = `usage: kvlog COMMAND /dev/ngXnY ...

  format DEVICE             make an empty log; the first MiB has to be zero
  put DEVICE KEY [VALUE]    store VALUE, or standard input
  get DEVICE KEY            print the value
  delete DEVICE KEY
  list DEVICE               print all keys and the length of their values
  stat DEVICE               print what the log holds
`

// arguments behind the device: fewest and most.
var arguments = map[string][2]int{
	"format": {0, 0}, "put": {1, 2}, "get": {1, 1}, "delete": {1, 1}, "list": {0, 0}, "stat": {0, 0},
}

func main() {
	args := os.Args[1:]
	if len(args) < 2 || !fits(args[0], len(args)-2) {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(1)
	}
	if err := run(args[0], args[1], args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "kvlog:", err)
		os.Exit(2)
	}
}

func fits(command string, n int) bool {
	limits, ok := arguments[command]
	return ok && n >= limits[0] && n <= limits[1]
}

func run(command, path string, args []string) (err error) {
	dev, err := passthru.Open(path, &passthru.Config{Writable: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	store, err := kvlog.OnDevice(dev)
	if err != nil {
		return err
	}
	log, err := kvlog.Open(store, kvlog.Options{Format: command == "format"})
	if errors.Is(err, kvlog.ErrNotLog) {
		return fmt.Errorf("%w (here: kvlog format %s)", err, path)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	switch command {
	case "put":
		var value []byte
		if len(args) == 2 {
			value = []byte(args[1])
		} else if value, err = io.ReadAll(io.LimitReader(os.Stdin, kvlog.MaxValue+1)); err != nil {
			return err
		}
		return log.Put(args[0], value)
	case "get":
		value, err := log.Get(args[0])
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(value)
		return err
	case "delete":
		return log.Delete(args[0])
	case "list":
		return log.Iterate(func(key string, value []byte) error {
			_, err := fmt.Printf("%s\t%d\n", key, len(value))
			return err
		})
	case "stat":
		s := log.Stats()
		fmt.Printf("%d keys, %d records, %d of %d bytes used, opened %d times\n", s.Keys, s.Records, s.Used, s.Size, s.Generation-1)
	}
	return nil
}
