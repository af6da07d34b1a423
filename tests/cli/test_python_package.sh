# import memrec: phases, steps and marks, which cost nothing without a recording, and the pytest plugin.
. "$SRC/tests/cli/lib.sh"
. "$SRC/tests/cli/memrec.sh"
export PYTHONPATH=$SRC/packaging/python:$SRC/tests/cli PATH=$BUILD:$PATH

cat >marks.py <<'PYTHON'
import sys
import memrec
from gpu_driver import Driver
driver = Driver()
assert memrec.recorded() == (sys.argv[1] == "recorded")

@memrec.phase("optimizer")
def update():
    driver.take(3 << 20)

@memrec.step
def train():
    with memrec.phase("rollout"):
        driver.take(2 << 20)
        with memrec.phase("forward"):
            driver.take(1 << 20)
    update()

train()
memrec.mark("half of it")
memrec.step()
try:
    with memrec.phase("backward"):
        raise KeyError
except KeyError:
    pass
driver.take(4 << 20)
PYTHON
not_recorded() { LD_LIBRARY_PATH=$standin python3 marks.py alone; }
check "import memrec, not recorded" not_recorded
recorded() { LD_LIBRARY_PATH=$standin "$memrec" -q -o marks.zst -- python3 marks.py recorded && "$memana" load marks.zst -o marks.db >/dev/null; }
check "import memrec, recorded" recorded
sql_is() { [ "$("$memana" sql marks.db "$1")" = "$2" ] || { "$memana" sql marks.db "$1"; return 1; }; }
check "bytes are in their phases, decorated ones too; a forward of the rollout is the rollout's" sql_is \
	"SELECT phase, bytes FROM allocation WHERE bytes IN (1048576, 2097152, 3145728) ORDER BY 2" \
	$'rollout\t1048576\nrollout\t2097152\noptimizer\t3145728'
check "a phase ends where an error leaves it" sql_is "SELECT phase FROM allocation WHERE bytes = 4194304" other
check "two steps ended, one of them by the decorator" sql_is "SELECT count(*) FROM bytes_by_step WHERE step IN (1, 2) AND held_bytes IS NOT NULL" 2

# Without the recorder a call looks nothing up and keeps nothing: instructions are counted, not time.
cheap() {
	python3 - <<'PYTHON'
import sys
import memrec

calls = []
def trace(frame, event, argument):
    if event == "c_call":
        calls.append(argument)

before = sys.getallocatedblocks()
sys.setprofile(trace)
for _ in range(100):
    memrec.step()
    memrec.mark("m")
    with memrec.phase("rollout"):
        pass
sys.setprofile(None)
foreign = [call for call in calls if getattr(call, "__module__", None) == "ctypes" or "_FuncPtr" in repr(call)]
sys.exit(bool(foreign) or sys.getallocatedblocks() - before > 500)
PYTHON
}
check "not recorded, nothing is called and nothing kept" cheap

for python in python3 "$HOST_PYTHON" /usr/bin/python3; do "$python" -c 'import pytest' 2>/dev/null && break; done
run_pytest() { # STATUS ARGUMENT...
	LD_LIBRARY_PATH=$standin status "$1" "$python" -m pytest -p memrec.pytest_plugin -p no:cacheprovider -q "${@:2}" "$SRC/tests/cli/pytest_limits.py"
}
if "$python" -c 'import pytest' 2>/dev/null; then
	without() { run_pytest 1 && grep -q '1 failed, 5 passed' out && [ -z "$(ls pytest.*.zst 2>/dev/null)" ]; }
	check "pytest without --memrec: marks say nothing, nothing is recorded" without
	with() { run_pytest 1 --memrec && grep -q '3 failed, 3 passed' out && [ "$(ls pytest.*.zst | wc -l)" = 1 ]; }
	check "pytest --memrec" with
	check "a test above its limit fails" grep -q '^memrec: 128.0 MiB held at most, the limit is 100.0 MiB' out
	check "a test that keeps memory fails" grep -q '^memrec: 2.0 MiB left behind, the limit is 1.0 MiB' out
	check "the summary has the highest peaks" grep -qE '^ +2(56|58).0 MiB .*::test_no_limit$' out
	check "tests that failed by themselves keep their reason" grep -q 'assert not' out
	check "the trace is whole" "$memana" verify pytest.*.zst
	bad_limit() { sed 's/"1 KiB"/"1 parsec"/' "$SRC/tests/cli/pytest_limits.py" >bad_limits.py && LD_LIBRARY_PATH=$standin "$python" -m pytest -p memrec.pytest_plugin -q --memrec -k below bad_limits.py; }
	check "a limit of another test is not looked at" bad_limit
	no_memrec() { PATH=/usr/bin:/bin status 4 "$python" -m pytest -p memrec.pytest_plugin -q --memrec "$SRC/tests/cli/pytest_limits.py" && grep -q -- '--memrec: memrec: No such file' err; }
	check "memrec is not there" no_memrec
else
	skip "pytest: no python has it"
fi
