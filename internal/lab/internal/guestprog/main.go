// Command guestprog is the program that the lab's own tests run in the guest: it shows what it sees, and ends in every way a
// program can end.
package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nvmepass/nvmepass/internal/lab"
)

// badInit is set by the linker for the test of an init that dies.
var badInit string

func main() {
	if badInit != "" && os.Getpid() == 1 {
		os.Exit(7)
	}
	if lab.IsInit() {
		lab.Init()
	}
	if len(os.Args) < 2 {
		fatal(fmt.Errorf("no command"))
	}
	args := os.Args[2:]
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	switch os.Args[1] {
	case "exit":
		os.Exit(number(arg(0)))
	case "kill":
		check(syscall.Kill(os.Getpid(), syscall.Signal(number(arg(0)))))
		time.Sleep(time.Minute)
	case "emit":
		emit(number(arg(0)), number(arg(1)))
	case "out":
		out(number(arg(0)))
	case "see":
		see()
	case "drives":
		drives()
	case "ask":
		ask()
	case "interrupted":
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		fmt.Println("waiting")
		<-c
		fmt.Println("interrupted")
		os.Exit(42)
	case "stubborn":
		signal.Ignore(os.Interrupt)
		fmt.Println("waiting")
		time.Sleep(time.Hour)
	case "orphan":
		cmd := exec.Command(os.Args[0], "stubborn")
		cmd.Path = "/init"
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		check(cmd.Start())
		os.Exit(5)
	case "crash":
		check(os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0))
		time.Sleep(time.Minute)
	case "read":
		read(arg(0), number(arg(1)))
	case "host":
		// The host's side, so that a test can kill it.
		_, err := lab.Run(context.Background(), lab.Config{Kernel: arg(0), Program: []string{"nvmepass", "stubborn"}, Stdout: os.Stdout, Timeout: 5 * time.Minute})
		check(err)
	case "write":
		f, err := os.OpenFile(arg(0), os.O_WRONLY|os.O_SYNC, 0)
		check(err)
		_, err = f.WriteAt([]byte(strings.Repeat(arg(2), 512/len(arg(2)))), int64(number(arg(1))))
		check(err)
		check(f.Close())
	default:
		fatal(fmt.Errorf("unknown command %q", os.Args[1]))
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "guestprog:", err)
	os.Exit(1)
}

func check(err error) {
	if err != nil {
		fatal(err)
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	check(err)
	return n
}

// emit writes random bytes to both streams at once; the seeds are 1 and 2.
func emit(stdout, stderr int) {
	done := make(chan error, 2)
	for i, f := range []*os.File{os.Stdout, os.Stderr} {
		n := []int{stdout, stderr}[i]
		r := rand.NewChaCha8([32]byte{byte(i + 1)})
		go func() {
			_, err := io.CopyN(f, r, int64(n))
			done <- err
		}()
	}
	check(<-done)
	check(<-done)
}

// out leaves files in /out, one of them of n bytes.
func out(n int) {
	check(os.MkdirAll("/out/sub/empty", 0o755))
	check(os.WriteFile("/out/sub/hello.txt", []byte("hello\n"), 0o644))
	check(os.Symlink("/etc", "/out/link"))
	f, err := os.Create("/out/big.bin")
	check(err)
	_, err = io.CopyN(f, rand.NewChaCha8([32]byte{3}), int64(n))
	check(err)
	check(f.Close())
}

// see shows the program's surroundings.
func see() {
	wd, err := os.Getwd()
	check(err)
	fmt.Println("cwd", wd)
	fmt.Println("pid1", os.Getpid() == 1)
	fmt.Println("inside", lab.Inside())
	fmt.Printf("args %q\n", os.Args)
	env := os.Environ()
	slices.Sort(env)
	fmt.Printf("env %q\n", env)
	var l syscall.Rlimit
	check(syscall.Getrlimit(8, &l)) // RLIMIT_MEMLOCK
	fmt.Println("memlock unlimited", l.Cur == ^uint64(0))
	for _, p := range []string{"testdata/golden.txt", "/data/in.txt"} {
		if b, err := os.ReadFile(p); err == nil {
			fmt.Printf("file %s %q\n", p, b)
		}
	}
}

// drives shows one line per namespace.
func drives() {
	found, err := filepath.Glob("/sys/class/nvme/nvme*")
	check(err)
	for _, c := range found {
		fmt.Println("controller", filepath.Base(c), text(c+"/serial"))
	}
	if name, err := lab.FindNamespace("B", 17); err == nil {
		fmt.Println("found B 17", text("/sys/class/block/"+name+"/nsid") == "17")
	}
	found, err = filepath.Glob("/dev/ng*n*")
	check(err)
	for _, n := range found {
		name := filepath.Base(n)
		block := "/sys/class/block/nvme" + strings.TrimPrefix(name, "ng")
		fmt.Println(name, "nsid", text(block+"/nsid"), "sectors", text(block+"/size"), "lba", text(block+"/queue/logical_block_size"),
			"poll", text(block+"/queue/io_poll"), "maxkb", text(block+"/queue/max_hw_sectors_kb"), "zoned", text(block+"/queue/zoned"))
	}
}

// ask has the host pull and plug the drive named pluggable, and shows what there is in between, then asks for what is not allowed.
func ask() {
	show := func(what string) {
		left, err := filepath.Glob("/sys/class/nvme/nvme*/serial")
		check(err)
		fmt.Println(what, len(left), "drives")
	}
	show("at first")
	check(lab.Ask(lab.Action{Verb: lab.VerbPause, For: time.Second}))
	check(lab.Ask(lab.Action{Verb: lab.VerbUnplug, Drive: "pluggable"}))
	show("without")
	check(lab.Ask(lab.Action{Verb: lab.VerbResize, Drive: "pluggable", Size: 2 << 20}))
	check(lab.Ask(lab.Action{Verb: lab.VerbPlug, Drive: "pluggable"}))
	for name := ""; name == ""; time.Sleep(10 * time.Millisecond) {
		name, _ = lab.FindNamespace("pluggable", 1)
		if size := text("/sys/class/block/" + name + "/size"); name != "" {
			fmt.Println("it has", size, "sectors")
		}
	}
	show("again")
	fmt.Println(lab.Ask(lab.Action{Verb: lab.VerbThrottle, Drive: "pluggable"}))
}

func text(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return "-"
	}
	return strings.TrimSpace(string(b))
}

// read shows the first bytes at an offset.
func read(file string, off int) {
	f, err := os.Open(file)
	check(err)
	b := make([]byte, 512)
	_, err = f.ReadAt(b, int64(off))
	fmt.Printf("%q %v\n", b[:8], err)
}
