package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvmepass/nvmepass/internal/compare"
	"github.com/nvmepass/nvmepass/internal/iosetup"
	"github.com/nvmepass/nvmepass/internal/jobs"
	"github.com/nvmepass/nvmepass/internal/lab"
	"github.com/nvmepass/nvmepass/internal/nopbench"
	"github.com/nvmepass/nvmepass/internal/single"
	"github.com/nvmepass/nvmepass/internal/sweep"
	"github.com/nvmepass/nvmepass/internal/sysfs"
	"github.com/nvmepass/nvmepass/internal/verify"
	"github.com/nvmepass/nvmepass/internal/workload"
	"github.com/nvmepass/nvmepass/passthru"
)

// completer offers words for an argument or the value of a flag.
type completer = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective)

// oneOf offers some words and nothing else.
func oneOf[T ~string](words ...T) completer {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return texts(words), cobra.ShellCompDirectiveNoFileComp
	}
}

// listOf offers what may follow in a list with commas, each word once. The comma
// is the user's to type.
func listOf[T ~string](words ...T) completer {
	return func(_ *cobra.Command, _ []string, typed string) (offered []cobra.Completion, _ cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		for _, w := range texts(words) {
			if !slices.Contains(strings.Split(before, ","), w) {
				offered = append(offered, before+w)
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// orFiles offers words, and files where none of them fits.
func orFiles(words ...string) completer {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveDefault
	}
}

func texts[T ~string](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}

func names(n single.Names) completer { return oneOf(slices.Sorted(maps.Keys(n))...) }

var files = orFiles()

func folders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// nothing is for values that no list holds, such as numbers.
var nothing = oneOf[string]()

// flagWords are what flags take, by name, or by command and name where that
// decides. Of what is not here nothing is offered.
var flagWords = map[string]completer{
	"output": func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return formatsOf(cmd), cobra.ShellCompDirectiveNoFileComp
	},
	"report output":       files,
	"progress":            oneOf(progressModes...),
	"color":               oneOf(colorModes...),
	"path":                oneOf(iosetup.AllPaths()...),
	"verify path":         oneOf(append(texts(iosetup.AllPaths()), verify.PathIoctl)...),
	"paths":               listOf(iosetup.AllPaths()...),
	"sweep paths":         listOf(sweep.AllPaths()...),
	"depths":              listOf(strings.Split(joined(iosetup.DefaultDepths()), ",")...),
	"rw":                  oneOf(workload.Patterns()...),
	"compare rw":          oneOf(workload.RandRead, workload.Read),
	"op":                  oneOf(nopbench.NOP, nopbench.URINGCmd),
	"batch-rule":          oneOf("fio", "tio"),
	"rate-process":        oneOf(jobs.Linear, jobs.Poisson),
	"random-distribution": oneOf("random", "zipf:1.2", "pareto:0.3"),
	"do":                  oneOf(verify.DoRead, verify.DoWrite, verify.DoBoth),
	"order":               oneOf("sequential", "random"),
	"fail-on":             listOf("slower:3%", "faster:3%", "changed:3%", "noisy"),
	"cns":                 names(single.CNSNames),
	"log-id":              names(single.LIDNames),
	"feature-id":          names(single.FIDNames),
	"state":               oneOf("all", "empty", "implicitly-open", "explicitly-open", "closed", "full", "read-only", "offline"),
	"accel":               oneOf(lab.AccelAuto, lab.AccelKVM, lab.AccelTCG),

	"compare baseline": orFiles(compare.BaselineNames()...),
	"run baseline":     oneOf(jobs.BaselineNames()...),
	"sweep baseline":   orFiles(sweep.BaselineNames()...),
	"nop baseline":     orFiles(nopbench.BaselineNames()...),

	"save": files, "html": files, "data": files, "metadata": files, "kernel": files, "qemu": files, "in": files,
	"set-feature save": nothing,
	"out":              folders, "charts": folders,
}

// argumentWords are what commands take beside flags. Of the others, those of io and
// admin take one device, and everything else nothing.
var argumentWords = map[string]completer{
	"compare": devices(-1, namespaceNodes), "run": devices(-1, namespaceNodes), "sweep": devices(1, namespaceNodes), "verify": devices(1, namespaceNodes),
	"info": devices(-1, allNodes), "smart": devices(-1, allNodes), "doctor": devices(-1, allNodes),
	"diff": files, "report": files, "lab": files, "man": folders,
}

// devices offers nodes that were not named yet, up to most, -1 for any number.
func devices(most int, nodes func() []string) completer {
	return func(_ *cobra.Command, args []string, _ string) (offered []cobra.Completion, _ cobra.ShellCompDirective) {
		if most < 0 || len(args) < most {
			for _, n := range nodes() {
				if !slices.Contains(args, n) {
					offered = append(offered, n)
				}
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}

// namespaceNodes are the generic nodes and the block nodes of this machine. No
// device is opened for it.
func namespaceNodes() []string {
	nodes := passthru.Namespaces()
	for _, d := range sysfs.System.Disks() {
		if d.Node != "" {
			nodes = append(nodes, d.Node)
		}
	}
	return nodes
}

func controllerNodes() (nodes []string) {
	for _, dir := range sysfs.System.ControllerDirs() {
		if n := sysfs.System.Node(dir); n != "" {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func allNodes() []string { return append(controllerNodes(), namespaceNodes()...) }

// addCompletion has every command below c offer words.
func addCompletion(c *cobra.Command) {
	for _, sub := range c.Commands() {
		addCompletion(sub)
	}
	if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 && c.Name() != "help" {
		words := argumentWords[c.Name()]
		if words == nil && c.HasParent() {
			words = map[string]completer{"io": devices(1, namespaceNodes), "admin": devices(1, allNodes)}[c.Parent().Name()]
		}
		if words == nil {
			words = nothing
		}
		c.ValidArgsFunction = words
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		words := flagWords[c.Name()+" "+f.Name]
		if words == nil {
			words = flagWords[f.Name]
		}
		if words == nil {
			words = nothing
		}
		if f.NoOptDefVal == "" {
			_ = c.RegisterFlagCompletionFunc(f.Name, words) // fails for a second registration alone
		}
	})
}
