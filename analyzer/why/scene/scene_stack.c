/* Loads the call stacks as one tree, with the tags of their frames. */
#include <string.h>
#include "base/tuple.h"
#include "memtrace/error.h"
#include "scene_impl.h"

static int by_id(const void *one, const void *two)
{
	int64_t a, b;

	memcpy(&a, one, sizeof(a));
	memcpy(&b, two, sizeof(b));
	return MT_ORDER(a, b);
}

uint32_t scene_find(const void *array, size_t count, size_t size, int64_t id)
{
	const char *found = count ? bsearch(&id, array, count, size, by_id) : NULL;

	return found ? (uint32_t)((size_t)(found - (const char *)array) / size) : SCENE_NONE;
}

void *scene_add(void *array, size_t *count, size_t size)
{
	char *items, *grown;

	memcpy(&items, array, sizeof(items));
	if (!(*count & (*count - 1))) { /* the array is full at each power of two */
		grown = realloc(items, (*count ? 2 * *count : 1) * size);
		if (!grown)
			return NULL;
		memcpy(array, &grown, sizeof(grown));
		items = grown;
	}
	return memset(items + (*count)++ * size, 0, size);
}

int scene_each(struct scene *scene, const char *sql, const int64_t *parameter, int parameters, scene_take *take,
	       void *context)
{
	struct db_stmt *row = NULL;
	int error = db_prepare(scene->db, &row, sql), more = 0, i;

	for (i = 0; !error && i < parameters; i++)
		db_bind(row, i + 1, parameter[i]);
	while (!error && (more = db_step(row)) > 0)
		error = take(scene, row, context);
	db_finish(row);
	return error ? error : more;
}

const char *scene_keep(struct scene *scene, const char *text)
{
	return mt_texts_keep(&scene->texts, text, strlen(text));
}

/* ---- frames ---- */

/* Learns what the words tell. `file`: as the tags know it. Returns 0 or -MT_E_MEMORY. */
static int learn(struct scene *scene, struct scene_frame *added, const struct callstack_frame *words, const char *file)
{
	struct callstack_frame *frame = &added->frame;

	*frame = *words;
	frame->function = scene_keep(scene, words->function);
	frame->file = scene_keep(scene, words->file);
	frame->module = scene_keep(scene, words->module);
	if (!frame->function || !frame->file || !frame->module)
		return -MT_E_MEMORY;
	callstack_learn(frame);
	/* Functions of the C library and of the interpreter name no work: "run_eval_code_obj" is no evaluation, "clone" no copy. */
	if (!frame->native || !callstack_is_plumbing(frame) || strstr(frame->function, "::"))
		added->tags = mt_why_tags(scene->why, frame->function, file, frame->module);
	return 0;
}

/* Ranks of one program have the same words: what these tell is learned once. */
static int take_frame(struct scene *scene, const struct db_stmt *row, void *known)
{
	struct scene_frame *added = scene_add(&scene->frame, &scene->frames, sizeof(*added));
	const char *kind = db_text(row, 5);
	const struct callstack_frame words = { .function = db_text(row, 1),
					       .file = db_text(row, 2),
					       .module = db_text(row, 4),
					       .native = !strcmp(kind, "native"),
					       .elided = !strcmp(kind, "elided") };
	const struct tuple key = callstack_key(&words);
	uint32_t same = tuple_find(known, &key);
	int error = added ? 0 : -MT_E_MEMORY;

	if (!error && same != TUPLE_NONE && callstack_is_alike(&words, &scene->frame[same].frame))
		*added = scene->frame[same];
	else if (!error)
		error = learn(scene, added, &words, db_text(row, 6));
	if (!error && same == TUPLE_NONE)
		error = tuple_add(known, &key, (uint32_t)(added - scene->frame));
	if (error)
		return error;
	added->id = db_int(row, 0);
	added->frame.line = (unsigned)db_int(row, 3);
	return 0;
}

/* ---- nodes ---- */

/* Parents come before their children, because ids follow the order of recording. A parent with a higher id is ignored: it could close a circle. */
static int take_node(struct scene *scene, const struct db_stmt *row, void *context MT_UNUSED)
{
	uint32_t parent = scene_node_of(scene, db_int(row, 1)), number = (uint32_t)scene->nodes;
	struct scene_node *node = scene_add(&scene->node, &scene->nodes, sizeof(*node));
	uint32_t *newest;

	if (!node)
		return -MT_E_MEMORY;
	node->id = db_int(row, 0);
	node->parent = parent;
	node->frame = scene_find(scene->frame, scene->frames, sizeof(*scene->frame), db_int(row, 2));
	if (node->frame == SCENE_NONE)
		return -MT_E_CORRUPT;
	node->tags = scene->frame[node->frame].tags;
	node->child = SCENE_NONE;
	newest = &scene->outermost;
	if (parent != SCENE_NONE) {
		node->depth = scene->node[parent].depth + 1;
		node->tags |= scene->node[parent].tags;
		newest = &scene->node[parent].child;
	}
	node->next = *newest;
	*newest = number;
	return 0;
}

/* The name of a program's own script tells of all that it does, and of no function. */
int scene_load_stacks(struct scene *scene)
{
	struct tuple_table known = { 0 };
	int error = scene_each(
		scene,
		"SELECT frame.id, ifnull(function, ''), ifnull(file, ''), ifnull(line, 0), ifnull(path, ''), kind, "
		"iif(file IN (SELECT file FROM frame JOIN stack_node ON frame = frame.id WHERE parent IS NULL AND "
		"function = '<module>'), '', ifnull(file, '')) FROM frame LEFT JOIN elf_file ON elf_file.id = frame.elf_file ORDER BY frame.id",
		NULL, 0, take_frame, &known);

	tuple_release(&known);
	return error ? error
		     : scene_each(scene, "SELECT id, ifnull(parent, 0), frame FROM stack_node ORDER BY id", NULL, 0,
				  take_node, NULL);
}

/* ---- questions ---- */

uint32_t scene_common(const struct scene *scene, uint32_t one, uint32_t two)
{
	const struct scene_node *node = scene->node;

	while (one != two && one != SCENE_NONE && two != SCENE_NONE) {
		if (node[one].depth >= node[two].depth)
			one = node[one].parent;
		else
			two = node[two].parent;
	}
	return one == two ? one : SCENE_NONE;
}

int scene_is_in(const struct scene *scene, uint32_t node, uint32_t outer)
{
	while (node != SCENE_NONE && node != outer)
		node = scene->node[node].parent;
	return outer != SCENE_NONE && node == outer;
}

/* Whether the frame has a user's or a framework's Python function; with `native`, a library's function, too. */
static int tells(const struct scene_frame *frame, int native)
{
	if (frame->frame.elided || (frame->tags & MT_TAG_BIT(LOOP)) || !*frame->frame.function)
		return 0;
	if (frame->frame.native)
		return native && !callstack_is_plumbing(&frame->frame);
	return (callstack_is_user(&frame->frame) || callstack_is_library(&frame->frame)) &&
	       !callstack_is_compiled(&frame->frame);
}

static uint32_t telling(const struct scene *scene, uint32_t node, int native)
{
	while (node != SCENE_NONE && !tells(&scene->frame[scene->node[node].frame], native))
		node = scene->node[node].parent;
	return node;
}

uint32_t scene_telling(const struct scene *scene, uint32_t node)
{
	uint32_t found = telling(scene, node, 0);

	return found == SCENE_NONE ? telling(scene, node, 1) : found;
}
