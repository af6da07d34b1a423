# memrec and memana. `make demo` and `make test` are all a newcomer needs.
#
#   make            build everything into build/
#   make demo       record the sample RL step loop and show what filled the GPU
#   make test       unit and command tests; last line: N passed, N failed, N skipped
#   make test-torch the same for a current PyTorch, which it fetches from PyPI
#   make test-export exports in the official readers of their formats, which it fetches
#   make test-driver NVIDIA's own driver library without a GPU, which it fetches
#   make test-attach memrec attach and detach, ROUNDS=200 times into a training, with each Python, gdb and lldb that is here
#   make test-rules the phase rules against real releases of the frameworks, which it fetches
#   make test-modules the peak by module, held against an oracle in the same program (in the environment of test-frameworks)
#   make test-frameworks TRL, the Trainer, DDP, FSDP2 and others, held against their own account (8 GB, an hour)
#   make test-advice what memana advise predicts of real runs, against the same runs as they were changed (an hour)
#   make allocator-table the model of PyTorch's allocator against real recordings: SNAPSHOTS=folder of memory snapshots
#   make test-knobs every row of memana knobs against real releases of the frameworks, which it fetches
#   make fuzz       MINUTES=10 [TARGET=name]: the readers against hostile input, with clang and libFuzzer
#   make lint       the rules of the house, checked
#   make english    lowers the counts of sentences that are hard to read (docs/english.md)
#   make tidy       cppcheck and clang-tidy over all sources (a minute)
#   make install    prefix=/usr/local bindir= libdir= mandir= datadir= DESTDIR=; install-strip, uninstall, installcheck
#   make wheel      a wheel and a tar file that need glibc 2.28 and nothing else: ARCH=x86_64 or aarch64 (build-wheel/dist)
#   make deb        a package for the Debian or Ubuntu of this machine (build/dist)
#   make test-conda, make test-container     the recipe and the container file of packaging, followed as far as this machine can
#   make test-reproducible   two builds in two folders are equal to the byte
#   make dist       the sources of the newest commit as memrec-VERSION.tar.gz; make sdist: with those of the libraries in a wheel
#   make DEBUG=1, make SAN=address,undefined     other builds, each in its own folder

VERSION := 0.1.0
# The commit of the sources: of this repository, or of the archive that `make dist` made.
COMMIT := $(or $(shell cat .commit 2>/dev/null),$(shell test -e .git && git rev-parse --short=12 HEAD 2>/dev/null),unknown)
CC ?= cc
# PREFIX is an older name of prefix.
PREFIX ?= /usr/local
prefix ?= $(PREFIX)
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
datadir ?= $(prefix)/share
mandir ?= $(datadir)/man
pkgconfigdir ?= $(datadir)/pkgconfig
agentdir = $(libdir)/memrec
DESTDIR ?=

# Quiet by default: make V=1 shows the commands.
Q := $(if $(V),,@)
SAY = $(if $(V),@:,@printf '  %-8s %s\n')

# One folder per kind of build, so that they never mix.
VARIANT := $(if $(SAN),-san)$(if $(DEBUG),-debug)
B ?= build$(VARIANT)

WARN := -Werror=implicit-function-declaration -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wdeclaration-after-statement -Wvla \
	-Wwrite-strings -Wundef -Wpointer-arith -Wno-missing-field-initializers
