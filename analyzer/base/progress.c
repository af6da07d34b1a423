#include "progress.h"

#include <string.h>
#include <time.h>
#include <unistd.h>
#include "memtrace/clean.h"
#include "memtrace/clock.h"

#define FIRST_AFTER 1000000000 /* ns */
#define NEXT_AFTER 200000000
#define NAME_BYTES 40

int64_t progress_now(void)
{
	return (int64_t)mt_clock_ns();
}

void progress_init(struct progress *progress, FILE *file, const char *name, uint64_t total, int64_t now)
{
	memset(progress, 0, sizeof(*progress));
	if (!file || !isatty(fileno(file)))
		return;
	progress->file = file;
	progress->name = name;
	progress->total = total;
	progress->start = now;
}

static void show(struct progress *progress, int64_t now)
{
	double seconds = (double)(now - progress->start) / 1e9;
	double percent = 100.0 * (double)progress->done / (double)(progress->total ? progress->total : 1);
	size_t size = strlen(progress->name);
	char name[NAME_BYTES + 4];

	if (size > NAME_BYTES)
		snprintf(name, sizeof(name), "...%s", progress->name + size - NAME_BYTES + 3);
	else
		memcpy(name, progress->name, size + 1);
	fprintf(progress->file, "\rmemana: %s  %.*f%%  %.1f M events/s\033[K", mt_clean(name, ""), percent < 9.95,
		percent, (double)progress->events / seconds / 1e6);
	fflush(progress->file);
	progress->shown = now;
}

void progress_add(struct progress *progress, uint64_t bytes, uint64_t events, int64_t now)
{
	if (!progress->file)
		return;
	progress->done += bytes;
	progress->events += events;
	if (now - progress->start < FIRST_AFTER || (progress->shown && now - progress->shown < NEXT_AFTER))
		return;
	show(progress, now);
}

void progress_release(struct progress *progress)
{
	if (progress->file && progress->shown)
		fprintf(progress->file, "\r\033[K");
	if (progress->file)
		fflush(progress->file);
	progress->file = NULL;
}
