/* reader_file.c - see reader_file.h. */
#include "reader_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "trace/chunk.h"

int reader_file_open(struct reader_file *file, const char *path)
{
	struct mt_chunk_source *source = &file->source;
	struct stat st;

	source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for a writer */
	if (source->fd < 0 || fstat(source->fd, &st))
		return -MT_E_SYSTEM;
	if (!S_ISREG(st.st_mode))
		return -MT_E_MAGIC;
	source->file_bytes = (uint64_t)st.st_size;
	source->unpacker = mt_unpacker_new(source->fd, source->file_bytes);
	return source->unpacker ? 0 : -MT_E_MEMORY;
}

void reader_file_release(struct reader_file *file)
{
	mt_unpacker_free(file->source.unpacker);
	if (file->source.fd >= 0)
		close(file->source.fd);
}

void reader_file_rest(struct reader_file *file, const char *path)
{
	struct stat st;

	if (file->rests || fstat(file->source.fd, &st))
		return;
	file->rests = path;
	file->device = st.st_dev;
	file->inode = st.st_ino;
	mt_unpacker_drop(file->source.unpacker, 0);
	reader_file_sleep(file);
}

int reader_file_wake(struct reader_file *file)
{
	struct mt_chunk_source *source = &file->source;
	struct stat st;

	if (!file->rests)
		return 0;
	source->fd = open(file->rests, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (source->fd < 0)
		return -MT_E_SYSTEM;
	mt_unpacker_file(source->unpacker, source->fd);
	if (!fstat(source->fd, &st) && st.st_dev == file->device && st.st_ino == file->inode)
		return 0;
	reader_file_sleep(file);
	errno = ESTALE;
	return -MT_E_SYSTEM;
}

void reader_file_sleep(struct reader_file *file)
{
	int saved = errno;

	if (!file->rests || file->source.fd < 0)
		return;
	close(file->source.fd);
	file->source.fd = -1;
	mt_unpacker_file(file->source.unpacker, -1);
	errno = saved;
}
