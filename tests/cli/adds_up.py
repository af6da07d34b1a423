"""adds_up.py MEMANA DATABASE|TRACE...: every report counts the same bytes as `memana top` at the same instant.
adds_up.py MEMANA --each DATABASE...: the same for each database, with a line "ok NAME: all reports add up" each.

Compared are the database's views at the peak and at the ends of steps, the holes that frag finds at the peak and at
failed requests, what phases and steps call a peak (bytes, and whose it is), and who held the rest when memory ran out.
Says what differs and ends with 1, or says how much agreed.
"""
import functools
import json
import subprocess
import sys

MEMANA, TRACES = sys.argv[1], sys.argv[2:]
STEPS = 6  # steps of a device that are compared: the first and last ones; the highest peak comes to them
DATABASE = None
wrong, agreed = [], 0


def run(*arguments):
    return subprocess.run([MEMANA, *arguments], check=True, capture_output=True, text=True).stdout


@functools.cache
def report(command, *options):
    """A loaded database, which every report makes for itself otherwise. Each answer is asked for once."""
    return json.loads(run(command, "--json", *options, DATABASE))


def rows(sql):
    return [line.split("\t") for line in run("sql", DATABASE, sql).splitlines()]


def same(what, one, two):
    global agreed
    agreed += 1
    if one != two:
        wrong.append(f"{what}: {one} is not {two}")


def compare_views():
    for device, held, slack, in_use in rows("""SELECT device, bytes, slack_bytes, (SELECT ifnull(sum(bytes), 0)
            FROM live_at WHERE moment = 'peak' AND live_at.device = peak.device AND in_use) FROM peak"""):
        same(f"device {device} at its peak", int(in_use) + int(slack), int(held))
    for process, step, held, slack, in_use in rows("""SELECT process, step, held_bytes, slack_bytes,
            (SELECT ifnull(sum(bytes), 0) FROM live_at WHERE moment = 'step:' || it.step || ':end' AND in_use
             AND at_process = it.process AND live_at.process = it.process AND live_at.device = it.device)
            FROM step JOIN step_device AS it USING (process, step)"""):
        same(f"process {process} at the end of step {step}", int(in_use) + int(slack), int(held))


def peak_of(document, device):
    """top's peak; there is no device where nothing was held."""
    return next((d["peak"] for d in document["devices"] if d["id"] == device), {"bytes": 0})


def compare_phases(top):
    for device in report("phases")["devices"]:
        first = device["phases"][0]
        peak = peak_of(top, device["id"])
        same(f"phases: device {device['id']}", (first["peak_bytes"], first["phase"], first["peak_step"]),
             (peak["bytes"], peak["phase"], peak["step"]))
        for phase in device["phases"]:
            if phase["peak_bytes"]:
                then = peak_of(report("top", "--at", f"{phase['peak_ns']}ns"), device["id"])
                same(f"phases: {phase['phase']}", phase["peak_bytes"], then["bytes"])


def compare_steps(top):
    processes = report("steps")["processes"]
    for device in {p["device"] for p in processes}:
        steps = {}
        for process in (p for p in processes if p["device"] == device):
            for step in process["steps"]:
                best = steps.setdefault(step["step"], step)
                if step["peak_bytes"] > best["peak_bytes"]:
                    steps[step["step"]] = step
        numbers = sorted(steps)
        chosen = {*numbers[:STEPS // 2], *numbers[-STEPS // 2:], max(numbers, key=lambda n: steps[n]["peak_bytes"])}
        for number in sorted(chosen):
            step = steps[number]
            try:
                then = peak_of(report("top", "--at", f"step:{number}"), device)
                same(f"steps: step {number}", step["peak_bytes"], then["bytes"])
            except subprocess.CalledProcessError:
                same(f"steps: step {number}, in which nothing was allocated", step["ended"], False)
        peak = peak_of(top, device)
        of_top = [(p["pid"], s["peak_bytes"], s["peak_phase"]) for p in processes if p["device"] == device
                  for s in p["steps"] if s["step"] == peak["step"]]
        same(f"steps: device {device}", (peak["pid"], peak["bytes"], peak["phase"]) in of_top, True)


def idle_at(moment):
    """The idle bytes of frag, hole by hole, on each device; nothing without such a moment."""
    try:
        return {d["id"]: d["idle_bytes"] for d in report("frag", "--at", moment)["devices"]}
    except subprocess.CalledProcessError:
        return {}


def compare_holes(top):
    for device, idle in idle_at("peak").items():
        slack = next((d["slack_bytes"] for d in top["devices"] if d["id"] == device), 0)
        same(f"frag: device {device} at its peak", idle, slack)


def compare_failures():
    for failure in report("oom")["failures"]:
        then = report("oom", "--number", str(failure["number"]))["failure"]
        for device, idle in idle_at(f"oom:{failure['number']}").items():
            same(f"frag: device {device} at request {failure['number']}", idle, sum(p["slack_bytes"] for p in then["processes"]))
        same(f"oom: request {failure['number']}", then["in_use_bytes"] + sum(p["slack_bytes"] for p in then["processes"]),
             sum(p["held_bytes"] for p in then["processes"]))


def compare(database):
    """Differences as sentences, and the number of figures that agreed."""
    global DATABASE, wrong, agreed
    DATABASE, wrong, agreed = database, [], 0
    report.cache_clear()
    top = report("top")
    compare_views()
    compare_phases(top)
    compare_steps(top)
    compare_failures()
    compare_holes(top)
    return wrong, agreed


def each(databases):
    for database in databases:
        name = database.removesuffix(".db")
        try:
            differ, count = compare(database)
        except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
            differ, count = [f"{type(error).__name__}: {error}"], 0
        print(f"{'not ok' if differ or not count else 'ok'} {name}: all reports add up")
        for line in differ:
            print(f"# {line}")


def main():
    database = TRACES[0]
    if not database.endswith(".db"):
        database = "adds_up.db"
        run("load", *TRACES, "-o", database)
    differ, count = compare(database)
    print("\n".join(differ) or f"{count} figures agree")
    return bool(differ) or not count


sys.exit(each(TRACES[1:]) if TRACES[0] == "--each" else main())
