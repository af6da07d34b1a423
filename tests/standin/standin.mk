# The stand-in GPU: three libraries with the names of the real ones, hidden symbols, nothing but libc.
# Each is recorder/*.h (the ABI) put to work; see tests/standin/README.md.

STANDIN_CUDA := config account driver context addresses memory pool vmm multicast array share streams graph code process \
	ledger entries
STANDIN_CUPTI := config cupti
STANDIN_NVML := config account nvml
STANDIN_CFLAGS := -fPIC -fvisibility=hidden -fno-omit-frame-pointer -Irecorder

$(B)/obj/tests/standin/%.o: ALL_CFLAGS += $(STANDIN_CFLAGS)
$(B)/obj/tests/standin/%.o: SANFLAGS :=

define standin_library
$(B)/standin/$(1): $(2:%=$(B)/obj/tests/standin/%.o)
	@mkdir -p $$(@D)
	$$(SAY) LINK $$@
	$$(Q)$$(CC) $$(ALL_CFLAGS) -shared -Wl,-soname,$(1) -Wl,--no-undefined -o $$@ $$^ -ldl -lpthread
endef

$(eval $(call standin_library,libcuda.so.1,$(STANDIN_CUDA)))
$(eval $(call standin_library,libcupti.so.13,$(STANDIN_CUPTI)))
$(eval $(call standin_library,libnvidia-ml.so.1,$(STANDIN_NVML)))

# The tests of the stand-in load it when they run.
$(B)/tests/unit/test_gpu_sample: | $(STANDIN)
$(B)/tests/unit/test_standin $(B)/tests/unit/test_standin_more $(B)/tests/unit/test_standin_tools: tests/unit/standin.h | $(STANDIN)
