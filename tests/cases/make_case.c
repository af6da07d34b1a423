/*
 * make_case - plays a case and writes a trace for each of its processes.
 *
 *     make_case CASE FOLDER
 *
 * The words of a case are described in README.md.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "world.h"

#define LINES_MAX 4096
#define WORDS_MAX 16
#define LINE_MAX 512

struct script {
	char *line[LINES_MAX];
	size_t lines, at; /* at: the line being played */
	const char *folder;
	struct world world;
	struct process *process; /* process with the lines that are played */
	int in_stack;            /* indented lines are its frames */
};

/* ---- numbers --------------------------------------------------------------------------------------------------- */

static double unit_of(const char *text, char **end)
{
	static const struct {
		const char *word;
		double factor;
	} units[] = { { "KiB", 1ull << 10 }, { "MiB", 1ull << 20 }, { "GiB", 1ull << 30 },
		      { "GB", 1e9 },         { "ms", 1e6 },         { "s", 1e9 } };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(units); i++) {
		if (strncmp(text, units[i].word, strlen(units[i].word)))
			continue;
		*end += strlen(units[i].word);
		return units[i].factor;
	}
	return 1;
}

/* "9.5GiB", "200ms", "4*4096*151936*4". */
static uint64_t number(const char *text)
{
	double product = 1;
	char *end;

	do {
		product *= strtod(text, &end);
		if (end == text)
			die("\"%s\" is not a number", text);
		product *= unit_of(end, &end);
		text = end + 1;
	} while (*end == '*');
	if (*end || product < 0)
		die("\"%s\" is not part of a number", end);
	return (uint64_t)(product + 0.5);
}

/* ---- words ----------------------------------------------------------------------------------------------------- */

static struct process *current(struct script *script)
{
	if (!script->process)
		die("no process has begun");
	return script->process;
}

static void do_gpu(struct script *script, char **word)
{
	struct gpu *gpu = world_gpu(&script->world, word[0]);

	gpu->total = number(word[1]);
}

static void do_others(struct script *script, char **word)
{
	world_gpu(&script->world, word[0])->used += number(word[1]);
}

static void do_process(struct script *script, char **word)
{
	int rank = word[3] ? (int)number(word[3]) : -1;

	script->process = world_start(&script->world, script->folder, word[0], (uint32_t)number(word[1]), rank,
				      world_gpu(&script->world, word[2]));
}

static void do_of(struct script *script, char **word)
{
	script->process = world_process(&script->world, word[0]);
	if (!script->process)
		die("there is no process %s", word[0]);
}

static uint32_t find_stack(struct process *process, const char *name)
{
	uint32_t i;

	for (i = 0; i < process->stack_count; i++)
		if (!strcmp(process->stacks[i].name, name))
			return process->stacks[i].node;
	die("%s has no stack %s", process->name, name);
}

static void do_stack(struct script *script, char **word)
{
	struct process *process = current(script);
	struct named_stack *stack = &process->stacks[process->stack_count];

	if (process->stack_count == WORLD_MANY)
		die("too many stacks");
	mt_copy_text(stack->name, WORLD_NAME, word[0]);
	stack->node = word[1] ? find_stack(process, word[1]) : 0;
	process->stack_count++;
}

/* An indented line: one frame more of the stack above, "function file:line" or "!library". */
static void do_frame(struct script *script, char **word)
{
	struct process *process = current(script);
	struct named_stack *stack = &process->stacks[process->stack_count - 1];
	char *colon;

	if (*word[0] == '!') {
		stack->node = process_library(process, stack->node, word[0] + 1);
		return;
	}
	colon = word[1] ? strrchr(word[1], ':') : NULL;
	if (!colon)
		die("\"%s\" is not a frame", word[0]);
	*colon = '\0';
	stack->node = process_python_frame(process, stack->node, word[0], word[1], (uint32_t)number(colon + 1));
}

static void do_at(struct script *script, char **word)
{
	current(script)->stack = find_stack(current(script), word[0]);
}

