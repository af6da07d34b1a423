#include "snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "partial_file.h"

#define PICKLE_PROTO 0x80u /* the first byte of every pickle of protocol 2 and later; the second is the protocol */
#define PICKLE_PROTOCOLS 16u

int snapshot_is_pickle(const char *path)
{
	unsigned char begin[2] = { 0 };
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = -1;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode))
		got = read(fd, begin, sizeof(begin));
	close(fd);
	return got == sizeof(begin) && begin[0] == PICKLE_PROTO && begin[1] >= 2 && begin[1] < PICKLE_PROTOCOLS;
}

int snapshot_open(struct mt_reader **reader, const char *path, const struct mt_rules *rules,
		  struct mt_import_summary *summary)
{
	char temporary[4096];
	int error;

	*reader = NULL;
	memset(summary, 0, sizeof(*summary));
	error = partial_file_temporary(temporary, sizeof(temporary));
	if (error)
		return error;
	error = mt_import_snapshot(path, temporary, rules, summary);
	if (!error)
		error = mt_reader_open(reader, temporary);
	unlink(temporary);
	partial_file_end();
	return error;
}

static const char *reason(int error)
{
	switch (error) {
	case -MT_E_SYSTEM:
		return strerror(errno);
	case -MT_E_MAGIC:
		return "not a pickle (torch.cuda.memory._dump_snapshot writes one)";
	case -MT_E_VERSION:
		return "a pickle protocol this program does not know";
	case -MT_E_CORRUPT:
		return "a pickle, but not a PyTorch memory snapshot";
	default:
		return mt_strerror(error);
	}
}

const char *snapshot_why(char *out, size_t size, int error, const struct mt_import_summary *summary)
{
	if (error == -MT_E_REFUSED)
		snprintf(out, size,
			 "holds code (a class or function) at byte %llu, which a snapshot never does: refused",
			 (unsigned long long)summary->damage_offset);
	else
		snprintf(out, size, "%s", reason(error));
	return out;
}
