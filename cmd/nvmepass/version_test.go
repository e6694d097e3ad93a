package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionOf(t *testing.T) {
	module := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	require.Equal(t, "v9", versionOf("v9", module))
	require.Equal(t, "v1.2.3", versionOf("", module))
	require.Equal(t, "(devel)", versionOf("", &debug.BuildInfo{}))
	require.Equal(t, "(devel)", versionOf("", nil))
}

func TestBuildDetails(t *testing.T) {
	goLine := "\ngo: " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	info := func(kv ...string) *debug.BuildInfo {
		bi := &debug.BuildInfo{}
		for i := 0; i < len(kv); i += 2 {
			bi.Settings = append(bi.Settings, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return bi
	}
	for _, tt := range []struct {
		name   string
		linked string
		bi     *debug.BuildInfo
		want   string
	}{
		{"nothing known", "", nil, "commit: unknown" + goLine + "pgo: none\n"},
		{"go install", "", info("-pgo", "/src/default.pgo", "vcs.revision", "5ae6", "vcs.modified", "false"), "commit: 5ae6" + goLine + "pgo: default.pgo\n"},
		{"changed tree", "", info("vcs.revision", "5ae6", "vcs.modified", "true"), "commit: 5ae6, modified" + goLine + "pgo: none\n"},
		{"linker first", "77ff", info("vcs.revision", "5ae6", "vcs.modified", "true"), "commit: 77ff" + goLine + "pgo: none\n"},
		{"linker agrees", "5ae6", info("vcs.revision", "5ae6", "vcs.modified", "true"), "commit: 5ae6, modified" + goLine + "pgo: none\n"},
	} {
		require.Equal(t, tt.want, buildDetails(tt.linked, tt.bi), tt.name)
	}
}

func TestVersionFlag(t *testing.T) {
	code, out, errs := command(t, "--version")
	require.Zero(t, code, errs)
	require.Regexp(t, `^nvmepass version \S+\ncommit: \S+(, modified)?\ngo: go\S+ linux/\S+\npgo: \S+\n$`, out)
}
