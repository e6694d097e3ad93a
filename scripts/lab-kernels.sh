#!/bin/sh
# Fetches Linux kernels for the lab (package internal/lab) from the Debian mirror that this machine's own apt sources name.
# Nothing is installed, and apt's own state is left alone: lists and packages live in the cache folder.
set -eu

usage() {
	cat <<'USAGE'
usage: lab-kernels.sh [-r] [-d DIR] [6.1] [6.12] [newest]

Provides vmlinuz-VERSION files for the lab and prints their paths. Without a name, all three are provided:
  6.1     bookworm's cloud kernel
  6.12    trixie's cloud kernel
  newest  that of trixie-backports, else of trixie, else of bookworm-backports

  -r      look for newer packages even if the cached kernels are less than 30 days old
  -d DIR  where to put them; default ${XDG_CACHE_HOME:-~/.cache}/nvmepass/kernels, where the lab looks
USAGE
}

fail() {
	echo "lab-kernels.sh: $*" >&2
	exit 1
}

refresh=no
kernels=${XDG_CACHE_HOME:-${HOME:?must be set, or use XDG_CACHE_HOME}/.cache}/nvmepass/kernels
while getopts d:hr option; do
	case $option in
	d) kernels=$OPTARG ;;
	r) refresh=yes ;;
	h) usage; exit 0 ;;
	*) usage >&2; exit 1 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- 6.1 6.12 newest
for name; do
	case $name in
	6.1 | 6.12 | newest) ;;
	*) usage >&2; fail "unknown kernel '$name'" ;;
	esac
done

mkdir -p "$kernels" || fail "cannot make $kernels; name another folder with -d"
kernels=$(cd "$kernels" && pwd)
work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# stamp NAME is the file that holds the file name of the kernel provided for NAME.
stamp() { echo "$kernels/.$1"; }

# fresh NAME succeeds if the kernel is there and needs no look at the mirror.
fresh() {
	[ "$refresh" = no ] && [ -s "$(stamp "$1")" ] && [ -s "$kernels/$(cat "$(stamp "$1")")" ] &&
		[ -n "$(find "$(stamp "$1")" -mtime -30)" ]
}

# debian_source prints URIs, Signed-By and Trusted of this machine's main Debian archive as deb822 fields.
debian_source() {
	list=/etc/apt/sources.list parts=/etc/apt/sources.list.d
	eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
	for file in "$list" "${parts%/}"/*.list "${parts%/}"/*.sources; do
		[ -f "$file" ] || continue
		echo "@file $file"
		cat "$file"
		echo
	done | awk '
		# rank tells how sure it is that an entry is the Debian archive; third parties use its suite names as well.
		function rank(uri, key, suites, components,    n, i, s, ok) {
			if ((" " components " ") !~ / main /) return 0
			n = split(suites, s, " ")
			for (i = 1; i <= n; i++)
				if (s[i] ~ /^(bookworm|trixie|forky|duke|sid|stable|testing|unstable|oldstable)(-updates|-backports)?$/) ok = 1
			if (!ok || uri ~ /ubuntu/) return 0
			if (key ~ /debian-archive/) return 4
			if (uri ~ /^[a-z+]+:\/\/[^\/]*\/debian\/?$/) return 3
			if (uri ~ /\/debian\/?$/) return 2
			if (uri ~ /\/debian\//) return 1
			return 0
		}
		function consider(uri, key, trusted, suites, components,    r) {
			r = rank(uri, key, suites, components)
			if (r <= best) return
			best = r
			out = "URIs: " uri "\n"
			if (key != "") out = out "Signed-By:" (key ~ /^\n/ ? "" : " ") key "\n"
			if (trusted != "") out = out "Trusted: " trusted "\n"
		}
		function end_stanza(    u) {
			split(f["uris"], u, " ")
			if (("types" in f) && (" " f["types"] " ") ~ / deb / && tolower(f["enabled"]) !~ /^(no|false|0|off)$/)
				consider(u[1], f["signed-by"], f["trusted"], f["suites"], f["components"])
			split("", f)
			field = ""
		}
		function one_line(    i, key, trusted, options, rest, w, n, comps) {
			sub(/^deb[ \t]+/, "")
			if (match($0, /^\[[^]]*\]/)) {
				options = substr($0, 2, RLENGTH - 2)
				$0 = substr($0, RLENGTH + 1)
			}
			n = split(options, w, " ")
			for (i = 1; i <= n; i++) {
				if (w[i] ~ /^signed-by=/) key = substr(w[i], 11)
				if (w[i] ~ /^trusted=/) trusted = substr(w[i], 9)
			}
			n = split($0, w, " ")
			for (i = 3; i <= n; i++) comps = comps " " w[i]
			consider(w[1], key, trusted, w[2], comps)
		}
		/^@file / { end_stanza(); deb822 = ($0 ~ /\.sources$/); next }
		/^[ \t]*#/ { next }
		!deb822 { sub(/#.*/, ""); if ($1 == "deb") one_line(); next }
		/^[ \t]*$/ { end_stanza(); next }
		/^[ \t]/ { if (field != "") f[field] = f[field] "\n" $0; next }
		{
			i = index($0, ":")
			if (!i) next
			field = tolower(substr($0, 1, i - 1))
			f[field] = substr($0, i + 1)
			gsub(/^[ \t]+|[ \t]+$/, "", f[field])
		}
		END { end_stanza(); printf "%s", out }'
}

