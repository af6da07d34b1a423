# The program that plays the cases: see tests/cases/README.md.

CASES_SRC := $(wildcard tests/cases/*.c)

.PHONY: cases
cases: $(B)/cases/make_case
all: cases

$(B)/cases/make_case: $(CASES_SRC) tests/cases/world.h $(LIB)
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $(CASES_SRC) $(LIB) $(FORMATS_LIBS)