static void do_thread(struct script *script, char **word)
{
	process_thread(current(script), word[0]);
}

static int fails(char **word)
{
	if (word[0] && strcmp(word[0], "fails"))
		die("\"%s\" is not \"fails\"", word[0]);
	return word[0] != NULL;
}

static void do_alloc(struct script *script, char **word)
{
	process_alloc(&script->world, current(script), word[0], number(word[1]), fails(word + 2));
}

static void do_driver(struct script *script, char **word)
{
	process_driver(&script->world, current(script), word[0], number(word[1]), fails(word + 2));
}

static void do_pool(struct script *script, char **word)
{
	process_pool(&script->world, current(script), word[0], number(word[1]));
}

static void do_wake(struct script *script, char **word)
{
	process_wake(&script->world, current(script), word[0], fails(word + 1));
}

static void do_sleep(struct script *script, char **word)
{
	for (; *word; word++)
		process_sleep(&script->world, current(script), *word);
}

static void do_free(struct script *script, char **word)
{
	for (; *word; word++)
		process_free(&script->world, current(script), *word);
}

static void do_empty_cache(struct script *script, char **word)
{
	(void)word;
	process_empty_cache(&script->world, current(script));
}

static void do_context(struct script *script, char **word)
{
	process_context(&script->world, current(script), number(word[0]));
}

static void do_unseen(struct script *script, char **word)
{
	process_unseen(current(script), number(word[0]));
}

static void do_sample(struct script *script, char **word)
{
	(void)word;
	process_sample(&script->world, current(script));
}

static void do_host(struct script *script, char **word)
{
	process_event(&script->world, current(script),
		      (struct mt_event){ .kind = MT_HOST_SAMPLE,
					 .size = number(word[0]),
					 .value = number(word[1]),
					 .offset = number(word[2]),
					 .handle = number(word[3]),
					 .flags = word[4] ? number(word[4]) : 0 });
}

static void do_backward(struct script *script, char **word)
{
	int begins = !strcmp(word[0], "begins");

	process_event(&script->world, current(script),
		      (struct mt_event){ .kind = begins ? MT_BACKWARD_BEGIN : MT_BACKWARD_END });
}

static void do_wait(struct script *script, char **word)
{
	script->world.time += number(word[0]);
}

/* score.py reads the words of a right answer; they play no part here. */
static void do_expect(struct script *script, char **word)
{
	(void)script;
	(void)word;
}

static void do_killed(struct script *script, char **word)
{
	(void)word;
	current(script)->end = MT_END_KILLED;
}

static const struct {
	const char *word;
	size_t least, most; /* arguments */
	void (*play)(struct script *script, char **word);
} words[] = {
	{ "expect:", 1, 6, do_expect },    { "never:", 1, 1, do_expect },
	{ "gpu", 2, 2, do_gpu },           { "others", 2, 2, do_others },
	{ "process", 3, 4, do_process },   { "of", 1, 1, do_of },
	{ "stack", 1, 2, do_stack },       { "at", 1, 1, do_at },
	{ "thread", 1, 1, do_thread },     { "alloc", 2, 3, do_alloc },
	{ "free", 1, WORDS_MAX, do_free }, { "driver", 2, 3, do_driver },
	{ "pool", 2, 2, do_pool },         { "sleep", 1, WORDS_MAX, do_sleep },
	{ "wake", 1, 2, do_wake },         { "empty-cache", 0, 0, do_empty_cache },
	{ "context", 1, 1, do_context },   { "sample", 0, 0, do_sample },
	{ "host", 4, 5, do_host },         { "backward", 1, 1, do_backward },
	{ "wait", 1, 1, do_wait },         { "killed", 0, 0, do_killed },
	{ "unseen", 1, 1, do_unseen },
};

/* ---- lines ----------------------------------------------------------------------------------------------------- */