# CPPFLAGS, CFLAGS and LDFLAGS are the user's: they come last, so that the user's word counts.
ALL_CPPFLAGS = -Iinclude -D_GNU_SOURCE -DMEMREC_VERSION='"$(VERSION)"' $(CPPFLAGS)
OPTIMIZE = $(if $(DEBUG),-O0,-O2)
ALL_CFLAGS = -std=gnu11 -g $(OPTIMIZE) $(WARN) $(if $(WERROR),-Werror) -ffile-prefix-map='$(CURDIR)=.' $(CFLAGS)
ALL_LDFLAGS = $(if $(SAN),,-Wl,-z,relro,-z,now) $(LDFLAGS)
# memrec and memana read what others wrote. The agent has no guards: each of its calls would pay for them.
HARDEN := $(if $(SAN)$(DEBUG),,-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
SANFLAGS := $(if $(SAN),-O1 -g1 -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
DEPFLAGS = -MMD -MP

FORMATS_SRC := $(shell find formats -name '*.c')
ANALYZER_SRC := $(shell find analyzer -name '*.c')


# Objects that run inside somebody else's process, and memrec; recorder/shared is in both.
NOP_SRC := recorder/agent/hooks/agent_nop.c
AGENT_SRC := $(filter-out $(NOP_SRC),$(wildcard recorder/shared/*.c recorder/agent/*/*.c))
MEMREC_SRC := $(wildcard recorder/shared/*.c recorder/run/*.c recorder/collect/*.c recorder/launch/*.c)

FORMATS_OBJ := $(FORMATS_SRC:%.c=$(B)/obj/%.o)
ANALYZER_OBJ := $(ANALYZER_SRC:%.c=$(B)/obj/%.o)
MEMREC_OBJ := $(MEMREC_SRC:%.c=$(B)/obj/%.o)
AGENT_OBJ := $(AGENT_SRC:%.c=$(B)/agent/%.o)
NOP_OBJ := $(NOP_SRC:%.c=$(B)/agent/%.o)

# Every event passes these files. The programs have a copy of them with link-time optimisation, which saves 8 % of the instructions of `top`.
# They are compiled with -O3, which saves 2 % more. Each file here makes each link slower. Libraries and tests have ordinary objects. `make LTO=` turns the copy off, as do SAN, DEBUG and a compiler without it.
HOT_SRC := $(wildcard formats/ledger/*.c formats/import/*.c formats/base/addrmap.c analyzer/engine/stream*.c \
	$(addprefix formats/trace/,decoder.c defs.c encoder.c) $(addprefix formats/ring/,emitter.c fold.c fold_before.c intake.c ring_read.c) \
	$(addprefix formats/write/,writer.c writer_summary.c) formats/summary/tally.c formats/base/refusals.c \
	$(addprefix formats/phase/,phase.c phase_known.c phase_loss.c phase_marks.c phase_stack.c phase_steps.c) \
	$(addprefix analyzer/label/,attribution.c category.c category_sizes.c census.c) analyzer/device/gpu_total.c analyzer/engine/outlived.c \
	$(addprefix analyzer/rows/,course.c kept.c kept_advice.c load_sums.c outline.c phase_use.c row_sink.c) analyzer/base/tuple.c analyzer/facts/facts_rows.c \
	formats/base/names.c)
LTO ?= $(if $(SAN)$(DEBUG),,$(shell echo 'int main(void) { return 0; }' | $(CC) -flto=auto -x c - -o /dev/null 2>/dev/null && echo -flto=auto))
LTO := $(LTO)
HOT_OBJ := $(if $(LTO),$(HOT_SRC:%.c=$(B)/hot/%.o))
$(HOT_OBJ): OPTIMIZE = -O3

LIB := $(B)/libmemtrace.a
FORMATS_LIBS := -lzstd -lyaml -lpthread
ANALYZER_LIBS := -lsqlite3 -ljansson -lncursesw -ldw -lelf -lz -lsupc++ -lm

# The agent is built as a different animal: hidden symbols, no library but libc, TLS that never allocates.
AGENT_CFLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-omit-frame-pointer -fexceptions -fasynchronous-unwind-tables
AGENT_LDFLAGS := -shared -Wl,--no-undefined -Wl,-z,now -Wl,-z,nodelete

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(B)/tests/unit/%)

# EACH= makes no names for other loaders: for packages without links.
EACH := $(B)/each/.made
PROGRAMS := $(B)/memrec $(B)/memana $(B)/libmemrec.so $(B)/libmemrec-nop.so $(EACH)
STANDIN := $(B)/standin/libcuda.so.1 $(B)/standin/libcupti.so.13 $(B)/standin/libnvidia-ml.so.1
SAMPLES := $(B)/samples/rl_step

.PHONY: all
all: programs standin samples

.PHONY: programs standin samples unit
programs: $(PROGRAMS)
standin: $(STANDIN)
samples: $(SAMPLES)
unit: $(UNIT_BIN)

$(LIB): $(FORMATS_OBJ)
	@rm -f $@
	$(SAY) AR $@
	$(Q)$(AR) rcs $@ $^

# A unit test is linked with the parts of the analyzer that it needs.
$(B)/analyzer.a: $(filter-out %/main.o,$(ANALYZER_OBJ))
	@rm -f $@
	$(SAY) AR $@
	$(Q)$(AR) rcs $@ $^

MEMANA_OBJ := $(HOT_OBJ) $(filter-out $(HOT_OBJ:$(B)/hot/%=$(B)/obj/%),$(ANALYZER_OBJ))
$(B)/memana: $(MEMANA_OBJ) $(LIB)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(SANFLAGS) $(LTO) $(ALL_LDFLAGS) -o $@ $(MEMANA_OBJ) $(LIB) $(FORMATS_LIBS) $(ANALYZER_LIBS)

# The collector makes the facts of a trace (include/memtrace/facts.h): the linker takes the pass, and nothing else, from the analyzer.
$(B)/memrec: $(MEMREC_OBJ) $(HOT_OBJ) $(B)/analyzer.a $(LIB)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(SANFLAGS) $(LTO) $(ALL_LDFLAGS) -o $@ $(MEMREC_OBJ) $(HOT_OBJ) $(B)/analyzer.a $(LIB) $(FORMATS_LIBS) -ldl

$(B)/libmemrec.so: $(AGENT_OBJ)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(AGENT_CFLAGS) $(AGENT_LDFLAGS) $(LDFLAGS) -o $@ $^ -ldl -lpthread

$(B)/libmemrec-nop.so: $(NOP_OBJ)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(AGENT_CFLAGS) $(AGENT_LDFLAGS) -o $@ $^

# A name for LD_PRELOAD that each loader of the machine reads in its own way (recorder/launch/inject.h): the 64-bit
# one comes to the agent, a 32-bit one to a library that does nothing. If the compiler makes none there is no such
# name.
$(B)/each/.made:
	@mkdir -p $(B)/each/lib64 $(B)/each/lib/x86_64-linux-gnu $(B)/each/lib/i386-linux-gnu $(B)/each/lib32
	@ln -sf ../../libmemrec.so $(B)/each/lib64/libmemrec.so
	@ln -sf ../../../libmemrec.so $(B)/each/lib/x86_64-linux-gnu/libmemrec.so
	@echo | $(CC) -m32 -nostdlib -shared -s -x c - -o $(B)/each/lib32/libmemrec.so 2>/dev/null || rm -rf $(B)/each/lib32
	@ln -sf ../lib32/libmemrec.so $(B)/each/lib/libmemrec.so
	@ln -sf ../../lib32/libmemrec.so $(B)/each/lib/i386-linux-gnu/libmemrec.so
	@touch $@

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(SAY) CC $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(HARDEN) $(ALL_CFLAGS) $(SANFLAGS) $(DEPFLAGS) -c -o $@ $<

$(B)/hot/%.o: %.c
	@mkdir -p $(@D)
	$(SAY) CC $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(HARDEN) $(ALL_CFLAGS) $(LTO) $(DEPFLAGS) -c -o $@ $<

$(B)/agent/%.o: %.c
	@mkdir -p $(@D)
	$(SAY) CC $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(AGENT_CFLAGS) $(DEPFLAGS) -c -o $@ $<

# Times and bytes of a foreign database may add up to anything: modulo 2^64 then, as in a trace, but defined.
$(ANALYZER_OBJ) $(filter $(B)/hot/analyzer/%,$(HOT_OBJ)): ALL_CFLAGS += -fwrapv

# A file names those of its own room alone, others by their room: "trace/chunk.h". See tools/rooms.txt.
$(FORMATS_OBJ) $(filter $(B)/hot/formats/%,$(HOT_OBJ)): ALL_CPPFLAGS += -Iformats
$(MEMREC_OBJ) $(AGENT_OBJ) $(NOP_OBJ): ALL_CPPFLAGS += -Irecorder
$(ANALYZER_OBJ) $(filter $(B)/hot/analyzer/%,$(HOT_OBJ)): ALL_CPPFLAGS += -Ianalyzer

# Facts are of one identity: of all sources that say what a pass finds. A change of any of them makes older facts void.
PASS_SRC := $(sort $(wildcard $(addsuffix /*.[ch],analyzer/engine analyzer/label analyzer/rows analyzer/facts analyzer/device formats/ledger formats/phase formats/rules) \
	formats/rules/*.yaml include/memtrace/*.h analyzer/base/tuple.[ch]))
$(B)/obj/analyzer/facts/facts.o: $(PASS_SRC)
$(B)/obj/analyzer/facts/facts.o: ALL_CPPFLAGS += -DMT_FACTS_IDENTITY=0x$(shell cat $(PASS_SRC) | sha1sum | cut -c 1-16)ull

# The rules are data; the program carries a copy (formats/rules/rules.c).
$(B)/obj/formats/rules/rules.o: $(wildcard formats/rules/*.yaml)
$(B)/obj/formats/knobs/knobs.o: $(wildcard formats/knobs/*.yaml)
$(B)/obj/formats/why/why.o: $(wildcard formats/why/*.yaml)
$(B)/obj/analyzer/database/db.o: analyzer/database/schema.sql
$(B)/commit: force
	@mkdir -p $(@D)
	@echo $(COMMIT) | cmp -s - $@ || echo $(COMMIT) >$@
.PHONY: force
$(B)/obj/recorder/launch/main.o $(B)/obj/analyzer/commands/main.o: ALL_CPPFLAGS += -DMEMREC_COMMIT='"$(COMMIT)"'
$(B)/obj/recorder/launch/main.o $(B)/obj/analyzer/commands/main.o: $(B)/commit

# The page of memana export --to html may run the one script and use the one style that these hashes are of.
PAGE := analyzer/export/html
PAGE_SCRIPTS := $(PAGE)/page_data.js $(PAGE)/page_time.js $(PAGE)/page.js
PAGE_HASH = $(shell cat $(1) | sha256sum | cut -c1-64 | tr a-f A-F | basenc -d --base16 | base64)
$(B)/obj/$(PAGE)/to_html.o: $(PAGE)/page.html $(PAGE)/page.css $(PAGE_SCRIPTS)
$(B)/obj/$(PAGE)/to_html.o: ALL_CPPFLAGS += -DPAGE_SCRIPT_HASH='"$(call PAGE_HASH,$(PAGE_SCRIPTS))"' -DPAGE_STYLE_HASH='"$(call PAGE_HASH,$(PAGE)/page.css)"'
$(B)/agent/recorder/agent/census/census.o: recorder/agent/census/census.py

# A unit test sees the library and the analyzer without its main.
$(B)/tests/unit/%: tests/unit/%.c $(LIB) $(B)/analyzer.a tests/unit/test.h
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SANFLAGS) $(DEPFLAGS) -Itests/unit -Iformats -Irecorder -Ianalyzer $(ALL_LDFLAGS) -o $@ $< \
		$(B)/analyzer.a $(LIB) $(FORMATS_LIBS) $(ANALYZER_LIBS) -ldl -lm

# --- what people type ---------------------------------------------------------------------------------------------

.PHONY: demo test lint english bench deps-build deps-test
deps-build:
	@tools/deps.sh build
deps-test:
	@tools/deps.sh build test kit

# The packages first, then the same make again: what is missing now can be found then.
demo: deps-build
	@$(MAKE) --no-print-directory -j2 programs standin samples >$(B)-demo.log 2>&1 || { cat $(B)-demo.log; rm -f $(B)-demo.log; exit 1; }
	@rm -f $(B)-demo.log
	@samples/demo.sh $(B)

test: deps-test
	@$(MAKE) --no-print-directory -j2 all unit victims lint $(if $(SAN),,kit)
	@tests/run.sh $(B)

# Readers of exports from PyPI, in a virtual environment that is made once (100 MB).
.PHONY: test-export deps-export
deps-export:
	@tools/deps.sh build test export
test-export: deps-export
	@$(MAKE) --no-print-directory -j2 programs standin samples
	@tests/export/run.sh $(B)

# A current PyTorch from PyPI, in a virtual environment of its own that is made once (5 GB).
.PHONY: test-torch deps-torch
deps-torch:
	@tools/deps.sh build test torch
test-torch: deps-torch
	@$(MAKE) --no-print-directory -j2 programs standin
	@tests/torch/run.sh $(B)

# The phase rules against the frameworks' releases: sources of 25 of them from PyPI (150 MB, once; B/rules), nothing is run.
.PHONY: test-rules
test-rules:
	@tests/rules/run.sh $(B)

# Real frameworks in an environment of their own (8 GB, made once), each recorded and held against its own account.
.PHONY: test-frameworks
test-frameworks: deps-torch
	@$(MAKE) --no-print-directory -j2 programs
	@tests/frameworks/run.sh $(B) $(CASES)

# memana top --by module against an oracle in the recorded program: in python3's PyTorch if it is an old one, and in the same environment.
.PHONY: test-modules
test-modules: deps-torch
	@$(MAKE) --no-print-directory -j2 programs
	@tests/modules/run.sh $(B) $(CASES)

# Predictions against measured peaks, in the same environment. Recordings are kept in B/advice: with them it takes seconds.
.PHONY: test-advice
test-advice: deps-torch
	@$(MAKE) --no-print-directory -j2 programs standin samples
	@CHECK=advice/check.py tests/frameworks/run.sh $(B) $(CASES)

# The knobs against the frameworks' releases: sources of 29 of them from PyPI (once; B/knobs), nothing is run.
.PHONY: test-knobs
test-knobs:
	@tests/knobs/run.sh $(B)

# The table of docs/allocator-model.md: real memory snapshots of PyTorch, which are not in this repository.
.PHONY: allocator-table
allocator-table: programs
	@python3 tests/allocator/model_table.py $(B)/memana "$(or $(SNAPSHOTS),../shared/data/snapshots)"

# NVIDIA's own driver library, which it fetches (30 MB), without a GPU.
.PHONY: test-driver
test-driver: deps-test
	@$(MAKE) --no-print-directory -j2 all
	@tests/driver/run.sh $(B)

# Attaching to what runs, far more often than `make test` does.
.PHONY: test-attach
ROUNDS ?= 200
test-attach: deps-test
	@tools/deps.sh attach
	@$(MAKE) --no-print-directory -j2 all
	@TEST_TIMEOUT=3600 ROUNDS=$(ROUNDS) tests/run.sh $(B) test_attach

# A table of attacks on a recording, and their results (an hour; RUNS, KEEP_MINUTES, ROWS: tests/torture/torture.py).
TORTURE := $(B)/torture/victim $(B)/torture/victim_library.so
$(B)/torture/victim: tests/torture/victim.c
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(DEPFLAGS) $(ALL_LDFLAGS) -o $@ $< -ldl -lpthread

$(B)/torture/victim_library.so: tests/torture/victim_library.c
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fPIC -shared $(ALL_LDFLAGS) -o $@ $<

.PHONY: torture victims
victims: $(TORTURE)
torture: programs standin victims
	@python3 tests/torture/torture.py $(B)

# The wheel and the tar file on bare Debians 11, 12 and 13, as a user without rights (minutes, needs root). Then make demo and make test there, as root and as such a
# user (an hour, 5 GB).
.PHONY: test-elsewhere test-wheel-elsewhere
test-elsewhere: test-wheel-elsewhere
	@tests/elsewhere/run.sh
test-wheel-elsewhere: deps-wheel
	@$(MAKE) --no-print-directory -j2 wheel ARCH=x86_64
	@tests/elsewhere/wheel.sh build-wheel/dist/memrec-$(VERSION)-py3-none-*_x86_64.whl build-wheel/dist/memrec-$(VERSION)-linux-x86_64.tar.gz build-wheel/programs-x86_64

# Does the actions of CONTRIBUTING.md's "What to touch for" in a copy of the tree.
.PHONY: test-contributing
test-contributing: deps-test
	@python3 tests/contributing/follow.py

lint:
	@tools/lint.sh

# Lowers the counts of tools/english.txt to what the tree has (docs/english.md).
english:
	@tools/english.py --lower

# The findings of cppcheck and clang-tidy in all sources: a minute on two cores, so it is not in lint.
.PHONY: tidy deps-tidy
deps-tidy:
	@tools/deps.sh build tidy
tidy: deps-tidy
	@tools/tidy.sh

BENCH_SRC := $(wildcard tests/bench/bench_*.c)
BENCH_BIN := $(BENCH_SRC:tests/bench/%.c=$(B)/tests/bench/%)

$(B)/tests/bench/%: tests/bench/%.c $(LIB)
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SANFLAGS) $(DEPFLAGS) -Itests/unit -Iformats $(ALL_LDFLAGS) -o $@ $< $(LIB) $(FORMATS_LIBS)

# The timeline's is built on the analyzer, like a unit test.
$(B)/tests/bench/bench_tui: tests/bench/bench_tui.c $(LIB) $(B)/analyzer.a
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SANFLAGS) $(DEPFLAGS) -Ianalyzer $(ALL_LDFLAGS) -o $@ $< \
		$(B)/analyzer.a $(LIB) $(FORMATS_LIBS) $(ANALYZER_LIBS) -ldl

bench: programs standin samples $(BENCH_BIN)
	@tests/bench/run.sh $(B)

# How fast traces are read and snapshots imported, next to heaptrack_print and CPython's unpickler.
.PHONY: bench-top
bench-top: programs $(addprefix $(B)/tests/bench/,bench_format bench_driver bench_repeat)
	@tests/bench/top.sh $(B)

# How long answers about 1,024 ranks take: RANKS, RANK_EVENTS and RANK_FOLDER in tests/bench/ranks.sh.
.PHONY: bench-ranks
bench-ranks: programs $(addprefix $(B)/tests/,bench/bench_format unit/test_facts)
	@tests/bench/ranks.sh $(B)

# The cost of answers: from facts, from all events, and on shapes with very many of one thing.
.PHONY: bench-reports
bench-reports: programs standin samples $(addprefix $(B)/tests/,unit/test_facts bench/bench_format bench/bench_shape bench/bench_tui)
	@tests/bench/facts.sh $(B)
	@tests/bench/reports.sh $(B)
	@tests/bench/shapes.py $(B)

# How long the timeline takes to read and to draw, at every zoom.
.PHONY: bench-tui
bench-tui: $(B)/tests/bench/bench_format $(B)/tests/bench/bench_tui
	@tests/bench/tui.sh $(B)

# Pages of memana export --to html in a headless Chromium: the demo's, one of 1 M events, and PAGES.
.PHONY: bench-page
bench-page: programs standin samples
	@samples/demo.sh $(B) >/dev/null
	@STANDIN_MEM=200GiB LD_LIBRARY_PATH='$(CURDIR)/$(B)/standin' $(B)/memrec -q -o $(B)/page.zst -- $(B)/samples/rl_step --quiet --steps 185
	@for name in demo page; do $(B)/memana export $(B)/$$name.zst --to html -o $(B)/$$name.html || exit 1; done
	@tests/bench/page.py $(B)/demo.html $(B)/page.html $(PAGES)

# The cost of looking at a recording while it runs.
.PHONY: bench-live
bench-live: programs standin samples
	@tests/bench/live.py $(B)

# A step of a training, recorded by memrec attach and after memrec detach.
.PHONY: bench-attach
bench-attach: programs
	@python3 tests/bench/attach.py $(B)

# The cost of an event in the recorded program, next to heaptrack and memray, and in the collector, next to the build of an older commit:
# make bench-record BEFORE=FOLDER
.PHONY: bench-record
bench-record: programs standin samples $(B)/memrec-no-pass
	@tests/bench/record.sh $(B)
	@tests/bench/loop.sh $(B)
	@tests/bench/collector.sh $(B) $(BEFORE)

$(B)/tests/bench/no_pass.o: recorder/collect/own_pass.c
	@mkdir -p $(@D)
	$(SAY) CC $@
	$(Q)$(CC) $(ALL_CPPFLAGS) -Irecorder $(HARDEN) $(ALL_CFLAGS) $(SANFLAGS) $(DEPFLAGS) -DEVENTS_LEAST=UINT64_MAX -c -o $@ $<

# memrec with a collector that makes no facts.
$(B)/memrec-no-pass: $(B)/tests/bench/no_pass.o $(B)/memrec
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CFLAGS) $(SANFLAGS) $(LTO) $(ALL_LDFLAGS) -o $@ $< $(filter-out %/own_pass.o,$(MEMREC_OBJ)) $(HOT_OBJ) $(B)/analyzer.a \
		$(LIB) $(FORMATS_LIBS) -ldl

# The cost of modules in stacks, next to the build of an older commit: make bench-modules BEFORE=FOLDER
.PHONY: bench-modules
bench-modules: programs
	@tests/bench/modules.sh $(B) $(BEFORE)

# Completion for bash, zsh and fish, made of the programs' own help.
COMPLETION := $(foreach shell,bash zsh fish,$(B)/completion/memrec.$(shell) $(B)/completion/memana.$(shell))
.PHONY: completion
completion: $(COMPLETION)
$(COMPLETION): $(B)/completion/%: tools/completion.sh $(B)/memrec $(B)/memana
	@mkdir -p $(@D)
	$(SAY) SHELL $@
	$(Q)tools/completion.sh $(B)/$(basename $*) $(patsubst .%,%,$(suffix $*)) >$@.new && mv $@.new $@

# The pictures in the README, read from a real terminal (tmux): the timeline of a new trace of the demo, and a recording of PyTorch
# while it runs. A place without a name is an error.
WITH_TORCH = $(firstword $(foreach python,python3 /usr/bin/python3,$(shell $(python) -c 'import torch' 2>/dev/null && echo $(python))))
.PHONY: screenshot
screenshot: programs standin samples
	@samples/demo.sh $(B) >/dev/null
	@tools/screenshot.py $(B)/memana $(B)/demo.zst docs/tui.svg
	@$(B)/memana export $(B)/demo.zst --to html -o samples/demo.html && rm -f samples/demo.html.old
	@tools/page_picture.py samples/demo.html docs/page.png
	@tools/screenshot.py $(B)/memana $(B)/live.zst docs/live.svg --size 110x32 --until 'of step ([89]|[1-9][0-9]+)\.' \
		--record "$(B)/memrec --cpu -o $(B)/live.zst -- $(or $(WITH_TORCH),python3) samples/train.py --steps 100000"

# Needs a real GPU: see tests/gpu/README.md.
.PHONY: test-gpu
test-gpu:
	@tests/gpu/run.sh $(B)

# --- packages -----------------------------------------------------------------------------------------------------

# Each installed file, once: mode:source:target.
MANUALS := memrec.1 memana.1
# Pages of section 5 are made of the specifications.
MANUALS5 := $(foreach page,trace rules knobs,$(B)/man/memrec-$(page).5)
INSTALLED = 755:$(B)/memrec:$(bindir)/memrec 755:$(B)/memana:$(bindir)/memana \
	755:$(B)/libmemrec.so:$(agentdir)/libmemrec.so \
	644:include/memrec.h:$(includedir)/memrec.h \
	644:$(B)/memrec.pc:$(pkgconfigdir)/memrec.pc \
	$(foreach page,$(MANUALS),644:docs/man/$(page):$(mandir)/man1/$(page)) \
	$(foreach page,$(MANUALS5),644:$(page):$(mandir)/man5/$(notdir $(page))) \
	644:docs/ranks.sql:$(datadir)/memrec/ranks.sql \
	$(foreach schema,$(notdir $(wildcard docs/schema/*.schema.json)),644:docs/schema/$(schema):$(datadir)/memrec/schema/$(schema)) \
	$(foreach name,memrec memana,644:$(B)/completion/$(name).bash:$(datadir)/bash-completion/completions/$(name) \
		644:$(B)/completion/$(name).zsh:$(datadir)/zsh/site-functions/_$(name) \
		644:$(B)/completion/$(name).fish:$(datadir)/fish/vendor_completions.d/$(name).fish)
part = $(word $(1),$(subst :, ,$(2)))

# install makes folders that all can read, under every umask.
define install_file
	$(Q)install -D $(if $(filter 755:%,$(1)),$(STRIP_FLAG)) -m $(call part,1,$(1)) $(call part,2,$(1)) "$(DESTDIR)$(call part,3,$(1))"

endef
define uninstall_file
	$(Q)rm -f "$(DESTDIR)$(call part,3,$(1))"

endef

.PHONY: install install-strip installcheck uninstall check dist help
install: programs completion $(MANUALS5) $(B)/memrec.pc
	$(foreach file,$(INSTALLED),$(call install_file,$(file)))
	$(if $(EACH),$(Q)rm -rf "$(DESTDIR)$(agentdir)/each" && cp -r $(B)/each "$(DESTDIR)$(agentdir)/each" && rm "$(DESTDIR)$(agentdir)/each/.made")
	$(if $(EACH),$(Q)chmod -R a+rX "$(DESTDIR)$(agentdir)/each")

install-strip:
	@$(MAKE) --no-print-directory install STRIP_FLAG=-s

uninstall:
	$(foreach file,$(INSTALLED),$(call uninstall_file,$(file)))
	$(Q)rm -rf "$(DESTDIR)$(agentdir)" "$(DESTDIR)$(datadir)/memrec"

# The installed programs, not those of the build folder, record and read.
installcheck:
	@tests/installcheck.sh "$(DESTDIR)$(bindir)" $(B)

# make_page(words of the NAME section): of the prerequisite.
make_page = @mkdir -p $(@D) && awk -v name=$(basename $(@F)) -v what="$(1)" -f tools/manual5.awk $< >$@.new && mv $@.new $@
$(B)/man/memrec-trace.5: formats/trace/trace-v1.md tools/manual5.awk
	$(call make_page,the format of a recording of memrec)
$(B)/man/memrec-rules.5: formats/rules/README.md tools/manual5.awk
	$(call make_page,rules that tell the phase of a stack and the category of its bytes)
$(B)/man/memrec-knobs.5: formats/knobs/README.md tools/manual5.awk
	$(call make_page,files of the settings that move memory)

$(B)/memrec.pc: Makefile
	@mkdir -p $(@D)
	@printf 'prefix=%s\nincludedir=%s\n\nName: memrec\nDescription: marks phases and steps in a recording of GPU memory\nVersion: %s\nCflags: -I$${includedir}\nLibs: -ldl\n' \
		'$(prefix)' '$(includedir)' '$(VERSION)' >$@

# A wheel and a tar file for machines with glibc 2.28 or newer: ARCH=x86_64 or aarch64. The first build of the libraries takes some minutes.
ARCH ?= x86_64
.PHONY: wheel tarball deps-wheel
deps-wheel:
	@tools/deps.sh build wheel
wheel tarball: deps-wheel
	@packaging/make_wheel.sh $(ARCH) build-wheel $(VERSION)

# The wheel in a fresh environment, and in a folder with libc alone.
.PHONY: test-wheel
test-wheel: deps-wheel
	@$(MAKE) --no-print-directory -j2 all wheel ARCH=x86_64
	@tests/wheel.sh build-wheel/dist/memrec-$(VERSION)-py3-none-*_x86_64.whl $(B)

# The wheel for aarch64, under qemu-user.
.PHONY: test-wheel-aarch64
test-wheel-aarch64: deps-wheel
	@tools/deps.sh arm
	@$(MAKE) --no-print-directory -j2 all wheel ARCH=aarch64
	@tests/wheel_aarch64.sh build-wheel/dist/memrec-$(VERSION)-py3-none-*_aarch64.whl build-wheel/programs-aarch64 build-wheel/aarch64/bin/cc $(B)

# A package for dpkg. test-deb also installs it in a Debian of its own, records, and purges it (needs root and debootstrap).
.PHONY: deb test-deb
deb: programs completion
	@packaging/make_deb.sh $(B) $(VERSION) $(B)/dist
test-deb: deps-test
	@$(MAKE) --no-print-directory -j2 all completion
	@tests/deb.sh $(B) $(VERSION)

# The recipe of packaging/conda by rattler-build's library, which it fetches from PyPI. It asks no channel.
RATTLER := $(B)/rattler/bin/python
$(RATTLER):
	@python3 -m venv $(B)/rattler && $@ -m pip install --quiet --disable-pip-version-check py-rattler-build==0.73.0 py-rattler==0.28.0
.PHONY: test-conda test-container test-reproducible
test-conda: deps-test $(RATTLER)
	@$(MAKE) --no-print-directory -j2 all
	@$(MAKE) --no-print-directory -s dist DIST=$(B)/memrec-$(VERSION).tar.gz
	@$(RATTLER) tests/conda.py $(B)/memrec-$(VERSION).tar.gz $(B)

# packaging/Containerfile by buildah, without a registry (needs root).
test-container: deps-wheel
	@tools/deps.sh container
	@$(MAKE) --no-print-directory -j2 all tarball ARCH=x86_64
	@tests/container.sh build-wheel/dist build-wheel/programs-x86_64 $(B)

# Some minutes: nothing of this build is used.
test-reproducible: deps-build
	@tests/reproducible.sh

check: test

# The sources of the newest commit.
DIST ?= memrec-$(VERSION).tar.gz
dist:
	@git archive --prefix=memrec-$(VERSION)/ --add-virtual-file=memrec-$(VERSION)/.commit:$(COMMIT) -o $(DIST) HEAD
	@echo $(DIST)

# The same with the sources of the libraries in a wheel (31 MB), which it fetches.
.PHONY: sdist
sdist:
	@packaging/make_sdist.sh build-wheel $(VERSION)

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

include tests/standin/standin.mk samples/samples.mk
include tests/allocator/allocator.mk tests/cases/cases.mk tests/gpu/gpu.mk tests/fuzz/fuzz.mk

-include $(shell find $(B) -name '*.d' -type f 2>/dev/null)

.PHONY: clean
clean:
	rm -rf build build-*
