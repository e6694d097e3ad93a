package passthru

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/nvme"
)

func identify(cns nvme.CNS) nvme.Command {
	return nvme.Command{Opcode: nvme.AdminIdentify, CDW10: uint32(cns)}
}

// TestB32RuleThatSaidNo: which rule of nvme_cmd_allowed applies.
func TestB32RuleThatSaidNo(t *testing.T) {
	user := func(release string) caller { return caller{release: release} }
	root := caller{release: "7.3.4", sysAdmin: true}
	op := func(o nvme.Opcode) nvme.Command { return nvme.Command{Opcode: o} }
	for _, tt := range []struct {
		who      caller
		set      nvme.CommandSet
		cmd      nvme.Command
		writable bool
		rule     PermissionRule
		text     string
	}{
		{user("6.1.0-50-cloud-amd64"), nvme.SetNVM, op(nvme.OpRead), true, RuleCapability, "before Linux 6.2"},
		{user("5.19"), nvme.SetAdmin, identify(nvme.CNSController), true, RuleCapability, "this is 5.19"},
		{user("6.2.0"), nvme.SetNVM, op(nvme.OpRead), false, RuleEffectsLog, "must have read as supported"},
		{user("6.2.0"), nvme.SetNVM, op(nvme.OpWrite), false, RuleReadOnly, "Config.Writable"},
		{user("6.2.0"), nvme.SetNVM, op(nvme.OpWrite), true, RuleEffectsLog, "must have write as supported"},
		{user("6.2.0"), nvme.SetNVM, op(nvme.OpCompare), false, RuleReadOnly, "moves data to the drive"},
		{user("6.2.0"), nvme.SetNVM, op(nvme.OpWriteZeroes), false, RuleReadOnly, "or changes it"},
		{user("6.2.0"), nvme.SetNVM, op(0x90), true, RuleCapability, "vendor-0x90"},
		{user("7.3.4"), nvme.SetAdmin, identify(nvme.CNSController), false, RuleConfinement, "security module"},
		{user("7.3.4"), nvme.SetAdmin, identify(nvme.CNSNamespaceDescriptors), false, RuleCapability, "only Identify"},
		{user("7.3.4"), nvme.SetAdmin, op(nvme.AdminGetLogPage), true, RuleCapability, "only Identify"},
		{user("7.3.4"), nvme.SetAdmin, op(nvme.AdminFormatNVM), true, RuleCapability, "format-nvm"},
		{root, nvme.SetNVM, op(nvme.OpRead), true, RuleConfinement, "user namespace"},
		{root, nvme.SetAdmin, nvme.NewSetFeatures(0, nvme.FeatNumberOfQueues, 1, nvme.FeatureOptions{}), true, RuleDriver, "feature 0x07"},
		{root, nvme.SetAdmin, nvme.NewSetFeatures(0, nvme.FeatTemperature, 1, nvme.FeatureOptions{}), true, RuleConfinement, "security module"},
	} {
		rule, text := tt.who.rule(&tt.cmd, tt.set, tt.writable)
		require.Equal(t, tt.rule, rule, "%v %s on %s", tt.set, tt.cmd.Opcode.Name(tt.set), tt.who.release)
		require.Contains(t, text, tt.text)
	}
	require.Equal(t, "effects log", RuleEffectsLog.String())
	require.Equal(t, "rule 99", PermissionRule(99).String())
}

func TestKernelAtLeast(t *testing.T) {
	for release, want := range map[string]bool{"6.1.192": false, "6.2.0": true, "6.12.117+deb13": true, "5.19": false, "7.0.0-rc2": true, "10.0": true, "strange": true} {
		require.Equal(t, want, kernelAtLeast(release, 6, 2), release)
	}
}

// TestB32PermissionErrorKeepsItsCause, is made once, and only of what was
// denied.
func TestB32PermissionErrorKeepsItsCause(t *testing.T) {
	cmd := nvme.Command{Opcode: nvme.OpRead}
	err := deny(fmt.Errorf("x: %w", &KernelError{Op: "read", Errno: syscall.EACCES}), &cmd, nvme.SetNVM, false)
	var p *PermissionError
	require.ErrorAs(t, err, &p)
	require.ErrorIs(t, err, syscall.EACCES)
	require.ErrorIs(t, err, fs.ErrPermission)
	var k *KernelError
	require.ErrorAs(t, err, &k)
	require.Same(t, err, deny(err, &cmd, nvme.SetNVM, true))
	require.NoError(t, deny(nil, &cmd, nvme.SetNVM, true))
	other := errors.New("other")
	require.Same(t, other, deny(other, &cmd, nvme.SetNVM, true))
	require.Same(t, other, denyOpen(other))

	err = denyOpen(fmt.Errorf("y: %w", sysfs.OpenError("/dev/null", syscall.EACCES)))
	require.ErrorAs(t, err, &p)
	require.Equal(t, RuleNodeMode, p.Rule)
	require.ErrorContains(t, err, "mode of the node is 0666")
}

// TestB58UnsupportedNamesTheKernel that has the feature.
func TestB58UnsupportedNamesTheKernel(t *testing.T) {
	err := fmt.Errorf("x: %w", &KernelError{Op: "read", Errno: syscall.EOPNOTSUPP})
	require.ErrorIs(t, err, ErrNotSupported)
	require.ErrorIs(t, err, syscall.EOPNOTSUPP)
	var u *UnsupportedError
	require.ErrorAs(t, err, &u)
	require.Equal(t, UnsupportedError{Feature: "polled passthrough", MinimumKernel: "6.1"}, *u)
	require.ErrorContains(t, u, "polled passthrough needs Linux 6.1 or later; this is ")
	require.NotErrorIs(t, &KernelError{Errno: syscall.EINVAL}, ErrNotSupported)
}