static void play_line(struct script *script, char *line)
{
	char *word[WORDS_MAX + 1] = { NULL }, *rest = NULL, *next;
	int is_frame = script->in_stack && isspace((unsigned char)*line);
	size_t count = 0, i;

	for (next = strtok_r(line, " \t", &rest); next && count < WORDS_MAX; next = strtok_r(NULL, " \t", &rest))
		word[count++] = next;
	if (next)
		die("too many words");
	if (is_frame) {
		do_frame(script, word);
		return;
	}
	for (i = 0; i < MT_ARRAY_SIZE(words); i++)
		if (!strcmp(words[i].word, word[0]))
			break;
	if (i == MT_ARRAY_SIZE(words) || count - 1 < words[i].least || count - 1 > words[i].most)
		die("line %zu: \"%s\" with %zu words is not known", script->at + 1, word[0], count - 1);
	script->in_stack = words[i].play == do_stack;
	words[i].play(script, word + 1);
}

/* Writes `number` for every {name}. */
static void fill_in(char *to, const char *from, const char *name, int number)
{
	char *end = to + LINE_MAX;
	size_t size = strlen(name);

	while (*from) {
		if (*from == '{' && !strncmp(from + 1, name, size) && from[1 + size] == '}') {
			to += snprintf(to, (size_t)(end - to), "%d", number);
			from += size + 2;
		} else {
			*to++ = *from++;
		}
		if (to >= end - 1)
			die("a line is too long");
	}
	*to = '\0';
}

struct loop {
	const char *name; /* NULL: outside of loops */
	int number;
	const struct loop *outer;
};

static void play_block(struct script *script, size_t from, size_t to, const struct loop *loop);

static const char *text_of(const struct script *script, size_t at)
{
	return script->line[at] + strspn(script->line[at], " \t");
}

static int is_loop(const struct script *script, size_t at)
{
	return !strncmp(text_of(script, at), "for ", 4);
}

static size_t end_of_loop(const struct script *script, size_t at)
{
	int depth = 0;

	for (; at < script->lines; at++) {
		depth += is_loop(script, at);
		depth -= !strcmp(text_of(script, at), "done");
		if (!depth)
			return at;
	}
	die("a loop without done");
}

/* "for NAME FIRST..LAST": the lines up to its "done". Returns where that is. */
static size_t play_loop(struct script *script, size_t at, const struct loop *outer)
{
	size_t end = end_of_loop(script, at);
	char name[WORLD_NAME];
	struct loop loop = { .name = name, .outer = outer };
	int last;

	script->in_stack = 0;
	if (sscanf(text_of(script, at), "for %63s %d..%d", name, &loop.number, &last) != 3)
		die("line %zu is not a loop", at + 1);
	for (; loop.number <= last; loop.number++)
		play_block(script, at + 1, end, &loop);
	return end;
}

static void play_block(struct script *script, size_t from, size_t to, const struct loop *loop)
{
	char line[LINE_MAX], filled[LINE_MAX];
	const struct loop *one;

	for (; from < to; from++) {
		script->at = from;
		if (is_loop(script, from)) {
			from = play_loop(script, from, loop);
			continue;
		}
		mt_copy_text(line, sizeof(line), script->line[from]);
		for (one = loop; one; one = one->outer) {
			fill_in(filled, line, one->name, one->number);
			mt_copy_text(line, sizeof(line), filled);
		}
		if (line[strspn(line, " \t")])
			play_line(script, line);
	}
}

/* Comments go, from # to the end of the line. */
static void read_lines(struct script *script, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[LINE_MAX];

	if (!file)
		die("%s cannot be read", path);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#\n")] = '\0';
		if (script->lines == LINES_MAX || !(script->line[script->lines++] = strdup(line)))
			die("%s is too long", path);
	}
	fclose(file);
}

int main(int argc, char **argv)
{
	static struct script script;
	size_t i;

	if (argc != 3)
		die("make_case CASE FOLDER");
	script.folder = argv[2];
	read_lines(&script, argv[1]);
	world_init(&script.world);
	play_block(&script, 0, script.lines, NULL);
	world_finish(&script.world);
	for (i = 0; i < script.lines; i++)
		free(script.line[i]);
	return 0;
}
