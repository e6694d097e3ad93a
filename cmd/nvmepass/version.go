package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// version and commit are set by the linker. What go build and go install make has
// those of the build information instead.
var version, commit string

// toolVersion is the version alone, as records carry it.
func toolVersion() string {
	bi, _ := debug.ReadBuildInfo()
	return versionOf(version, bi)
}

// versionOf falls back from what the linker set to the module's version, which
// holds the commit if the go command looked for one.
func versionOf(linked string, bi *debug.BuildInfo) string {
	switch {
	case linked != "":
		return linked
	case bi != nil && bi.Main.Version != "":
		return bi.Main.Version
	}
	return "(devel)"
}

// buildDetails are the lines of --version below the version.
func buildDetails(linked string, bi *debug.BuildInfo) string {
	settings := map[string]string{}
	if bi != nil {
		for _, s := range bi.Settings {
			settings[s.Key] = s.Value
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "commit: %s", cmp.Or(linked, settings["vcs.revision"], "unknown"))
	// What the linker was told need not be the tree that the go command saw.
	if settings["vcs.modified"] == "true" && (linked == "" || linked == settings["vcs.revision"]) {
		b.WriteString(", modified")
	}
	fmt.Fprintf(&b, "\ngo: %s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	pgo := "none"
	if path := settings["-pgo"]; path != "" {
		pgo = filepath.Base(path)
	}
	fmt.Fprintf(&b, "pgo: %s\n", pgo)
	return b.String()
}

// versionTemplate is what --version prints, as cobra takes it.
func versionTemplate() string {
	bi, _ := debug.ReadBuildInfo()
	return "{{.Name}} version {{.Version}}\n" + buildDetails(commit, bi)
}
