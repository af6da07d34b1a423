# A few rows of make torture: it runs, and kills at random points.
. "$SRC/tests/cli/lib.sh"
rows() { ROWS=$1 RUNS=7 python3 "$SRC/tests/torture/torture.py" "$BUILD"; }
check "torture: kill -9 of target, collector and launcher, each and together" rows '^kill'
check "torture: processes that make others" rows 'exec|spawn|fork'
check "torture: threads, signals, and libraries that go" rows 'threads with|signals|unloaded'
command -v valgrind >/dev/null || skip "torture: valgrind reports nothing of the agent: there is no valgrind"
check "torture: valgrind reports nothing of the agent" rows '^valgrind'
