"""Files that claim to be large (tests/unit/bombs.h): what a command takes for them is in proportion to their size."""
import os
import resource
import subprocess
import sys

MEMANA, FOLDER = sys.argv[1], sys.argv[2]
SANITIZED = "libasan" in subprocess.run(["ldd", MEMANA], stdout=subprocess.PIPE, text=True, check=False).stdout
QUARANTINE_MIB = 256  # memory that AddressSanitizer keeps after a free
FIXED_MIB, MIB_PER_MIB = 64, 1280  # MiB of a file; memana takes some 10 MiB without one
if SANITIZED:
    FIXED_MIB, MIB_PER_MIB = FIXED_MIB + QUARANTINE_MIB, 2 * MIB_PER_MIB
FIXED_SECONDS, SECONDS_PER_MIB = 5, 20  # seconds of processor time, with room for sanitizers and slow machines


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))


def cost(command, path):
    """Exit status, lines on stderr, seconds, MiB."""
    process = subprocess.Popen([MEMANA, command, path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limits)
    errors = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    return os.waitstatus_to_exitcode(status), errors, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def judge(command, name):
    path = os.path.join(FOLDER, name)
    mib = os.path.getsize(path) / (1 << 20)
    code, errors, seconds, memory = cost(command, path)
    problem = None
    if code not in (0, 1, 3):
        problem = f"exit status {code}"
    elif code == 3 and len(errors.splitlines()) != 1:
        problem = "not one line on stderr"
    elif memory > FIXED_MIB + MIB_PER_MIB * mib:
        problem = f"{memory:.0f} MiB"
    elif seconds > FIXED_SECONDS + SECONDS_PER_MIB * mib:
        problem = f"{seconds:.1f} s"
    print(f"# {command} {name} ({mib * 1024:.0f} KiB): {code}, {seconds:.2f} s, {memory:.0f} MiB")
    return [f"{name}: {problem}"] if problem else []


def try_all(command, title, files):
    problems = [problem for name in files for problem in judge(command, name)]
    for problem in problems:
        print("#", problem)
    print(f"{'ok' if files and not problems else 'not ok'} {command}: {title}")


every = sorted(name for name in os.listdir(FOLDER) if name.endswith(".zst"))
fair = [name for name in every if name.endswith("-fair.zst")]
try_all("verify", "files that claim to be large cost little", [name for name in every if name not in fair])
try_all("top", "files as dense as may be cost what their size lets expect", fair)
