# For tests on a real GPU, see tests/gpu/README.md. Nothing here needs one, nor the CUDA toolkit.

$(B)/gpu/libsleeper.so: tests/gpu/sleeper.c samples/cuda_driver.c samples/cuda_driver.h recorder/agent/cuda/cuda_abi.h
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -shared -o $@ $(filter %.c,$^) -ldl

$(B)/gpu/probe.so: tests/gpu/probe.c recorder/agent/cuda/cuda_abi.h
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -shared -o $@ $< -ldl

.PHONY: gpu-tools
gpu-tools: $(B)/gpu/libsleeper.so $(B)/gpu/probe.so
all: gpu-tools

# A build that runs where nothing but the C library is: it brings the libraries along that it uses.
.PHONY: kit gpu-kit deps-kit
kit: programs samples allocator gpu-tools
	@tests/gpu/kit.sh $(B) $(B)-gpu-kit
deps-kit:
	@tools/deps.sh build kit
gpu-kit: deps-kit
	@$(MAKE) --no-print-directory -j2 kit
	@du -sh $(B)-gpu-kit
