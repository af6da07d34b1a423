/*
 * reader_file.h - the open file of a trace. A file may rest: it is then open only while a chunk is read, so thousands
 * of traces need one descriptor.
 */
#ifndef FORMATS_READER_FILE_H
#define FORMATS_READER_FILE_H

#include <sys/types.h>
#include "trace/chunk_list.h"

struct reader_file {
	struct mt_chunk_source source;
	const char *rests; /* path of a file that rests; NULL: the file is always open */
	dev_t device;      /* device and inode of a file that rests */
	ino_t inode;
};

/* 0, -MT_E_SYSTEM, -MT_E_MEMORY; -MT_E_MAGIC: no regular file. reader_file_release in any case. */
int reader_file_open(struct reader_file *file, const char *path);
void reader_file_release(struct reader_file *file);

/* Lets the file rest from now on. `path` must outlive the file. Does nothing if fstat fails. */
void reader_file_rest(struct reader_file *file, const char *path);

/*
 * Call before and after reading a chunk. reader_file_wake: 0 or -MT_E_SYSTEM; ESTALE: another file has the name now.
 * reader_file_sleep keeps errno.
 */
int reader_file_wake(struct reader_file *file);
void reader_file_sleep(struct reader_file *file);

#endif
