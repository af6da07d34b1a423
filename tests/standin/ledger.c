/*
 * ledger.c - the driver's own account: one line of text per memory call, written before the call returns, so SIGKILL
 * loses none. Columns, separated by blanks:
 *
 *     pid  entry  result  device|host  space  address|handle  size  +bytes|-bytes|0
 *
 * "gone" in place of an entry: physical memory that ended as a consequence of the call in the next line.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "driver.h"

static int ledger_fd = -1;

void ledger_open(const char *path)
{
	if (!path)
		return;
	ledger_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (ledger_fd < 0) {
		perror("stand-in GPU: STANDIN_LEDGER");
		exit(2);
	}
}

static const char *space_word(enum mt_space space)
{
	switch (space) {
#define SPACE_CASE(name, number, word) \
	case MT_SPACE_##name:          \
		return word;
		MT_SPACE_LIST(SPACE_CASE)
#undef SPACE_CASE
	}
	return "?";
}

void ledger_write(const char *what, cuda_result result, const struct effect *effect)
{
	char line[256], device[16] = "host";
	int size;

	if (ledger_fd < 0)
		return;
	if (effect->device != HOST)
		snprintf(device, sizeof(device), "%d", effect->device);
	size = snprintf(line, sizeof(line), "%d %s %d %s %s 0x%" PRIx64 " %" PRIu64 " %+" PRId64 "\n", (int)getpid(),
			what, result, device, space_word(effect->space), effect->address, effect->size, effect->bytes);
	if (write(ledger_fd, line, (size_t)size) != size) {
		perror("stand-in GPU: STANDIN_LEDGER");
		abort();
	}
}
