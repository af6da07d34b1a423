#include "stack_json.h"

#include "finding.h"
#include "places.h"
#include "query/callstack.h"

static void json_frame(struct doc *doc, const struct callstack_frame *frame, int is_user)
{
	doc_object(doc, NULL);
	doc_string(doc, "function", frame->elided ? "..." : frame->function);
	doc_string(doc, "file", frame->file);
	doc_int(doc, "line", frame->line);
	doc_string(doc, "module", frame->module);
	if (frame->native)
		doc_int(doc, "offset", (int64_t)frame->offset);
	if (is_user)
		doc_bool(doc, "user", 1);
	doc_end(doc);
}

int stack_json(struct doc *doc, struct db *db, struct symbols *symbols, int64_t node)
{
	struct callstack stack;
	size_t i, user = CALLSTACK_NO_FRAME;
	int error = callstack_load(&stack, db, node, symbols);

	if (!error)
		error = places_user_frame(&user, db, node, &stack);
	doc_array(doc, "stack");
	for (i = 0; i < stack.count; i++)
		json_frame(doc, &stack.frame[i], i == user);
	doc_end(doc);
	callstack_release(&stack);
	return error;
}

int stack_json_place(struct doc *doc, struct db *db, int64_t node)
{
	struct finding_spot spot;
	int error = finding_spot(&spot, db, node);

	doc_string(doc, "function", spot.function);
	doc_string(doc, "file", spot.file);
	doc_int(doc, "line", spot.line);
	return error ? error : stack_json(doc, db, NULL, node);
}
