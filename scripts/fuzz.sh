#!/bin/sh
# Runs every fuzz target of the module for the given time each (default 10s).
set -eu
time=${1:-10s}
go list ./... | while read -r package; do
	dir=$(go list -f '{{.Dir}}' "$package")
	grep -hs '^func Fuzz' "$dir"/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/' | while read -r target; do
		echo "== $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" </dev/null
	done
done
