/* fold_recover.c - makes a whole trace of what a dead collector left; see fold.h. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/copy.h"
#include "fold_impl.h"
#include "memtrace/error.h"

static int same_file(int a, int b)
{
	struct stat first, second;

	return !fstat(a, &first) && !fstat(b, &second) && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

static int copy_file(const char *from_path, const char *to_path)
{
	int from = open(from_path, O_RDONLY | O_CLOEXEC), to, err = -MT_E_SYSTEM;
	struct stat st;

	if (from < 0)
		return err;
	to = open(to_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (to >= 0) {
		if (same_file(from, to))
			err = -MT_E_ARGUMENT;
		else if (!ftruncate(to, 0) && !fstat(from, &st))
			err = mt_copy_bytes(from, 0, to, (uint64_t)st.st_size);
		if (close(to) && !err)
			err = -MT_E_SYSTEM;
	}
	close(from);
	return err;
}

/* A trace that does not even say who was recorded holds no event: all there is, is in the ring. */
static int resume_or_create(struct mt_fold *fold, const char *path)
{
	int err = mt_fold_resume(fold, path);

	return err == -MT_E_MAGIC || err == -MT_E_TRUNCATED ? mt_fold_create(fold, path) : err;
}

static int fold_all(struct mt_fold *fold)
{
	uint64_t folded;
	int status;

	do
		status = mt_fold_run(fold, 1, &folded);
	while (!status && folded);
	return status < 0 ? status : 0;
}

int mt_fold_recover(const char *trace_path, const char *ring_path, const struct mt_rules *rules, const char *out_path,
		    struct mt_fold_summary *summary)
{
	struct mt_fold *fold;
	int err = mt_fold_open_ring(&fold, ring_path, rules, NULL, 0), closed;

	if (err)
		return err;
	err = trace_path ? copy_file(trace_path, out_path) : 0;
	if (!err)
		err = trace_path ? resume_or_create(fold, out_path) : mt_fold_create(fold, out_path);
	if (!err)
		err = fold_all(fold);
	closed = mt_fold_close(fold, MT_END_RECOVERED, summary);
	return err ? err : closed;
}
