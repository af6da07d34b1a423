/*
 * fuzz_rules.c - files of rules: YAML and patterns, and what they are matched with.
 *
 *     the file, and behind a NUL byte one more text to match
 */
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"
#include "memtrace/base.h"
#include "rules/rules.h"

static const char *const texts[] = {
	"",
	"step",
	"Adam.step",
	"FullyShardedDataParallel.forward",
	"torch::autograd::Engine::thread_main()",
	"/opt/venv/lib/python3.11/site-packages/verl/workers/fsdp_workers.py",
	"libtorch_cuda.so",
	"## Call CompiledFxGraph fxy3 ##",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
};

static void match(const struct mt_rules *rules, const char *text)
{
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(texts); i++) {
		rules_match_frame(rules, text, texts[i], "");
		rules_match_frame(rules, texts[i], text, texts[MT_ARRAY_SIZE(texts) - 1 - i]);
		rules_match_mark(rules, texts[i]);
	}
	rules_match_mark(rules, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	size_t yaml = end ? (size_t)(end - data) : size;
	char *text = end ? strndup((const char *)end + 1, size - yaml - 1) : strdup("");
	struct mt_rules *rules = calloc(1, sizeof(*rules)); /* without those built in, which take long to compile */
	char message[256];

	FUZZ_CHECK(text && rules);
	if (!mt_rules_load(rules, fuzz_file("rules.yaml", data, yaml), message, sizeof(message)))
		match(rules, text);
	mt_rules_free(rules);
	free(text);
	return 0;
}
