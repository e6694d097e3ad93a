#!/bin/sh
# Runs every fuzz target of the module for the given time each (default 10s):
#
#	scripts/fuzz.sh [-list] [-run REGEXP] [-report FILE] [TIME]
#
# -list prints the targets, package and name, and runs nothing; -run chooses
# among these lines. -report writes a table of the run between the marks of FILE,
# where rows of targets that did not run stay. All targets run, also after one has
# found something; the exit code then is 1, and what was found lies in the
# package's testdata/fuzz, where it is a test from then on.
set -eu
list=false report= run=.
while [ $# -gt 0 ]; do
	case $1 in
	-list) list=true ;;
	-report) report=$2 && shift ;;
	-run) run=$2 && shift ;;
	-*) echo "fuzz.sh: unknown option $1" >&2 && exit 2 ;;
	*) break ;;
	esac
	shift
done
time=${1:-10s}

targets() {
	go list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r package dir; do
		grep -hs '^func Fuzz' "$dir"/*_test.go | sed "s|^func \(Fuzz[A-Za-z0-9_]*\).*|$package \1|"
	done | grep -E "$run"
}

if $list; then
	targets
	exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
targets >"$work/targets"
: >"$work/rows"
while read -r package target; do
	echo "== $package $target"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s "$package" >"$work/log" 2>&1 </dev/null && findings=0 || findings=1
	cat "$work/log"
	# The last line of progress: "fuzz: elapsed: 10s, execs: 8241 (823/sec), new interesting: 4 (total: 19)".
	figures=$(sed -n 's/^fuzz: elapsed: \([0-9hms]*\), execs: \([0-9]*\) .*new interesting: \([0-9]*\) (total: \([0-9]*\)).*/\1 | \2 | \3 | \4/p' "$work/log" | tail -n 1)
	echo "| ${package#*/*/*/} | $target | ${figures:-0s | 0 | 0 | 0} | $findings |" >>"$work/rows"
	[ $findings -eq 0 ] || echo "$package $target" >>"$work/found"
done <"$work/targets"

if [ -n "$report" ]; then
	{
		echo '| package | target | time | executions | new inputs | inputs | findings |'
		echo '|---|---|---|---|---|---|---|'
		# The new rows, and the old ones of the other targets that there are.
		run=. && targets | sed 's|^[^/]*/[^/]*/[^/]*/\(.*\) \(.*\)|\1 \2|' |
			awk -F ' *[|] *' 'FNR == 1 { file++ } file == 1 { there[$0] = 1; next } ($2 " " $3) in there { row[$2 " " $3] = $0 } END { for (r in row) print row[r] }' - "$report" "$work/rows" |
			LC_ALL=C sort
	} | scripts/table.sh fuzz.sh "$report"
fi
if [ -s "$work/found" ]; then
	echo "== found something:" && cat "$work/found"
	exit 1
fi
