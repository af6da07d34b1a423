# Samples: built the way people build programs they want stacks from - line numbers, frame pointers, nothing inlined
# away - and without the CUDA toolkit: the driver is loaded when they run.

SAMPLE_CFLAGS := -std=gnu11 -g -O1 -fno-omit-frame-pointer -fno-inline -fno-optimize-sibling-calls

$(B)/samples/rl_step: $(addprefix samples/, rl_step.c engine.c gpu_memory.c cuda_driver.c nvtx_client.c) \
		$(wildcard samples/*.h) recorder/agent/cuda/cuda_abi.h recorder/agent/hooks/nvtx_abi.h
	@mkdir -p $(@D)
	$(SAY) LINK $@
	$(Q)$(CC) $(SAMPLE_CFLAGS) $(WARN) $(if $(WERROR),-Werror) -D_GNU_SOURCE -Isamples -Wl,--build-id -o $@ $(filter %.c,$^) -ldl -lpthread
