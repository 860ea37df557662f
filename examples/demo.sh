#!/bin/sh
# A tour of flameox in a few minutes, over a fresh copy of examples/quickstart. Run it with `make demo`.
#
# It is a test as well: it stops with an error where flameox does not do what the headings say.
set -eu

: "${FLAMEOX:?set FLAMEOX to the flameox binary, or run make demo}"
here=$(cd "$(dirname "$0")" && pwd)

work=$(mktemp -d)
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

heading() { printf '\n\033[1m%s\033[0m\n' "$*"; }
# Without a terminal the headings have no colour.
[ -t 1 ] || heading() { printf '\n%s\n' "$*"; }

fail() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

# flameox ARG...: shows the command as you would type it, then runs it.
flameox() {
	line='$ flameox'
	for arg; do
		case $arg in
		*[!A-Za-z0-9_./=:-]*) line="$line '$arg'" ;;
		*) line="$line $arg" ;;
		esac
	done
	printf '%s\n' "$line"
	"$FLAMEOX" "$@"
}

# expect CODE ARG...: runs flameox and insists on its exit code.
expect() {
	want=$1
	shift
	got=0
	flameox "$@" || got=$?
	[ "$got" = "$want" ] || fail "flameox $* ended with $got, want $want"
}

# What plan says, in words. Where nothing is to be done its last line is enough here.
runs_something() { expect 2 plan -detailed-exitcode; }
runs_nothing() {
	plan=$(expect 0 plan -detailed-exitcode) || {
		printf '%s\n' "$plan"
		exit 1
	}
	printf '%s\n' "$plan" | sed -n '1p;$p'
}

heading '1. A small Go library in a git repository, and its experiment'
cp -R "$here/quickstart" "$work/sorting"
cd "$work/sorting"
git init -q .
git add .
git -c user.name=demo -c user.email=demo@example.com commit -qm 'A sorting library'
grep -v '^#' flameox.hcl | grep -v '^$'

heading '2. Nothing has been measured yet: plan says what would run'
runs_something

heading '3. apply builds the benchmark, measures it, profiles it'
expect 0 apply

heading '4. Again: everything is known, nothing runs'
expect 0 apply
runs_nothing

heading '5. What is no input changes nothing'
echo 'Three ways to sort.' >README.md
runs_nothing

heading '6. A source file changes: plan says which stages stand on it'
cp merge.go merge.go.before
sed 's/^const run = 24$/const run = 32/' merge.go.before >merge.go
cmp -s merge.go merge.go.before && fail 'merge.go has no line "const run = 24" any more'
rm merge.go.before
runs_something

heading '7. why: the part of its key that is different, and from what'
expect 0 why build.bench

heading '8. The change is taken back: the earlier results stand again'
git checkout -q merge.go
runs_nothing

heading '9. A comment changes: the build runs again, makes the same bytes, and nothing else runs'
sed 's/^\/\/ Merge sorts s by merging/\/\/ Merge sorts s through merging/' merge.go >merge.go.new
cmp -s merge.go merge.go.new && fail 'merge.go has no comment "Merge sorts s by merging" any more'
mv merge.go.new merge.go
runs_something
expect 0 apply
runs_nothing

heading '10. The evidence is Parquet, and SQL asks it; latest has the newest valid run of each stage'
expect 0 query "
  SELECT run_axes['impl'] AS impl, run_axes['n'] AS n, count(*) AS samples, median(coalesce(value_int, value_float)) AS median_ns
  FROM measurements_runs SEMI JOIN latest USING (run)
  WHERE unit = 'ns/op' GROUP BY ALL ORDER BY n, impl"

heading '11. Where the time goes, from the profiles'
expect 0 query "
  SELECT address, function, round(100 * self_share) AS self_percent
  FROM hotspots WHERE metric = 'cpu' AND self_share > 0.1 ORDER BY address, self DESC"

heading '12. Every run is kept; these made the evidence'
expect 0 runs -limit 5

# The other languages, where their interpreters are. With FLAMEOX_DEMO_ALL=1 all of them have to be there; the network does not.
missing() {
	[ -z "${FLAMEOX_DEMO_ALL:-}" ] || fail "$1, and FLAMEOX_DEMO_ALL is set"
	printf 'Left out: %s.\n' "$1"
}

example() {
	cp -R "$here/$1" "$work/$1"
	cd "$work/$1"
	git init -q .
	git add .
}

heading '13. Node: V8 profiles, and a server that is watched while it is asked'
if command -v node >/dev/null; then
	example node
	expect 0 apply
	runs_nothing
else
	missing 'node is not installed'
fi

heading '14. Python: an environment of locked packages, pyperf, memray'
if ! python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
	missing 'there is no python3 of 3.9 or newer with venv (Debian: python3-venv)'
elif ! python3 -m pip --version >/dev/null 2>&1; then
	missing 'python3 has no pip (Debian: python3-pip)'
elif ! python3 -m pip download -q --no-deps -d "$work/reach" pyperf >/dev/null 2>&1; then
	printf 'Left out: the package index cannot be reached.\n'
else
	example python
	expect 0 apply
	runs_nothing
fi
