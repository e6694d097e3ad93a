#!/bin/sh
# table.sh NAME FILE: puts standard input into FILE, between the line
# "<!-- written by NAME -->" and the line "<!-- end of NAME -->".
set -eu
text=$(mktemp) whole=$(mktemp)
trap 'rm -f "$text" "$whole"' EXIT
cat >"$text"
awk -v text="$text" -v name="$1" '
	$0 == "<!-- end of " name " -->" { skip = 0 }
	!skip { print }
	$0 == "<!-- written by " name " -->" {
		skip = 1
		while ((getline line < text) > 0) print line
	}' "$2" >"$whole"
cat "$whole" >"$2"
