# memrec and memana. `make demo` and `make test` are all a newcomer needs.
#
#   make            build everything into build/
#   make demo       record the sample RL step loop and show what filled the GPU
#   make test       unit and command tests; last line: N passed, N failed, N skipped
#   make lint       the rules of the house, checked
#   make install    DESTDIR= PREFIX=/usr/local
#   make DEBUG=1, make SAN=address,undefined     other builds, each in its own folder

VERSION := 0.1.0
CC ?= cc
PREFIX ?= /usr/local
DESTDIR ?=

# One folder per kind of build, so that they never mix.
VARIANT := $(if $(SAN),-san)$(if $(DEBUG),-debug)
B ?= build$(VARIANT)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wdeclaration-after-statement -Wvla \
	-Wwrite-strings -Wundef -Wpointer-arith -Wno-missing-field-initializers
CPPFLAGS += -Iinclude -D_GNU_SOURCE -DMEMREC_VERSION='"$(VERSION)"'
CFLAGS += -std=gnu11 -g $(if $(DEBUG),-O0,-O2) $(WARN) $(if $(WERROR),-Werror)
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
DEPFLAGS = -MMD -MP

FORMATS_SRC := $(wildcard formats/*.c)
ANALYZER_SRC := $(wildcard analyzer/*.c analyzer/tui/*.c)

# What runs inside somebody else's process is listed by hand.
AGENT_SRC := $(addprefix recorder/, $(shell sed -n 's/^agent: *//p' recorder/sources.txt))
MEMREC_SRC := $(addprefix recorder/, $(shell sed -n 's/^memrec: *//p' recorder/sources.txt))

FORMATS_OBJ := $(FORMATS_SRC:%.c=$(B)/obj/%.o)
ANALYZER_OBJ := $(ANALYZER_SRC:%.c=$(B)/obj/%.o)
MEMREC_OBJ := $(MEMREC_SRC:%.c=$(B)/obj/%.o)
AGENT_OBJ := $(AGENT_SRC:%.c=$(B)/agent/%.o)

LIB := $(B)/libmemtrace.a
FORMATS_LIBS := -lzstd -lyaml -lpthread
ANALYZER_LIBS := -lsqlite3 -ljansson -ldw -lelf -lstdc++

# The agent is built as a different animal: hidden symbols, no library but libc, TLS that never allocates.
AGENT_CFLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-omit-frame-pointer -fexceptions -fasynchronous-unwind-tables
AGENT_LDFLAGS := -shared -Wl,--no-undefined -Wl,-z,now -Wl,-z,nodelete

UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(B)/tests/unit/%)

PROGRAMS := $(B)/memrec $(B)/memana $(B)/libmemrec.so $(B)/libmemrec-nop.so
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
	$(AR) rcs $@ $^

$(B)/memana: $(ANALYZER_OBJ) $(LIB)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $(ANALYZER_OBJ) $(LIB) $(FORMATS_LIBS) $(ANALYZER_LIBS)

$(B)/memrec: $(MEMREC_OBJ) $(LIB)
	$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $(MEMREC_OBJ) $(LIB) $(FORMATS_LIBS) -ldl

$(B)/libmemrec.so: $(AGENT_OBJ)
	$(CC) $(CFLAGS) $(AGENT_CFLAGS) $(AGENT_LDFLAGS) -o $@ $^ -ldl -lpthread

$(B)/libmemrec-nop.so: $(B)/agent/recorder/agent_nop.o
	$(CC) $(CFLAGS) $(AGENT_CFLAGS) $(AGENT_LDFLAGS) -o $@ $^

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(DEPFLAGS) -I$(dir $<) -c -o $@ $<

$(B)/agent/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(AGENT_CFLAGS) $(DEPFLAGS) -I$(dir $<) -c -o $@ $<

# The rules are data; the program carries a copy (formats/rules_data.c).
$(B)/obj/formats/rules_data.o: $(wildcard formats/rules/*.yaml)

# A unit test sees the library and the analyzer without its main.
$(B)/tests/unit/%: tests/unit/%.c $(LIB) $(filter-out %/main.o,$(ANALYZER_OBJ)) tests/unit/test.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(DEPFLAGS) -Itests/unit -Iformats -Irecorder -Ianalyzer $(LDFLAGS) -o $@ $< \
		$(filter-out %/main.o,$(ANALYZER_OBJ)) $(LIB) $(FORMATS_LIBS) $(ANALYZER_LIBS) -ldl

include tests/standin/standin.mk samples/samples.mk

-include $(shell find $(B) -name '*.d' 2>/dev/null)

.PHONY: clean
clean:
	rm -rf build build-*
