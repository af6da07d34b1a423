#!/usr/bin/env python3
"""follow.py - does what CONTRIBUTING.md says under "What to touch for", in a copy of the tree: a driver entry, a hook, an
option of memrec, a phase rule, a knob, a detector, a report, a column of one, a view with its key, an event kind, and a field. Files
may be changed only where it names them; then the copy is built and each addition tried. Prints "ok ..." and "not ok ...", last "N passed, N failed, 0 skipped".
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SRC = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
results = []


def check(title, good, why=""):
    results.append(bool(good))
    print(("ok " if good else "not ok ") + title)
    if not good and why:
        print("\n".join("# " + line for line in str(why).splitlines()[-15:]))


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, cwd=TREE, timeout=900, **more)


def after(path, pattern, text):
    """Puts text behind the last line of the file that matches."""
    lines = open(os.path.join(TREE, path)).read().split("\n")
    at = max(i for i, line in enumerate(lines) if re.search(pattern, line))
    lines.insert(at + 1, text)
    write(path, "\n".join(lines))


def before(path, pattern, text):
    """Puts text before the first line of the file that matches."""
    lines = open(os.path.join(TREE, path)).read().split("\n")
    at = min(i for i, line in enumerate(lines) if re.search(pattern, line))
    lines.insert(at, text)
    write(path, "\n".join(lines))


def write(path, text):
    with open(os.path.join(TREE, path), "w") as file:
        file.write(text)
    touched.add(path)


# ---- what a newcomer adds ----

def a_driver_entry():
    after("recorder/agent/cuda/driver_entries.h", r"^\tX\(cuMemAlloc_v2,",
          "\tX(cuMemAllocTwice, 1001, ALLOC, DEVICE, 11000)\t\t\t\t\t\\")
    after("recorder/agent/cuda/driver_args.h", r"^#define CUDA_ARGS_cuMemAlloc_v2",
          "#define CUDA_ARGS_cuMemAllocTwice(A, S) A(cuda_address *, dptr) S() A(size_t, bytesize)")
    path = "tests/standin/memory.c"
    write(path, open(os.path.join(TREE, path)).read() + """
cuda_result do_cuMemAllocTwice(const struct args_cuMemAllocTwice *args, struct effect *effect)
{
	return do_cuMemAlloc_v2((const struct args_cuMemAlloc_v2 *)args, effect);
}
""")
    printed = run("python3", "tests/abi/entries.py").stdout
    check("a driver entry: entries.py prints it for the documentation", "cuMemAllocTwice" in printed, printed[-500:])
    row = next(line for line in printed.splitlines() if "cuMemAllocTwice" in line)
    after("docs/driver-entries.md", r"cuMemAlloc_v2", row)


def a_hook():
    write("recorder/agent/hooks/hook_host.c", """/* hook_host.c - a function that somebody wants to see. */
#include <unistd.h>
#include "hooks.h"
#include "memtrace/base.h"

static long hook_gethostid(void)
{
	return 4711;
}

MT_EXPORT long exported_gethostid(void) __asm__("gethostid") __attribute__((alias("hook_gethostid")));

const struct loaded_hook *hook_host_table(size_t *count)
{
	static const struct loaded_hook table[] = { { "gethostid", (void *)hook_gethostid } };

	*count = MT_ARRAY_SIZE(table);
	return table;
}
""")
    after("recorder/agent/hooks/hooks.h", r"^const struct loaded_hook", "const struct loaded_hook *hook_host_table(size_t *count);")
    after("recorder/agent/hooks/injection.c", r"^\tadd_hooks\(hook_", "\tadd_hooks(hook_host_table);")


def an_option():
    after("recorder/shared/options.h", r'^\tX\(no_census,', '\tX(newcomer, "newcomer", 0, 0, 1) \\')
    before("recorder/launch/arguments.c", r'^\tX\(0, "live"', '\tX(0, "newcomer", NULL, SET_FLAG, MEMBER(newcomer), "what a newcomer adds") \\')
    before("docs/man/memrec.1", r"^\.It Fl -no-census", ".It Fl -newcomer\nWhat a newcomer adds.")


def a_phase_rule():
    after("formats/rules/trl.yaml", r"category: kv cache", """  - function: '^newcomers_rollout$'
    file: '(^|/)trl/newcomer\\.py$'
    role: rollout""")
    before("tests/unit/rules_cases.txt", r"^== trl.yaml", """== trl.yaml: rollout, none, other
