#!/bin/sh
# usage: packaging/stage.sh ARCH DIR
#
# Builds nvmepass for ARCH (amd64 or arm64) and lays it out in DIR as it lies below
# a prefix such as /usr/local: bin, and share with man pages, completions, licences
# and changelog. VERSION, COMMIT and SOURCE_DATE_EPOCH name what is built; nothing
# else may end up in the files, so that a build can be repeated.
set -eu

arch=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
: "${GO:=go}" "${VERSION:?}" "${COMMIT:?}" "${SOURCE_DATE_EPOCH:?}"
export SOURCE_DATE_EPOCH LC_ALL=C CGO_ENABLED=0
umask 022

# Without a stamp by the go command, a build in a clone and one from an archive of
# the sources are the same.
build() { # ARCH FILE
	GOOS=linux GOARCH=$1 $GO build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" -o "$2" ./cmd/nvmepass
}

# notices has the licence of everything that is linked in: several ask for that.
notices() {
	GOOS=linux GOARCH=$arch $GO list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/nvmepass |
		sort -u | {
		echo "nvmepass holds the following, under their own licences."
		notice "Go's standard library and runtime" "$($GO env GOROOT)"
		while read -r path version source; do
			notice "$path $version" "$source"
		done
	}
}

notice() { # NAME FOLDER
	printf '\n----\n%s\n\n' "$1"
	for name in LICENSE LICENSE.txt LICENSE.md COPYING; do
		[ -f "$2/$name" ] || continue
		if grep -q 'Apache License' "$2/$name"; then
			echo "Apache License, version 2.0: as nvmepass itself."
		else
			cat "$2/$name"
		fi
		return
	done
	# Some distributions of Go leave the licence out of GOROOT.
	echo "stage.sh: $1: no licence in $2: install the sources that come with one" >&2
	return 1
}

mkdir -p "$dir/bin" "$dir/share/doc/nvmepass" "$dir/share/bash-completion/completions" \
	"$dir/share/zsh/site-functions" "$dir/share/fish/vendor_completions.d"
build "$arch" "$dir/bin/nvmepass"

# What this machine can run writes the pages and completions.
host=$($GO env GOHOSTARCH)
tool=$dir/bin/nvmepass
if [ "$host" != "$arch" ]; then
	tool=$dir/tool
	build "$host" "$tool"
fi
"$tool" man "$dir/share/man/man1"
"$tool" completion bash >"$dir/share/bash-completion/completions/nvmepass"
"$tool" completion zsh >"$dir/share/zsh/site-functions/_nvmepass"
"$tool" completion fish >"$dir/share/fish/vendor_completions.d/nvmepass.fish"
rm -f "$dir/tool"

cp CHANGELOG.md LICENSE "$dir/share/doc/nvmepass/"
notices >"$dir/share/doc/nvmepass/NOTICES"
