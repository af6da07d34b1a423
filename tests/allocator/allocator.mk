# The double of PyTorch's caching allocator, once for each way in which PyTorch's libraries call libc10: names of 1.13
# and of 2.0 and later; bound at the first call, or when loaded and read-only afterwards. See tests/allocator/README.md.

ALLOCATOR_C := $(wildcard tests/allocator/*.c)
ALLOCATOR_SRC := $(filter-out %/trace_events.c,$(ALLOCATOR_C)) samples/cuda_driver.c
ALLOCATOR_CFLAGS := -fPIC -fvisibility=hidden -fno-omit-frame-pointer -Irecorder
ALLOCATOR := $(foreach kind,1.13 1.13-now 2.0,$(B)/allocator/$(kind)/libc10_cuda.so) $(B)/allocator/trace_events

.PHONY: allocator
allocator: $(ALLOCATOR)
all: allocator

$(B)/allocator/1.13/libc10_cuda.so: ALLOCATOR_KIND := -DC10_LETTER='"l"' -Wl,-z,lazy
$(B)/allocator/1.13-now/libc10_cuda.so: ALLOCATOR_KIND := -DC10_LETTER='"l"' -Wl,-z,now -Wl,-z,relro
$(B)/allocator/2.0/libc10_cuda.so: ALLOCATOR_KIND := -DC10_LETTER='"m"' -Wl,-z,lazy

# Undefined on purpose: libc10's functions, which the process brings along.
$(B)/allocator/%/libc10_cuda.so: $(ALLOCATOR_SRC) $(wildcard tests/allocator/*.h samples/*.h) recorder/agent/cuda/cuda_abi.h
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALLOCATOR_CFLAGS) $(ALLOCATOR_KIND) -shared -Wl,-soname,libc10_cuda.so -o $@ \
		$(ALLOCATOR_SRC) -ldl -lpthread

$(B)/allocator/trace_events: tests/allocator/trace_events.c $(LIB)
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(SANFLAGS) $(DEPFLAGS) $(ALL_LDFLAGS) -o $@ $< $(LIB) $(FORMATS_LIBS)
