#!/bin/sh
# usage: packaging/debversion.sh VERSION
#
# Prints the Debian version of what git describe calls VERSION: v1.2.3 is 1.2.3-1,
# v1.3.0-rc1 sorts before v1.3.0, v1.2.3-4-gabcdef behind v1.2.3, and a commit
# without a tag (SOURCE_DATE_EPOCH is its time) before all.
set -eu

version=$1
case $version in
v[0-9]*.[0-9]* | [0-9]*.[0-9]*)
	echo "$version" | sed -E 's/^v//; s/-(alpha|beta|rc|pre)/~\1/; s/-/+/g; s/[^A-Za-z0-9.+~]/./g; s/$/-1/'
	;;
*)
	day=$(date -u -d "@${SOURCE_DATE_EPOCH:?}" +%Y%m%d.%H%M%S)
	echo "0~git$day.$version-1" | sed -E 's/-dirty/+dirty/; s/[^-A-Za-z0-9.+~]/./g'
	;;
esac
