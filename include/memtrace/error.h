/*
 * error.h - the errors that library functions of this project return.
 *
 * Functions return 0 or a negative number: -MT_E_<NAME>. Numbers are stable and never reused.
 *
 * Main files alone put messages for people together. mt_strerror() gives the core of the sentence.
 */
#ifndef MEMTRACE_ERROR_H
#define MEMTRACE_ERROR_H

/* X(name, number, exit code of a program that stops on it, text) */
#define MT_ERROR_LIST(X)                                                   \
	X(SYSTEM, 1, 4, "a system call failed") /* errno has the reason */ \
	X(MEMORY, 2, 4, "out of memory")                                   \
	X(MISSING, 3, 4, "a library or file that is needed is missing")    \
	X(SPACE, 4, 4, "no space left where the file lies")                \
	X(MAGIC, 10, 3, "not a memrec trace")                              \
	X(VERSION, 11, 3, "a format version this program does not know")   \
	X(TRUNCATED, 12, 3, "the data ends too early")                     \
	X(CHECKSUM, 13, 3, "a checksum does not match")                    \
	X(CORRUPT, 14, 3, "the data contradicts itself")                   \
	X(LIMIT, 15, 3, "a value is beyond the limits of the format")      \
	X(RULES, 16, 3, "the rules file is not valid")                     \
	X(SQL, 17, 2, "the SQL statement is not valid")                    \
	X(REFUSED, 18, 3, "the file holds code that would have to be run") \
	X(ARGUMENT, 20, 2, "an argument is not valid")                     \
	X(BUSY, 21, 4, "another process holds it")

enum mt_error {
	MT_E_OK = 0,
#define MT_ERROR_ENUM(name, number, exit_code, text) MT_E_##name = (number),
	MT_ERROR_LIST(MT_ERROR_ENUM)
#undef MT_ERROR_ENUM
};

/* Returns the sentence for `error` (0, -MT_E_x or MT_E_x). Static storage, never NULL. */
const char *mt_strerror(int error);

/* Returns the exit code of a program that stops on `error`: 2, 3 or 4; 0 for 0. */
int mt_exit_code(int error);

#endif
