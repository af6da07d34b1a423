#!/usr/bin/env bash
# run.sh BUILD [FILE...] - the phase rules (FILEs of formats/rules, or all) against real releases, whose sources it keeps in
# BUILD/rules. Ends with "N passed, N failed, N skipped".
set -u
SRC=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" && build=$(cd "$1" && pwd) || exit 2
shift
export PYTHONDONTWRITEBYTECODE=1
for python in python3 /usr/bin/python3; do
	"$python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null && exec "$python" "$SRC/tests/rules/check.py" "$build/rules" "$@"
done
echo "skip the rules against releases: no python3 here has pip"
echo "0 passed, 0 failed, 1 skipped"
