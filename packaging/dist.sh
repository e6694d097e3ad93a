#!/bin/sh
# usage: packaging/dist.sh [tar] [deb]
#
# Puts into dist/, for amd64 and arm64: with tar the static binaries and archives
# of them with man pages and completions, with deb the Debian packages; and the
# SHA-256 of all. VERSION is what git describe says. The same commit, built by the
# same Go, gives the same files.
set -eu

cd "$(dirname "$0")/.."
: "${GO:=go}" "${VERSION:?}"
COMMIT=${COMMIT:-$(git rev-parse HEAD)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export GO VERSION COMMIT SOURCE_DATE_EPOCH LC_ALL=C
umask 022

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p dist

archive() { # ARCH STAGED
	name=nvmepass-$VERSION-linux-$1
	cp "$2/bin/nvmepass" "dist/$name"
	tar -C "$2" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
		--transform="s,^\.,$name," -cf - . | gzip -9n >"dist/$name.tar.gz"
}

for format; do
	case $format in
	tar | deb) ;;
	*)
		echo "dist.sh: $format: unknown format: use tar or deb" >&2
		exit 1
		;;
	esac
done
# What another version left would be in the sums; what make bench built stays.
rm -f dist/nvmepass-* dist/nvmepass_* dist/SHA256SUMS
for arch in amd64 arm64; do
	packaging/stage.sh "$arch" "$work/$arch"
	for format; do
		case $format in
		tar) archive "$arch" "$work/$arch" ;;
		deb) packaging/deb.sh "$work/$arch" "$arch" dist ;;
		esac
	done
done
cd dist
for file in nvmepass-* nvmepass_*; do
	[ ! -f "$file" ] || sha256sum "$file"
done >SHA256SUMS
cat SHA256SUMS
