#!/usr/bin/env bash
# tui.sh BUILD - how long the timeline takes on TUI_EVENTS million events (10), or on the trace TUI_TRACE.
set -eu
build=$(cd "${1:-build}" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/memana-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

if [ -z "${TUI_TRACE:-}" ]; then
	TUI_TRACE=$work/trace.zst
	"$build/tests/bench/bench_format" "${TUI_EVENTS:-10}" "$TUI_TRACE" >/dev/null
fi
echo "$(nproc) processors"
TMPDIR=$work "$build/tests/bench/bench_tui" "$TUI_TRACE"
