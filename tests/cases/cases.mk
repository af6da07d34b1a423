# The program that plays the cases: see tests/cases/README.md.

CASES_SRC := $(wildcard tests/cases/*.c)

.PHONY: cases
cases: $(B)/cases/make_case
all: cases

$(B)/cases/make_case: $(CASES_SRC) tests/cases/world.h $(LIB)
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SANFLAGS) $(ALL_LDFLAGS) -o $@ $(CASES_SRC) $(LIB) $(FORMATS_LIBS)
