#!/bin/sh
# Installs the Debian packages that are named and missing. Does nothing, and asks
# for no rights, if all are there.
set -eu

missing=
for package; do
	dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "packages.sh: install these packages as root, then try again:$missing" >&2
		exit 1
	}
	as_root=sudo
fi
echo "packages.sh: installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -q -y update
# shellcheck disable=SC2086 # the list is meant to be split
$as_root apt-get -q -y install --no-install-recommends $missing
