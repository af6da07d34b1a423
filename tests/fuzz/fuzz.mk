# The fuzz targets, tests/fuzz/fuzz_*.c: see tests/fuzz/README.md.
#
#   make fuzz MINUTES=10 [TARGET=name]   with clang and libFuzzer, in build-fuzz
#
# Every build links them with replay.c, too, which runs the corpus through them in `make test`.

FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/tests/fuzz/%)
FUZZ_SHARED := $(addprefix $(B)/obj/tests/fuzz/,fuzz.o command_run.o trace_check.o trace_mutate.o trace_mutate_chunks.o db_mutate.o)
FUZZ_ENGINE ?= $(B)/obj/tests/fuzz/replay.o
FUZZ_INCLUDE := -Itests/fuzz -Itests/unit -Iformats -Ianalyzer

unit: $(FUZZ_BIN)

$(FUZZ_SHARED) $(B)/obj/tests/fuzz/replay.o: ALL_CPPFLAGS += $(FUZZ_INCLUDE)

$(B)/tests/fuzz/%: tests/fuzz/%.c $(FUZZ_SHARED) $(filter %.o,$(FUZZ_ENGINE)) $(LIB) $(filter-out %/main.o,$(ANALYZER_OBJ))
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SANFLAGS) $(DEPFLAGS) $(FUZZ_INCLUDE) $(ALL_LDFLAGS) -o $@ $< $(FUZZ_ENGINE) $(FUZZ_SHARED) \
		$(filter-out %/main.o,$(ANALYZER_OBJ)) $(LIB) $(FORMATS_LIBS) $(ANALYZER_LIBS)

.PHONY: fuzz fuzz-targets deps-fuzz
fuzz-targets: $(FUZZ_BIN)
deps-fuzz:
	@tools/deps.sh build test fuzz

# The sample, the golden files and the cases that the corpus is made of come from the ordinary build.
fuzz: deps-fuzz
	@$(MAKE) --no-print-directory -j2 programs cases
	@$(MAKE) --no-print-directory -j2 B=build-fuzz CC=clang SAN=fuzzer-no-link,address,undefined \
		FUZZ_ENGINE=-fsanitize=fuzzer fuzz-targets
	@tests/fuzz/run.sh $(B) build-fuzz "$(or $(MINUTES),10)" $(TARGET)
