package passthru

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/nvme"
)

// PermissionRule is the rule that denied something.
type PermissionRule int

// Rules, in the order in which they apply.
const (
	// RuleNodeMode: mode and owner of the node, or a device filter, forbid to
	// open it.
	RuleNodeMode PermissionRule = iota + 1
	// RuleCapability: the command needs CAP_SYS_ADMIN.
	RuleCapability
	// RuleReadOnly: without CAP_SYS_ADMIN, the command needs a node that is
	// open for writing.
	RuleReadOnly
	// RuleEffectsLog: without CAP_SYS_ADMIN, the command has to be one that
	// the drive's Commands Supported and Effects log has as supported and
	// without effects beyond changing user data.
	RuleEffectsLog
	// RuleDriver: the feature belongs to the driver.
	RuleDriver
	// RuleConfinement: a security module, or a user namespace in which
	// capabilities do not count for devices.
	RuleConfinement
)

var ruleNames = [...]string{"", "node mode", "CAP_SYS_ADMIN", "read-only descriptor", "effects log", "driver", "confinement"}

// String names the rule.
func (r PermissionRule) String() string {
	if r < RuleNodeMode || r > RuleConfinement {
		return fmt.Sprintf("rule %d", int(r))
	}
	return ruleNames[r]
}

// PermissionError is EACCES or EPERM with the rule that said no. The kernel
// tells the errno alone: the rule follows from the command, the kernel's
// version and this process's rights, in the order of nvme_cmd_allowed
// (drivers/nvme/host/ioctl.c).
type PermissionError struct {
	Rule PermissionRule
	// Reason is the rule in words, with the remedy; "" where Err says it.
	Reason string
	Err    error
}

// Error implements error.
func (e *PermissionError) Error() string {
	if e.Reason == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + ": " + e.Reason
}

// Unwrap returns what failed, with the errno.
func (e *PermissionError) Unwrap() error { return e.Err }

// denied tells whether an error is one of permission that nobody has explained
// yet.
func denied(err error) bool {
	var explained *PermissionError
	return (errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)) && !errors.As(err, &explained)
}

// denyOpen explains a denied open; other errors stay as they are.
func denyOpen(err error) error {
	var node *sysfs.NodeError
	if !denied(err) || !errors.As(err, &node) {
		return err
	}
	return &PermissionError{Rule: RuleNodeMode, Err: err}
}

// deny explains a command that was denied; other errors stay as they are.
func deny(err error, cmd *nvme.Command, set nvme.CommandSet, writable bool) error {
	if err == nil || !denied(err) {
		return err
	}
	rule, reason := whoami().rule(cmd, set, writable)
	return &PermissionError{Rule: rule, Reason: reason, Err: err}
}

// caller is what the kernel's decision depends on besides the command.
type caller struct {
	release  string // of the kernel
	sysAdmin bool
}

func whoami() caller { return caller{release: sys.KernelRelease(), sysAdmin: sys.HaveSysAdmin()} }

// openCNS are the Identify data structures that anybody may read.
var openCNS = []nvme.CNS{nvme.CNSNamespace, nvme.CNSController, nvme.CNSSetNamespace, nvme.CNSSetController, nvme.CNSIndependentNamespace}

// driverFeatures belong to the driver, which newer kernels let nobody set.
var driverFeatures = []nvme.FID{nvme.FeatNumberOfQueues, nvme.FeatAPST, nvme.FeatHostMemoryBuffer, nvme.FeatKeepAlive, nvme.FeatHostBehavior}

// firstVendor is where the kernel takes opcodes of any set for vendor specific.
const firstVendor nvme.Opcode = 0x80

// rule finds why the kernel denied a command.
func (c caller) rule(cmd *nvme.Command, set nvme.CommandSet, writable bool) (PermissionRule, string) {
	const root = "run as root, or give this process CAP_SYS_ADMIN"
	name := cmd.Opcode.Name(set)
	admin := set == nvme.SetAdmin
	switch {
	case c.sysAdmin && admin && cmd.Opcode == nvme.AdminSetFeatures && slices.Contains(driverFeatures, nvme.FID(cmd.CDW10)):
		return RuleDriver, fmt.Sprintf("feature 0x%02x belongs to the driver, and this kernel lets nobody else set it", uint8(cmd.CDW10))
	case c.sysAdmin:
		return RuleConfinement, "this process has CAP_SYS_ADMIN, which does not count inside a user namespace; if it is in none, a security module (SELinux, AppArmor) forbids it: see the kernel log"
	case !kernelAtLeast(c.release, 6, 2):
		return RuleCapability, fmt.Sprintf("before Linux 6.2 every NVMe command needs CAP_SYS_ADMIN, and this is %s: %s", c.release, root)
	case cmd.Opcode >= firstVendor || cmd.Opcode == nvme.AdminFabrics:
		return RuleCapability, name + " is a vendor specific or fabrics command, which needs CAP_SYS_ADMIN: " + root
	case admin && (cmd.Opcode != nvme.AdminIdentify || !slices.Contains(openCNS, nvme.CNS(cmd.CDW10))):
		return RuleCapability, "of the admin commands only Identify of a namespace or controller (CNS 00h, 01h, 05h, 06h, 08h) goes without CAP_SYS_ADMIN: " + root
	case admin:
		return RuleConfinement, "the kernel lets everybody send this Identify, so a security module (SELinux, AppArmor) forbids it: see the kernel log"
	case !writable && (cmd.IsWrite() || ChangesDrive(set, cmd.Opcode)):
		return RuleReadOnly, "without CAP_SYS_ADMIN, a command that moves data to the drive or changes it needs a node that is open for writing: set Config.Writable, or " + root
	}
	return RuleEffectsLog, "without CAP_SYS_ADMIN, the drive's Commands Supported and Effects log must have " + name + " as supported and without effects beyond changing user data, and this drive's does not (or it has none): " + root
}

// kernelAtLeast compares a release such as "6.12.117+deb13-cloud-amd64"; one
// that cannot be read counts as new.
func kernelAtLeast(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return true
	}
	return a > major || a == major && b >= minor
}
