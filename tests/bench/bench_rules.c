/*
 * bench_rules.c - what the phase rules cost: processor time to load them, and to match a frame that was not seen before
 * (each frame of a program is matched once).
 *
 *     bench_rules [FRAMES]        default: 100 thousand
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "memtrace/error.h"
#include "rules/rules.h"

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (double)at.tv_sec * 1e6 + (double)at.tv_nsec * 1e-3;
}

/* Frames of a training program: its own files, PyTorch's, and those that many rules are about. */
static double match(const struct mt_rules *rules, long frames)
{
	static const char *const files[] = {
		"/usr/lib/python3/dist-packages/torch/nn/modules/module.py",
		"/opt/verl/verl/workers/engine/fsdp/transformer_impl.py",
		"/usr/lib/python3/dist-packages/transformers/models/qwen2/modeling_qwen2.py",
		"/usr/lib/python3/dist-packages/vllm/v1/worker/gpu_model_runner.py",
		"/home/me/train.py",
	};
	char function[64];
	double start = now();
	long i;

	for (i = 0; i < frames; i++) {
		snprintf(function, sizeof(function), "Class_%ld.function_%ld", i % 100, i);
		rules_match_frame(rules, function, files[i % 5], "");
	}
	return (now() - start) / (double)frames;
}

int main(int argc, char **argv)
{
	long frames = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
	struct mt_rules *rules;
	char message[512] = "";
	double start = now(), loaded;
	int err = mt_rules_new(&rules, message, sizeof(message));

	loaded = now() - start;
	if (err || frames <= 0) {
		fprintf(stderr, "bench_rules: %s\n", err ? message : "how many frames?");
		return err ? mt_exit_code(err) : 2;
	}
	printf("rules: %.1f ms to load, %.2f us per new frame\n", loaded * 1e-3, match(rules, frames));
	mt_rules_free(rules);
	return 0;
}