newcomers_rollout /v/trl/newcomer.py
""")


def a_knob():
    after("formats/knobs/trl.yaml", r"^knobs:", """  - key: GRPOConfig.newcomer
    what: what a newcomer adds
    source: trl/trainer/grpo_config.py GRPOConfig.newcomer
    process: [trainer]
    phase: [forward]
    category: [activations]
    saves: lower
    unit: tokens
    method: tokens
    cost: free
""")


def a_detector():
    before("include/memtrace/why.h", r"^	X\(LARGEST,", """	X(NEWCOMER, "newcomer", "more than a newcomer wants") \\""")
    before("docs/schema/parts.schema.json", r'"too_large", "allocator_idle"', '      "newcomer",')
    after("formats/why/fixes.yaml", r"^fixes:", "  - { cause: newcomer, action: fewer-tokens, text: 'Ask for less.' }")
    before("analyzer/why/detect/detectors.h", r"^	X\(LARGEST,", """	X(NEWCOMER, find_newcomer, 0, "{place} has {bytes} that a newcomer found.") \\""")
    write("analyzer/why/detect/find_newcomer.c", """/* Whatever failed. */
#include "detectors.h"

void find_newcomer(struct find *find)
{
	const struct scene_request *request = &find->scene->request;

	if (request->failure)
		find_add_request(find);
}
""")
    write("tests/cases/newcomer.case", """# A request that does not fit.

expect: newcomer place=main bytes=600MiB action=fewer-tokens

gpu GPU-1 1GiB
process trainer 1 GPU-1
stack main
	main train.py:1
at main
alloc some 600MiB
alloc much 600MiB fails
""")


def a_report():
    after("analyzer/report/command.h", r"^\tX\(info,", '\tX(greet, "TRACE...", "says hello to a trace")  \\')
    write("analyzer/commands/cmd_greet.c", """/* memana greet - what a newcomer adds. */
#include <stdio.h>
#include "report/answer.h"
#include "report/command.h"
#include "source/source.h"

static int greet(const struct source *source, int json)
{
	(void)json;
	printf("hello to %u trace\\n", source->inputs);
	return 0;
}

int cmd_greet(int argc, char **argv)
{
	return answer_traces(argc, argv, greet);
}
""")
    before("docs/man/memana.1", r'^\.It Cm info ', '.It Cm greet Ar TRACE...\nSays hello.\nWith\n.Fl -json\nno less.')


def a_column():
    after("analyzer/report/steps/query_steps.c", r"^\tX\(T, asleep_bytes,",
          '\tX(T, newcomer_bytes, BYTES, "new", it->held + 4711, "a figure that a newcomer wanted") \\')


def a_view():
    after("analyzer/screen/view/view.h", r"^\tX\(flame\)", "\tX(greet)   /* says hello */                              \\")
    write("analyzer/screen/view/view_greet.c", """/* view_greet.c - says hello. */
#include "app.h"

static void draw(struct view *view, struct app *app, struct area area)
{
	(void)view;
	(void)app;
	area_text(area, 0, 0, STYLE_PLAIN, "hello from a view");
}

static int request(struct view *view, struct app *app, enum request request, const struct input *input)
{
	(void)view;
	(void)app;
	(void)request;
	(void)input;
	return 0;
}

