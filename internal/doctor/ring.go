package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nvmepass/nvmepass/internal/uapi"
	"github.com/nvmepass/nvmepass/uringcmd"
)

const disabledPath = "/proc/sys/kernel/io_uring_disabled"

// Rings is what io_uring of a kernel offers.
type Rings struct {
	Flags uringcmd.Flags
	// Commands: they can carry NVMe commands.
	Commands bool
}

func probe() (Rings, error) {
	p, err := uringcmd.ProbeKernel()
	if err != nil {
		return Rings{}, err
	}
	const big = uringcmd.SQE128 | uringcmd.CQE32
	return Rings{Flags: p.Flags, Commands: p.Supports(uapi.OpURingCmd) && p.Flags&big == big}, nil
}

func (m *Machine) ring() []Finding {
	const id, source = "io-uring", "io_uring_setup"
	p, err := m.Ring()
	switch {
	case err != nil:
		return []Finding{m.noRing(err)}
	case !p.Commands:
		return []Finding{{
			ID: id, Severity: Problem, Found: "io_uring is there, without entries for NVMe commands (SQE128, CQE32, URING_CMD); flags: " + p.Flags.String(), Source: source,
			Why: "passthrough needs them", Advice: "boot Linux 6.1 or later",
		}}
	}
	return []Finding{fine(id, "set-up flags: "+strings.Join(p.Flags.Names(), ", "), source)}
}

func (m *Machine) noRing(err error) Finding {
	f := Finding{ID: "io-uring", Severity: Problem, Found: err.Error(), Source: "io_uring_setup", Why: "passthrough and all paths of a comparison go through io_uring"}
	value := m.read(disabledPath)
	seccomp := ""
	for line := range strings.Lines(m.read("/proc/self/status")) {
		if mode, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			seccomp = strings.TrimSpace(mode)
		}
	}
	switch {
	case value != "" && value != "0":
		f.Found, f.Source = fmt.Sprintf("kernel.io_uring_disabled is %s: %s", value, map[string]string{
			"1": "only processes with CAP_SYS_ADMIN or of the group kernel.io_uring_group may make rings", "2": "nobody may make rings",
		}[value]), disabledPath
		f.Fix, f.Undo = []string{"sudo sysctl kernel.io_uring_disabled=0"}, []string{"sudo sysctl kernel.io_uring_disabled=" + value}
	case seccomp == "2":
		f.Source = "/proc/self/status"
		f.Found += "; a seccomp filter is on (Seccomp: 2)"
		f.Advice = "run outside of the container, or let its seccomp profile pass io_uring_setup, io_uring_enter and io_uring_register (docker run --security-opt seccomp=PROFILE.json)"
	case errors.Is(err, uringcmd.ErrNotSupported):
		f.Advice = "boot Linux 6.1 or later"
	default:
		f.Advice, f.Fix = "look for a security module that forbids it", []string{"sudo dmesg | grep -i denied"}
	}
	return f
}

// enoughMemlock holds the buffers of common runs: 128 commands of 128 KiB.
const enoughMemlock = 128 * 128 << 10

func (m *Machine) memlock() []Finding {
	const id, source = "memlock", "getrlimit(RLIMIT_MEMLOCK)"
	switch {
	case m.IPCLock:
		return []Finding{fine(id, "CAP_IPC_LOCK: locked memory is not limited", "capget")}
	case m.Memlock == ^uint64(0):
		return []Finding{fine(id, "locked memory is not limited", source)}
	case m.Memlock >= enoughMemlock:
		return []Finding{fine(id, fmt.Sprintf("%d KiB of locked memory", m.Memlock>>10), source)}
	}
	f := Finding{
		ID: id, Severity: Note, Found: fmt.Sprintf("%d KiB of locked memory for all rings of this user", m.Memlock>>10), Source: source,
		Why:  fmt.Sprintf("fixed buffers are locked memory: 128 commands of 128 KiB need %d KiB; without enough, nvmepass uses plain buffers and says so", enoughMemlock>>10),
		Fix:  []string{"sudo prlimit --memlock=unlimited --pid $$"},
		Undo: []string{fmt.Sprintf("sudo prlimit --memlock=%d --pid $$", m.Memlock)},
	}
	if m.Memlock < 1<<20 {
		f.Severity = Warning
	}
	return []Finding{f}
}
