package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// reportFrom writes the page on records that earlier soaks left.
func reportFrom(page string, paths []string) error {
	var records []*Record
	for _, path := range paths {
		r, err := readRecord(path)
		if err != nil {
			return err
		}
		records = append(records, r)
	}
	return writeReport(page, records)
}

func writeReport(page string, records []*Record) error {
	return os.WriteFile(page, report(records), 0o644)
}

const reportHead = `# Soak

` + "`make soak`" + ` keeps every way to a drive busy at once, under faults, with blocks that say what they are, and finds out whether anything is lost,
mixed up, leaked or left hanging. It needs no drive: it runs in the lab.

    make soak                                          # ten minutes on the newest kernel
    make soak SOAK_ARGS="-for 8h -kernel all"          # as long as you like, on 6.1, 6.12 and the newest
    make soak SOAK_ARGS="-blocks 10M -seed 7 -o soak.json"
    go run ./test/soak -report docs/soak.md soak.json  # this page, from records

On a drive of yours, whose first 64 MiB (` + "`-span`" + `) are overwritten; faults that concern the machine (resets, rescans, CPUs) are then left out:

    CGO_ENABLED=0 go build -o soak ./test/soak && sudo ./soak -device /dev/ng0n1 -allow-write

## What it does

**Traffic.** Eleven workers run side by side; each takes a namespace at random, opens a queue, device or file with settings drawn anew, sends some hundred
operations, closes it, and begins again. Paths: ` + "`passthru.Queue`" + ` and the block path, each by interrupt and polled; ` + "`passthru.Device`" + ` from 1 to 24
goroutines, by ring and by ioctl, some with contexts that end at once, every third closed under their hands; ` + "`os.File`" + ` with O_DIRECT; a process of its own that
writes and is killed. Operations: reads, writes, scattered and gathered ones, compares (also with data that differs), write zeroes, deallocations, flushes,
of random places, lengths and alignments, with metadata where the drive has it. A quarter go to the same 256 blocks, so that they meet.

**Judgement.** Every block written carries its LBA, the number of its write, the path that wrote it, and a checksum. A model in memory holds, block by block, what a
read may find: the last write that was acknowledged, and those that are under way, failed, or were given up since it began. Every read is compared byte by byte
with these. What a read found rules out the others: a write that failed may have landed or not, but not now this, now that. A read that meets a
write may find a mixture of the two, and only then.

**Quiet moments.** After 15 s everything is closed, killed processes' commands are made to end by a reset, and every block of every namespace is read by two
paths, one of which did not write it. Then descriptors, mappings, locked and pinned memory, goroutines, threads and heap are counted; what
there is more of at the end than after the first rounds is a leak. At the very end every path reads everything.

**Bounds.** An operation that takes longer than a minute (` + "`-hang`" + `) ends the run with a dump of all goroutines; a guest that says nothing for two is ended too.
Each path's operations have to add up: issued = ok + failed + cancelled. A failure that no fault explains (an error of the drive where none was
injected, a cancellation without a reset) fails the run.

That it can fail is tested: ` + "`go test ./test/soak`" + ` plants wrong, lost, misdirected, torn and stale blocks, and leaks, and requires their reports.

## What it leaves out

- QEMU writes a block's data and its metadata one after the other, so that on drives with metadata no two writes of the same block are sent at once.
- Kernels before 6.6 crash under some polled passthrough ([design](design.md)): there, one ring polls a drive at a time, its controller is not reset meanwhile,
  and nothing is sent that the drive has to refuse.
- Hot-unplug, resized namespaces and full machines are cases of the fault laboratory (` + "`make faults`" + `), not of the soak.
`

// report is the page.
func report(records []*Record) []byte {
	var b bytes.Buffer
	b.WriteString(reportHead)
	b.WriteString("\n## Runs\n\nWritten by `-report` from the records of these commands.\n\n")
	b.WriteString("| kernel | machine | seed | time | rounds | blocks verified | blocks written | mismatches | unexplained failures | leaks | hangs |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	var runs []*Run
	for _, rec := range records {
		for i := range rec.Runs {
			runs = append(runs, &rec.Runs[i])
		}
	}
	for _, r := range runs {
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %d | %s | %s | %d | %d | %d | %d |\n", r.Kernel, r.where(), r.Seed, minutes(r.Seconds), r.Rounds,
			count(r.Verified), count(r.Written), r.Mismatched, r.Unexplained, len(r.Leaks), toInt(r.Hang != ""))
	}
	for _, rec := range records {
		for i := range rec.Runs {
			rec.Runs[i].details(&b, rec.Command)
		}
	}
	return b.Bytes()
}

func (r *Run) where() string {
	if r.Emulated {
		return "EMULATED, " + r.Machine
	}
	return r.Machine
}

func (r *Run) details(b *bytes.Buffer, command []string) {
	fmt.Fprintf(b, "\n### %s, seed %d\n\n    %s\n\n", r.Kernel, r.Seed, commandLine(command))
	fmt.Fprintf(b, "%s on %s. %s blocks were read while they were written.\n", capital(r.verdict()), r.Started.Format("2 January 2006"), count(r.Mixed))
	fmt.Fprintf(b, "\nNamespaces: %s.\n", strings.Join(r.Drives, "; "))
	b.WriteString("\n| path | opened | issued | ok | failed | cancelled | blocks written | blocks verified |\n|---|---|---|---|---|---|---|---|\n")
	for _, p := range r.Paths {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", p.Path, count(p.Opened), count(p.Issued), count(p.OK), count(p.Failed), count(p.Cancelled), count(p.Written), count(p.Verified))
	}
	b.WriteString("\n| fault | times |\n|---|---|\n")
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(b, "| %s | %s |\n", kind, count(r.Faults[kind]))
	}
	if n := len(r.Usage); n > 0 {
		b.WriteString("\n| held at a quiet moment | descriptors | mappings | locked KiB | pinned KiB | goroutines | threads | heap KiB |\n|---|---|---|---|---|---|---|---|\n")
		shown := []int{0, min(2, n-1), n / 2, n - 1}
		slices.Sort(shown)
		for _, i := range slices.Compact(shown) {
			u := &r.Usage[i]
			fmt.Fprintf(b, "| after %s | %d | %d | %d | %d | %d | %d | %d |\n", minutes(u.Seconds), u.FDs, u.Mappings, u.LockedKiB, u.PinnedKiB, u.Goroutines, u.Threads, u.HeapKiB)
		}
	}
	for _, m := range r.Mismatches {
		fmt.Fprintf(b, "\n- %s\n", m.Text())
	}
	for _, f := range r.Failures {
		fmt.Fprintf(b, "\n- %s\n", f.Text())
	}
	for _, l := range r.Leaks {
		fmt.Fprintf(b, "\n- LEAK: %s\n", l)
	}
}

// count groups digits by thousands.
func count(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func minutes(seconds float64) string {
	return fmt.Sprintf("%d min %02d s", int(seconds)/60, int(seconds)%60)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// commandLine is a soak as it is typed, without where its files went.
func commandLine(args []string) string {
	line := []string{"go run ./test/soak"}
	for i := 0; i < len(args); i++ {
		switch name, _, joined := strings.Cut(strings.TrimLeft(args[i], "-"), "="); {
		case name != "o" && name != "report":
			line = append(line, args[i])
		case !joined:
			i++ // its value
		}
	}
	return strings.Join(line, " ")
}
