#!/bin/sh
# Runs the tests of everything that holds a ring or an arena under what finds
# misuse of memory, natively on this machine, and prints a row for each mode:
#
#	scripts/memory.sh [-report FILE]
#
# -report writes the table between the marks of FILE as well. The exit code is 1
# if any mode failed.
set -u
report=
[ "${1-}" = -report ] && report=$2
packages='./uringcmd ./fixedbuf ./passthru ./internal/slotio ./internal/blockio ./internal/nopio ./test/memory'
log=$(mktemp) rows=$(mktemp)
trap 'rm -f "$log" "$rows"' EXIT
failed=0

# mode NAME [VARIABLE=VALUE...] -- [FLAG...]
mode() {
	name=$1 && shift
	env=
	while [ "$1" != -- ]; do env="$env $1" && shift; done
	shift
	begin=$(date +%s)
	# shellcheck disable=SC2086 # both are lists of words
	if env $env go test -count=1 "$@" $packages >"$log" 2>&1; then
		result=passed
	else
		result=FAILED failed=1
		cat "$log" >&2
	fi
	row="| $name | $result | $(($(date +%s) - begin)) s |"
	echo "$row" && echo "$row" >&2
}

{
	echo '| mode | result | time |'
	echo '|---|---|---|'
	mode 'static, no cgo' CGO_ENABLED=0 --
	mode 'collector: `GOGC=1 GODEBUG=clobberfree=1`' GOGC=1 GODEBUG=clobberfree=1 --
	mode 'collector checked: `GODEBUG=gccheckmark=1`' GODEBUG=gccheckmark=1 --
	mode 'pointers: `-gcflags=all=-d=checkptr=2`' CGO_ENABLED=0 -- -gcflags=all=-d=checkptr=2
	mode 'races: `-race`' CGO_ENABLED=1 -- -race
	mode 'addresses: `-asan`' CGO_ENABLED=1 -- -asan
	mode '10,000 rounds: `NVMEPASS_TEST_LONG=1`' NVMEPASS_TEST_LONG=1 -- -run TestRoundsLeaveNothing
} >"$rows"
[ -z "$report" ] || scripts/table.sh memory.sh "$report" <"$rows"
exit $failed