const struct view_ops view_greet_ops = {
	.name = "greet",
	.size = sizeof(struct view),
	.draw = draw,
	.request = request,
	.hint = "q back",
};
""")


def a_key():
    after("analyzer/screen/input/request.h", r"^\tX\(RETAINED, ASK", "\tX(GREET, ASK, 'J', 0, \"a view that says hello\")  \\")
    before("analyzer/screen/view/app_ask.c", r"^/\* ---- the screen as a file", """static void open_greet(struct app *app)
{
	app_open(app, &view_greet_ops, NULL);
}
""")
    after("analyzer/screen/view/app_ask.c", r"\[REQUEST_HELP\]", "\t[REQUEST_GREET] = open_greet,")
    after("docs/man/memana.1", r"^what outlives the step or phase that made it$", ".It Ic \\&J\na view that says hello")


def an_event_kind():
    after("formats/trace/trace-v1.md", r"^\| 59 \| cut \|", "| 60 | newcomer | seq time thread value | a number that a newcomer wanted |")
    before("include/memtrace/event.h", r"^\tX\(END, 63", '\tX(NEWCOMER, 60, MT_F_COMMON | MT_F(value), "a number that a newcomer wanted") \\')
    # Before the end of every recording, from who adds the events that nobody sends.
    path = "formats/ring/emitter.c"
    text = open(os.path.join(TREE, path)).read()
    text = text.replace("\tstruct mt_event event = { .kind = MT_END };\n",
                        "\tstruct mt_event event = { .kind = MT_END }, mine = { .kind = MT_NEWCOMER, .value = 42 };\n")
    text = text.replace("\tevent.value = emitter->done ? MT_END_STEPS : why;\n\tscribe->seq = (emitter->seq | END_NUMBER) - 1;\n",
                        "\tevent.value = emitter->done ? MT_END_STEPS : why;\n\tscribe->seq = (emitter->seq | END_NUMBER) - 2;\n"
                        "\twrite_own(emitter, &mine);\n")
    write(path, text)


def a_field():
    after("formats/trace/trace-v1.md", r"^\| 17 \| step \| PLAIN", "| 18 | newcomer | PLAIN | a number of the newcomer's |")
    path = "include/memtrace/event.h"
    text = open(os.path.join(TREE, path)).read()
    text, lists = re.subn(r'(\tX\(step, 17, PLAIN, "[^"]*"\))', r'\1 \\\n\tX(newcomer, 18, PLAIN, "a number of the newcomer\'s")', text)
    text, counts = re.subn(r"MT_FIELD_COUNT = 18\b", "MT_FIELD_COUNT = 19", text)
    check("a field of the trace: the list is where it was", lists == 1 and counts == 1)
    write(path, text)


# ---- what CONTRIBUTING.md allows ----

def allowed(section):
    """The files that it names under "### section", as regular expressions."""
    text = open(os.path.join(SRC, "CONTRIBUTING.md")).read()
    part = re.search(r"^### %s(?:[,:][^\n]*)?\n(.*?)(?=^##|\Z)" % section, text, re.S | re.M).group(1)
    names = re.findall(r"`([\w./-]+)`", part)
    found = [re.escape(name) + r"(/[^/]*)?" for name in names if "/" in name or "." in name]
    # "A `cmd_NAME.c` ...: in `folder`": the new file.
    folders = [name for name in names if "/" in name and "." not in os.path.basename(name)]
    folders += [os.path.dirname(name) for name in names if "/" in name]
    for name in names:
        if re.search(r"_[A-Z]+\.c$", name):
            found += [re.escape(folder) + "/" + re.sub("[A-Z]+", r"\\w+", name) for folder in folders]
    return found


STEPS = [("a driver entry", a_driver_entry), ("a hook", a_hook),
         ("an option of memrec", an_option), ("a phase rule", a_phase_rule), ("a knob", a_knob), ("a detector", a_detector),
         ("a report", a_report), ("a column of a report", a_column), ("a view", a_view), ("a key", a_key), ("an event kind", an_event_kind),
         ("a field of the trace", a_field)]


def follow():
    """Does all of them. Returns the files that were changed."""
    global touched
    every = set()
    for section, step in STEPS:
        touched = set()
        step()
        every.update(touched)
        patterns = allowed(section)
        more = [path for path in touched if not any(re.fullmatch(pattern, path) for pattern in patterns)]
        check(section + ": only the files that are named", not more, more)
    return every


# ---- what came of it ----

def has_view():
    """In a real terminal: the key opens the view."""
    tmux = ["tmux", "-L", "newcomer", "-f", "/dev/null"]
    env = dict(os.environ, TMUX_TMPDIR=TREE, TMUX="")
    run(*tmux, "new-session", "-d", "-x", "80", "-y", "24", "exec build/memana tui newcomer.zst", env=env)
    try:
        for wanted, key in (("Peak", "J"), ("hello from a view", "Q")):
            for _ in range(200):
                screen = run(*tmux, "capture-pane", "-p", env=env).stdout
                if wanted in screen:
                    break
                time.sleep(0.1)
            else:
                return False, screen
            run(*tmux, "send-keys", key, env=env)
        return True, ""
    finally:
        run(*tmux, "kill-server", env=env)


def docs():
    """The text of each page."""
    names = run("git", "ls-files", "docs").stdout.split()
    return {name: open(os.path.join(TREE, name), errors="replace").read() for name in names}


def try_all():
    entry = run("nm", "-D", "build/standin/libcuda.so.1").stdout
    check("a driver entry: the stand-in driver has it", "cuMemAllocTwice" in entry)
    check("a driver entry: documented as listed", run("python3", "tests/abi/entries.py").stdout in
          open(os.path.join(TREE, "docs/driver-entries.md")).read())
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(TREE, "build/standin"))
    made = run("build/memrec", "-o", "newcomer.zst", "--", "build/samples/rl_step", "--steps", "1", env=env)
    check("it records", made.returncode == 0, made.stderr)
    asked = run("build/memrec", "-o", "hook.zst", "--", "python3", "-c", "import ctypes; print(ctypes.CDLL(None).gethostid())", env=env)
    check("a hook: it stands in", "4711" in asked.stdout, asked.stdout + asked.stderr)
    check("an option of memrec: help lists it", "--newcomer" in run("build/memrec", "--help").stdout)
    pasted = run("build/memrec", "env", "--newcomer", "ray").stdout
    check("an option of memrec: memrec env hands it on", "newcomer:1" in pasted, pasted)
    rules = run("build/tests/unit/test_rule_cases", env=dict(os.environ, SRC=TREE))
    check("a phase rule: its case passes", rules.returncode == 0, rules.stdout + rules.stderr)
    check("a knob: it is listed", "GRPOConfig.newcomer" in run("build/memana", "knobs", "trl").stdout)
    scored = run("python3", "tests/cases/score.py", "build", "newcomer").stdout
    check("a detector: its case is right", re.search(r"^newcomer +first three ten action", scored), scored)
    hello = run("build/memana", "greet", "newcomer.zst")
    check("a report: it answers", hello.stdout == "hello to 1 trace\n", hello.stdout + hello.stderr)
    check("a report: help lists it", "greet" in run("build/memana", "--help").stdout)
    pages = docs()
    updated = run("bash", "tests/run.sh", "build", "test_columns", env=dict(os.environ, UPDATE_COLUMNS="1"))
    check("a column: its pages are written", updated.returncode == 0, updated.stdout)
    changed = sorted(path for path, text in docs().items() if pages.get(path) != text)
    check("a column: only the pages that are named", changed == ["docs/man/memana.1", "docs/schema/parts.schema.json"], changed)
    check("a column: both pages have it", all("a figure that a newcomer wanted" in docs()[path] for path in changed))
    row = json.loads(run("build/memana", "steps", "--json", "newcomer.zst").stdout)["processes"][0]["steps"][0]
    check("a column: the JSON has it", row.get("newcomer_bytes") == row["held_bytes"] + 4711, row)
    table = run("build/memana", "steps", "newcomer.zst").stdout
    check("a column: the text has it", re.search(r"^  step .* new ", table, re.M), table)
    check("a view and its key: it opens", *has_view())
    keys = run("build/tests/unit/test_tui_keys", env=dict(os.environ, SRC=TREE))
    check("a key: the rules of keys hold", keys.returncode == 0, keys.stdout)
    spec = run("build/tests/unit/test_spec", env=dict(os.environ, SRC=TREE))
    check("an event kind, a field: specification and lists agree", spec.returncode == 0, spec.stdout)
    info = run("build/memana", "info", "newcomer.zst").stdout
    check("an event kind: memana info counts it", "newcomer" in info.lower(), info)
    verify = run("build/memana", "verify", "newcomer.zst")
    check("an event kind: the trace is whole", verify.returncode == 0, verify.stdout + verify.stderr)
    lint = run("bash", "tools/lint.sh")
    check("the rules of the house hold", lint.returncode == 0, lint.stdout + lint.stderr)


def main():
    global TREE
    work = tempfile.mkdtemp(prefix="memrec-contributing.")
    TREE = os.path.join(work, "tree")
    try:
        subprocess.run(["git", "clone", "-q", SRC, TREE], check=True)
        names = subprocess.run(["git", "ls-files", "-mo", "--exclude-standard"], cwd=SRC, capture_output=True, text=True, check=True)
        for name in names.stdout.split("\n"):
            if name and os.path.exists(os.path.join(SRC, name)):
                os.makedirs(os.path.dirname(os.path.join(TREE, name)), exist_ok=True)
                shutil.copy(os.path.join(SRC, name), os.path.join(TREE, name))
        sources = sorted(path for path in follow() if path.endswith((".c", ".h")))
        if shutil.which("clang-format"):
            run("clang-format", "-i", *sources)
        built = run("make", "-j2", "programs", "standin", "samples", "cases", "build/tests/unit/test_rule_cases", "build/tests/unit/test_tui_keys",
                    "build/tests/unit/test_spec", "build/tests/unit/test_column")
        check("it builds", built.returncode == 0, built.stdout + built.stderr)
        if built.returncode == 0:
            try_all()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print("%d passed, %d failed, 0 skipped" % (sum(results), len(results) - sum(results)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
