#!/bin/sh
# usage: packaging/deb.sh STAGED ARCH OUTDIR
#
# Makes a Debian package of what stage.sh laid out in STAGED. VERSION and
# SOURCE_DATE_EPOCH are as there; MAINTAINER is the package's maintainer.
set -eu

staged=$(cd "$1" && pwd)
arch=$2
out=$(cd "$3" && pwd)
cd "$(dirname "$0")"
: "${VERSION:?}" "${SOURCE_DATE_EPOCH:?}"
: "${MAINTAINER:=nvmepass maintainers <nvmepass@users.noreply.github.com>}"
# More threads make other blocks of xz.
export SOURCE_DATE_EPOCH LC_ALL=C DPKG_DEB_THREADS_MAX=1
umask 022
command -v dpkg-deb >/dev/null || {
	echo "deb.sh: no dpkg-deb here: install the package dpkg, or use the archive of make dist" >&2
	exit 1
}

version=$(./debversion.sh "$VERSION")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/nvmepass
doc=$root/usr/share/doc/nvmepass
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/share/zsh/vendor-completions" "$root/usr/share/lintian/overrides" "$doc"

cp "$staged/bin/nvmepass" "$root/usr/bin/"
cp -R "$staged/share/man" "$staged/share/bash-completion" "$staged/share/fish" "$root/usr/share/"
cp "$staged/share/zsh/site-functions/_nvmepass" "$root/usr/share/zsh/vendor-completions/"
find "$root/usr/share/man" -type f -exec gzip -9n {} +

{
	cat copyright.in
	sed 's/as nvmepass itself/as nvmepass itself, above/' "$staged/share/doc/nvmepass/NOTICES"
} >"$doc/copyright"
gzip -9n <"$staged/share/doc/nvmepass/CHANGELOG.md" >"$doc/changelog.gz"
{
	printf 'nvmepass (%s) unstable; urgency=medium\n\n' "$version"
	printf '  * Built from %s; changelog.gz says what changed.\n\n' "$VERSION"
	printf ' -- %s  %s\n' "$MAINTAINER" "$(date -u -d "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')"
} | gzip -9n >"$doc/changelog.Debian.gz"
cp lintian-overrides "$root/usr/share/lintian/overrides/nvmepass"

size=$(find "$root/usr" -type f -printf '%s\n' -o -type d -printf '1\n' | awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }')
awk -v version="$version" -v arch="$arch" -v size="$size" -v maintainer="$MAINTAINER" '
	{ sub(/@VERSION@/, version); sub(/@ARCH@/, arch); sub(/@SIZE@/, size); sub(/@MAINTAINER@/, maintainer); print }
' control.in >"$root/DEBIAN/control"
(cd "$root" && find usr -type f | sort | xargs md5sum) >"$root/DEBIAN/md5sums"

chmod -R u=rwX,go=rX "$root"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb -Zxz --root-owner-group --build "$root" "$out/nvmepass_${version}_$arch.deb" >/dev/null
