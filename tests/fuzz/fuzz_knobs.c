/* fuzz_knobs.c - files of knobs: YAML with rows, releases and constraints, taken whole or not at all. */
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"
#include "memtrace/knobs.h"

/* Invariants of a file that was taken. */
static void check_knob(const struct mt_knob_file *file, const struct mt_knob *knob)
{
	uint32_t release;

	FUZZ_CHECK(knob->name.key && *knob->name.key && knob->olders <= MT_KNOB_OLDER_MAX);
	FUZZ_CHECK(knob->withins <= MT_KNOB_WITHIN_MAX && knob->constraints <= MT_KNOB_CONSTRAINTS_MAX);
	FUZZ_CHECK(mt_knob_process_word((enum mt_knob_process)0) && mt_knob_saves_word(knob->saves));
	FUZZ_CHECK(mt_knob_method_word(knob->method) != NULL);
	for (release = 0; release < file->releases; release++)
		mt_knob_default_in(&knob->name, release);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_knobs *knobs = calloc(1, sizeof(*knobs)); /* without those built in, which take long to read */
	char message[256] = "", *text = malloc(size + 1);
	uint32_t i;

	FUZZ_CHECK(knobs && text);
	memcpy(text, data, size);
	if (mt_knobs_add(knobs, "fuzz.yaml", text, size, message, sizeof(message))) {
		FUZZ_CHECK(!knobs->files && *message);
	} else {
		memset(text, 'x', size); /* it may go */
		mt_knobs_check(knobs, message, sizeof(message));
		for (i = 0; i < knobs->file->knobs; i++)
			check_knob(knobs->file, &knobs->file->knob[i]);
		FUZZ_CHECK(mt_knobs_find(knobs, knobs->file->framework) == knobs->file);
	}
	mt_knobs_free(knobs);
	free(text);
	return 0;
}
