package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/nvmepass/nvmepass/internal/lab"
)

type ds []lab.Drive

func (d *ds) String() string { return "" }
func (d *ds) Set(s string) error {
	v, err := lab.ParseDrive(s)
	*d = append(*d, v)
	return err
}

func main() {
	var c lab.Config
	var d ds
	flag.StringVar(&c.Kernel, "k", "/tmp/k/k61", "")
	flag.StringVar(&c.Accel, "accel", "", "")
	flag.StringVar(&c.Binary, "bin", "", "")
	flag.StringVar(&c.OutDir, "out", "", "")
	flag.StringVar(&c.Append, "append", "", "")
	flag.IntVar(&c.CPUs, "cpus", 2, "")
	flag.IntVar(&c.PollQueues, "poll", 1, "")
	flag.DurationVar(&c.Timeout, "t", time.Minute, "")
	con := flag.Bool("console", false, "")
	flag.Var(&d, "drive", "")
	flag.Parse()
	if *con {
		c.Console = os.Stderr
	}
	c.Drives = d
	c.Program = flag.Args()
	c.Stdout, c.Stderr, c.Notes = os.Stdout, os.Stderr, os.Stderr
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := lab.Run(ctx, c)
	fmt.Fprintf(os.Stderr, "%+v\n%v\n", r, err)
}
