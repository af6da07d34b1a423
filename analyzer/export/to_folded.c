/*
 * to_folded.c - writes stacks as lines for flame graphs: "main;train_step;forward BYTES".
 *
 * The outermost frame comes first. A frame is "function (file.py:12)". A ';' in a name becomes ':', because ';' ends a
 * frame.
 */
#include <inttypes.h>
#include <string.h>
#include "export_moment.h"
#include "memtrace/error.h"

struct writer {
	struct export_run *run;
	struct export_out *out;
};

static int put_stack(void *context, const struct export_stack *stack)
{
	const struct writer *writer = context;
	char name[EXPORT_NAME_MAX + 300], *at;
	size_t i;

	for (i = 0; i < stack->frames; i++) {
		export_frame_words(name, sizeof(name), &stack->frame[i]);
		for (at = name; (at = strchr(at, ';')) != NULL;)
			*at = ':';
		export_print(writer->out, "%s%s", i ? ";" : "", name);
	}
	export_print(writer->out, " %" PRIu64 "\n", stack->bytes);
	writer->run->written++;
	return 0;
}

int to_folded(struct export_run *run, struct export_out *out)
{
	struct writer writer = { run, out };
	int error = export_stacks(run, put_stack, &writer);

	run->what = "stack";
	return error || run->written ? error : -MT_E_MISSING;
}
