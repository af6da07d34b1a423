#!/usr/bin/env bash
# run.sh BUILD [NAME...] - exports, read by the formats' official readers from PyPI. Ends with "N passed, N failed, N skipped". The virtual
# environment BUILD/export-venv is made once; to have it made anew, remove it.
set -u
SRC=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd) || exit 2
shift
venv=$build/export-venv
log=$build/export-venv.log
# perfetto: its generated module; protobuf: that, and messages of pprof; prometheus_client: OpenMetrics; duckdb: CSV
wanted=(perfetto protobuf prometheus_client duckdb)

# ends VERDICT: there is nothing to run the tests with.
ends() {
	echo "$1"
	case $1 in
	skip*) echo "0 passed, 0 failed, 1 skipped" ;;
	*) tail -n 5 "$log" && echo "0 passed, 1 failed, 0 skipped" && exit 1 ;;
	esac
	exit 0
}

has_readers() { "$venv/bin/python" -c 'import perfetto, google.protobuf, prometheus_client, duckdb' 2>/dev/null; }

if ! has_readers; then
	rm -rf "$venv"
	python3 -m venv "$venv" >"$log" 2>&1 || ends "skip readers of exports: python3 here cannot make a virtual environment"
	echo "installing readers of exports into $venv"
	if ! "$venv/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check --retries 1 --timeout 20 "${wanted[@]}" >>"$log" 2>&1; then
		rm -rf "$venv"
		grep -qE 'Could not find a version|No matching distribution|[Cc]onnect|[Tt]imed out|HTTPError|ProxyError' "$log" &&
			ends "skip readers of exports: the package registry does not answer"
		ends "not ok pip could not install the readers"
	fi
	has_readers || ends "not ok the readers were installed, and cannot be imported"
fi
READERS=$venv/bin/python
TESTS=$(echo "$SRC"/tests/export/test_*.sh)
export READERS TESTS TEST_TIMEOUT=${TEST_TIMEOUT:-300}
"$SRC/tests/run.sh" "$build" "$@"
