package uringcmd

import (
	"strings"

	"github.com/nvmepass/nvmepass/internal/uapi"
)

// Flags is a set of IORING_SETUP_* flags.
type Flags uint32

// Flags that this package sets, in the order in which the kernel got them.
const (
	IOPoll       Flags = uapi.SetupIOPoll
	SQPollThread Flags = uapi.SetupSQPoll
	SQAffinity   Flags = uapi.SetupSQAff
	CQSize       Flags = uapi.SetupCQSize
	RDisabled    Flags = uapi.SetupRDisabled
	SubmitAll    Flags = uapi.SetupSubmitAll
	CoopTaskrun  Flags = uapi.SetupCoopTaskrun
	SQE128       Flags = uapi.SetupSQE128
	CQE32        Flags = uapi.SetupCQE32
	SingleIssuer Flags = uapi.SetupSingleIssuer
	DeferTaskrun Flags = uapi.SetupDeferTaskrun
	NoSQArray    Flags = uapi.SetupNoSQArray
	HybridIOPoll Flags = uapi.SetupHybridIOPoll
	SQRewind     Flags = uapi.SetupSQRewind
)

var flagNames = []struct {
	flag  Flags
	name  string
	since string // first kernel
}{
	{IOPoll, "IOPOLL", "5.1"},
	{SQPollThread, "SQPOLL", "5.1"},
	{SQAffinity, "SQ_AFF", "5.1"},
	{CQSize, "CQSIZE", "5.5"},
	{RDisabled, "R_DISABLED", "5.10"},
	{SubmitAll, "SUBMIT_ALL", "5.18"},
	{CoopTaskrun, "COOP_TASKRUN", "5.19"},
	{SQE128, "SQE128", "5.19"},
	{CQE32, "CQE32", "5.19"},
	{SingleIssuer, "SINGLE_ISSUER", "6.0"},
	{DeferTaskrun, "DEFER_TASKRUN", "6.1"},
	{NoSQArray, "NO_SQARRAY", "6.6"},
	{HybridIOPoll, "HYBRID_IOPOLL", "6.13"},
	{SQRewind, "SQ_REWIND", "7.0"},
}

// Names lists the flags as the kernel's headers name them, without prefix.
func (f Flags) Names() []string {
	names := []string{}
	for _, n := range flagNames {
		if f&n.flag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// String joins Names with "|".
func (f Flags) String() string { return strings.Join(f.Names(), "|") }

// rungs are the optional flags, newest first, with what must go with each.
var rungs = []Flags{
	SQRewind,
	HybridIOPoll,
	NoSQArray | SQRewind,
	DeferTaskrun,
	SingleIssuer | DeferTaskrun,
	CoopTaskrun,
	SubmitAll,
}

// ladder lists the flag sets to try in turn: all that is wanted first, then
// without the newest optional flag, and so on down to the essential ones.
func ladder(want Flags) []Flags {
	sets := []Flags{want}
	for _, drop := range rungs {
		if next := sets[len(sets)-1] &^ drop; next != sets[len(sets)-1] {
			sets = append(sets, next)
		}
	}
	return sets
}
