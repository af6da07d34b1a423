/* identity.c - fills in the recorded process: the part of the ring's header that never changes. */
#include "agent.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "memtrace/base.h"
#include "memtrace/runs.h"
#include "shared/textbuf.h"

#define CLOCK_TRIES 5

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * MT_NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* Reads the two clocks as close together as a few tries allow. */
void agent_read_clocks(struct ring_header *header)
{
	uint64_t before, real, after;
	int i;

	header->clock_error = UINT64_MAX;
	for (i = 0; i < CLOCK_TRIES; i++) {
		before = clock_ns(CLOCK_MONOTONIC);
		real = clock_ns(CLOCK_REALTIME);
		after = clock_ns(CLOCK_MONOTONIC);
		if (after - before >= header->clock_error)
			continue;
		header->clock_error = after - before;
		header->start_monotonic = before + (after - before) / 2;
		header->start_realtime = real;
	}
}

/* The number at the start of `text`; -1: none, or beyond int32_t. */
static int32_t parse_number(const char *text)
{
	int64_t number = 0;

	if (!text || !*text)
		return -1;
	for (; *text >= '0' && *text <= '9'; text++) {
		number = number * 10 + (*text - '0');
		if (number > INT32_MAX)
			return -1;
	}
	return *text ? -1 : (int32_t)number;
}

/* MEMREC_VERSION is "major.minor.patch". */
static uint32_t tool_version(void)
{
	const char *c = MEMREC_VERSION;
	uint32_t version = 0, part = 0;

	for (; *c; c++) {
		if (*c >= '0' && *c <= '9') {
			part = part * 10 + (uint32_t)(*c - '0');
		} else {
			version = version << 8 | (part & 0xff);
			part = 0;
		}
	}
	return version << 8 | (part & 0xff);
}

/* "pid (name) state ppid ...": the name can contain anything, so fields are counted from the last parenthesis. */
uint64_t agent_start_ticks(void)
{
	char stat[1024];
	const char *c;
	uint64_t ticks = 0;
	int field = 2;

	textbuf_read_file("/proc/self/stat", stat, sizeof(stat));
	c = strrchr(stat, ')');
	for (; c && *c && field < 22; c++)
		if (*c == ' ')
			field++;
	for (; c && *c >= '0' && *c <= '9'; c++)
		ticks = ticks * 10 + (uint64_t)(*c - '0');
	return ticks;
}

static void read_command(char *command, size_t size)
{
	size_t used = textbuf_read_file("/proc/self/cmdline", command, size), i;

	while (used && !command[used - 1])
		used--;
	for (i = 0; i < used; i++)
		if (!command[i])
			command[i] = ' ';
}

static void copy(char *to, size_t size, const char *from)
{
	struct textbuf text;

	textbuf_init(&text, to, size);
	textbuf_add(&text, from);
}

/* Adds an ID. A blank becomes '_', so that the ID is one word. */
static void add_id(struct textbuf *text, const char *id)
{
	char word[MT_RUN_ID_MAX];
	size_t i;

	copy(word, sizeof(word), id);
	for (i = 0; word[i]; i++)
		if ((unsigned char)word[i] <= ' ')
			word[i] = '_';
	textbuf_add(text, word);
}

/* Adds one ID of the run. torchrun writes "none" for no ID. */
static void add_run(struct textbuf *text, const char *name, const char *id, const char *second)
{
	if (!id || !*id || !strcmp(id, "none"))
		return;
	textbuf_add(text, *text->at ? " " : "");
	textbuf_add(text, name);
	textbuf_add(text, "=");
	add_id(text, id);
	if (!second || !*second)
		return;
	textbuf_add(text, ".");
	add_id(text, second);
}

static void name_run(char *run, const struct memrec_options *options)
{
	struct textbuf text;

	textbuf_init(&text, run, MT_RUN_MAX);
#define ADD_RUN(name, variable, second, unique) \
	add_run(&text, name, *variable ? getenv(variable) : options->launch, *second ? getenv(second) : NULL);
	MT_RUN_LIST(ADD_RUN)
#undef ADD_RUN
}

void agent_identify(struct ring_header *header, const struct memrec_options *options)
{
	struct utsname name;
	const char *visible;

	header->pid = (uint32_t)getpid();
	header->ppid = (uint32_t)getppid();
	header->rank = parse_number(getenv("RANK"));
	header->depth = (uint32_t)options->depth;
	header->tool_version = tool_version();
	header->start_ticks = agent_start_ticks();
	agent_read_clocks(header);
	if (!uname(&name))
		copy(header->host, sizeof(header->host), name.nodename);
	textbuf_read_file("/proc/sys/kernel/random/boot_id", header->boot_id, sizeof(header->boot_id));
	header->boot_id[strcspn(header->boot_id, "\n")] = '\0';
	memrec_options_encode(options, header->options, sizeof(header->options));
	copy(header->output, sizeof(header->output), options->output);
	copy(header->run_dir, sizeof(header->run_dir), options->run_dir);
	name_run(header->run, options);
	read_command(header->command, sizeof(header->command));
	header->steps = (uint32_t)options->steps;
	header->skip = (uint32_t)options->skip;
	copy(header->step_mark, sizeof(header->step_mark), options->step_mark);
	header->keep = options->keep;
	visible = getenv("CUDA_VISIBLE_DEVICES");
	if (visible && strlen(visible) < sizeof(header->visible_devices)) /* half a list would be wrong */
		copy(header->visible_devices, sizeof(header->visible_devices), visible);
}
