# For tests on a real GPU, see tests/gpu/README.md. Nothing here needs one, nor the CUDA toolkit.

$(B)/gpu/libsleeper.so: tests/gpu/sleeper.c samples/cuda_driver.c samples/cuda_driver.h recorder/cuda_abi.h
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -fvisibility=hidden -shared -o $@ $(filter %.c,$^) -ldl

all: $(B)/gpu/libsleeper.so

# A build that runs on a machine with fewer packages: it brings the libraries along that it uses.
.PHONY: gpu-kit
gpu-kit:
	@$(MAKE) --no-print-directory B=build-gpu LDFLAGS='-Wl,-rpath,\$$$$ORIGIN/lib -Wl,-rpath,\$$$$ORIGIN/../lib' \
		AGENT_LDFLAGS='$(AGENT_LDFLAGS) -Wl,-rpath,\$$$$ORIGIN/lib' all
	@tests/gpu/kit.sh build-gpu build-gpu-kit
