#!/usr/bin/env bash
# run.sh BUILD [ARGUMENT...] - the rows of formats/knobs against real releases, whose sources it keeps in BUILD/knobs; arguments
# go to check.py. Ends with "N passed, N failed, N skipped".
set -u
SRC=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" && build=$(cd "$1" && pwd) || exit 2
shift
export PYTHONDONTWRITEBYTECODE=1
for python in python3 /usr/bin/python3; do
	"$python" -c 'import sys, pip, yaml; sys.exit(sys.version_info < (3, 9))' 2>/dev/null &&
		exec "$python" "$SRC/tests/knobs/check.py" "$build/knobs" "$@"
done
echo "skip the knobs against releases: no python3 here has both pip and PyYAML"
echo "0 passed, 0 failed, 1 skipped"
