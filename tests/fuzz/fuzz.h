/*
 * fuzz.h - what the fuzz targets share. A target is one file fuzz_NAME.c with
 *
 *     int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
 *
 * which reads hostile input as the programs do, and where checksums or lengths would stop a blind mutation
 *
 *     size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed)
 *
 * libFuzzer (make fuzz) calls both; replay.c does for `make test`, without clang.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include "memtrace/phase.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned int seed) __attribute__((weak));

/* libFuzzer's own mutations, replay.c has simple ones. Returns the new size, at most `room`. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

/* Conditions that hold for every input. */
#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_failed(__FILE__, __LINE__, #condition))

_Noreturn void fuzz_failed(const char *file, int line, const char *condition);

/* The stderr that the program began with: what the code under test prints is thrown away. */
int fuzz_report(void);

/*
 * `name` in a folder of this process (under TMPDIR), which goes when the process ends; whoever runs it cleans TMPDIR
 * after a crash. The same name gives the same pointer.
 */
const char *fuzz_path(const char *name);

/* The same, with that content. */
const char *fuzz_file(const char *name, const void *data, size_t size);

/* Reads a file back; more than `room` bytes, or no file: 0. */
size_t fuzz_read(const char *path, uint8_t *data, size_t room);

/* Which of `count` things to do with an input, where all of them would take too long. */
size_t fuzz_pick(const uint8_t *data, size_t size, size_t count);

/* ---- numbers for the mutators ---- */

struct fuzz_random {
	uint64_t state;
};

uint64_t fuzz_next(struct fuzz_random *random);
uint64_t fuzz_below(struct fuzz_random *random, uint64_t bound); /* bound 0: 0 */
uint64_t fuzz_number(struct fuzz_random *random);                /* small, large, round and extreme ones */

/* Mutates `size` bytes at `at`; their number stays. */
void fuzz_in_place(uint8_t *at, size_t size);

/* Another number where a varint begins, or libFuzzer's idea of the bytes. `content` is FUZZ_VARINTS bytes longer at most. */
#define FUZZ_VARINTS 256u
struct mt_buffer;
void fuzz_varints(struct fuzz_random *random, struct mt_buffer *content);

/* Calls commands of memana as its main does. */

#define COMMAND_WORDS_MAX 10
#define COMMAND_FILE "FILE" /* among the words: the input */

/* The name of the command and its arguments. Exit statuses are those of the manual page. */
void command_run(const char *const *words, const char *path);

/*
 * Makes databases of databases: changes values, rows and tables by SQL, or bytes of one page. As LLVMFuzzerCustomMutator.
 */
size_t db_mutate(uint8_t *data, size_t size, size_t room, unsigned int seed);

/* Reads a trace as every command does, and checks what must hold of whatever it says. */

/* The built-in rules, made once. */
const struct mt_rules *fuzz_rules(void);

/* Reads the trace twice, event by event. The error it was refused with, or that it tells of; 0: it is sound. */
int trace_read(const char *path);

/* A record is within its limits, and its ids are those of definitions. */
struct mt_defs;
struct mt_summary;
void trace_check_record(const struct mt_defs *defs, const struct mt_summary *record);

/* Runs the whole analysis over it, with a listener to everything. */
void trace_analyse(const char *path);

/*
 * Makes traces of traces, past checksums and compression.
 *
 *     raw        bytes of the file, as they lie there
 *     chunks     one is dropped, repeated, or changes places; the index is right, old, or gone
 *     sections   one section of one payload; its length, the frame's checksum and the index fit again
 *     events     fields, kinds and order of events; a writer makes a trace of them, so that nothing contradicts
 */

/* As LLVMFuzzerCustomMutator. */
size_t trace_mutate(uint8_t *data, size_t size, size_t room, unsigned int seed);

/* The two halves: 0, nothing could be made of it; else the size. */
size_t trace_mutate_chunks(uint8_t *data, size_t size, size_t room, unsigned int seed);
size_t trace_mutate_events(uint8_t *data, size_t size, size_t room, unsigned int seed);

#endif