# prepare makes the private apt set-up, once.
prepare() {
	[ -z "$work" ] || return 0
	for tool in apt-get apt-cache apt-config dpkg-deb awk; do
		command -v "$tool" >/dev/null || fail "$tool is missing; this script needs a Debian machine. Elsewhere, put any vmlinuz into $kernels"
	done
	work=$(mktemp -d "$kernels/.work-XXXXXX")
	debian_source >"$work/source"
	[ -s "$work/source" ] || fail "no entry for the main Debian archive in this machine's apt sources; put a vmlinuz into $kernels by hand"
}

# apt SUITE TOOL ARGS... runs an apt tool that knows this one suite only.
apt() {
	suite=$1 tool=$2
	shift 2
	"$tool" -c "$work/$suite/apt.conf" "$@"
}

# offered SUITE prints the kernel package of a suite, and fails if the mirror does not have the suite or it has no kernel.
offered() {
	suite=$1
	if [ ! -d "$work/$suite" ]; then
		mkdir -p "$work/$suite/lists/partial" "$work/$suite/archives/partial"
		{
			echo "Types: deb"
			cat "$work/source"
			echo "Suites: $suite"
			echo "Components: main"
			echo "Architectures: amd64"
		} >"$work/$suite/private.sources"
		cat >"$work/$suite/apt.conf" <<CONF
#clear APT::Update;
#clear DPkg::Post-Invoke;
#clear APT::Architectures;
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Sandbox::User "$(id -un)";
Dir::Etc::sourcelist "$work/$suite/private.sources";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "-";
Dir::State::Lists "$work/$suite/lists";
Dir::State::status "/dev/null";
Dir::Cache::archives "$work/$suite/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::Retries "3";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
CONF
		apt "$suite" apt-get -q -y update --error-on=any >"$work/$suite/log" 2>&1 || : >"$work/$suite/refused"
	fi
	[ ! -e "$work/$suite/refused" ] || return 1
	apt "$suite" apt-cache --no-all-versions show linux-image-cloud-amd64 2>/dev/null |
		sed -n 's/^Depends:.*\(linux-image-[0-9][^ ,(]*\).*/\1/p' | head -n 1 | grep .
}

# fetch NAME SUITE downloads and unpacks the suite's kernel.
fetch() {
	name=$1 suite=$2
	image=$(offered "$suite")
	# Newer packagings keep the image in a package of its own.
	binary=linux-binary-${image#linux-image-}
	if apt "$suite" apt-cache show "$binary" >/dev/null 2>&1; then
		image=$binary
	fi
	echo "lab-kernels.sh: $name: $image from $suite" >&2
	dir=$work/unpack-$name
	mkdir -p "$dir/deb"
	(cd "$dir/deb" && apt "$suite" apt-get -q -y download "$image" >"$dir/log" 2>&1) || {
		cat "$dir/log" >&2
		fail "$name: download of $image from $suite failed"
	}
	dpkg-deb -x "$dir"/deb/*.deb "$dir/root" || fail "$name: $image cannot be unpacked"
	found=
	for file in "$dir"/root/boot/vmlinuz-* "$dir"/root/usr/lib/modules/*/vmlinuz "$dir"/root/lib/modules/*/vmlinuz; do
		[ -f "$file" ] || continue
		case $file in
		*/vmlinuz) version=$(basename "$(dirname "$file")") ;;
		*) version=${file##*/vmlinuz-} ;;
		esac
		found=vmlinuz-$version
		mv "$file" "$kernels/$found"
		chmod 644 "$kernels/$found"
		break
	done
	[ -n "$found" ] || fail "$name: $image holds no vmlinuz"
	old=
	[ ! -s "$(stamp "$name")" ] || old=$(cat "$(stamp "$name")")
	echo "$found" >"$(stamp "$name")"
	# The kernel that this one replaces goes, unless another name still stands for it.
	if [ -n "$old" ] && [ "$old" != "$found" ] && ! grep -qxF "$old" "$kernels"/.6.1 "$kernels"/.6.12 "$kernels"/.newest 2>/dev/null; then
		rm -f "$kernels/$old"
	fi
	rm -rf "$dir"
}

# provide NAME SUITE... takes the kernel from the first suite that the mirror offers.
provide() {
	name=$1
	shift
	fresh "$name" && return 0
	prepare
	for suite; do
		if offered "$suite" >/dev/null; then
			fetch "$name" "$suite"
			return 0
		fi
		echo "lab-kernels.sh: $name: $suite is not offered:" >&2
		grep -E '^[EW]:' "$work/$suite/log" >&2 || echo "  it has no linux-image-cloud-amd64" >&2
	done
	if [ -s "$(stamp "$name")" ] && [ -s "$kernels/$(cat "$(stamp "$name")")" ]; then
		echo "lab-kernels.sh: $name: keeping the cached one" >&2
		return 0
	fi
	fail "$name: none of these suites is offered by the mirror of this machine's apt sources: $*"
}

for name; do
	case $name in
	6.1) provide 6.1 bookworm ;;
	6.12) provide 6.12 trixie bookworm-backports ;;
	newest) provide newest trixie-backports trixie bookworm-backports ;;
	esac
	echo "$kernels/$(cat "$(stamp "$name")")"
done
