/*
 * answer.h - arguments and small parts of the output, shared by the reports on a loaded run.
 *
 * A report is one struct; its functions print from a database that holds everything (report.h).
 */
#ifndef MEMANA_ANSWER_H
#define MEMANA_ANSWER_H

#include <stdint.h>
#include "base/json.h"
#include "base/text.h"
#include "command_option.h"
#include "report.h"
#include "source/source.h"

struct answer_options {
	int json, help;
	int brief;        /* --brief: only the verdict, as in memrec's last words; JSON stays complete */
	int64_t limit;    /* -n: rows of lists, INT64_MAX: all */
	int64_t number;   /* --number, 0: not given */
	const char *name; /* named_words: the traces, for the next command to try */
	void *own;        /* values of the report's own options, or the argument of answer_command */
};

/*
 * Both functions return 0, an exit code after a message, or -MT_E_x. -MT_E_ARGUMENT: --number names something that does
 * not exist.
 */
struct answer {
	const struct command_option *options;
	enum load_parts parts;
	int64_t limit; /* most entries of lists in text; JSON has all, unless -n is given */
	/*
	 * Takes an option of this report alone, with `optarg`, into options->own. Returns 0; or, after a message, the
	 * exit code.
	 */
	int (*take_own)(struct answer_options *options, int option);
	int (*text)(const struct text *text, struct db *db, const struct answer_options *options);
	int (*json)(struct doc *doc, struct db *db, const struct answer_options *options);
};

/*
 * Reads the options; the other arguments begin at optind. `own` is for answer->take_own. Returns 0, or the exit code.
 */
int answer_parse(struct answer_options *options, const struct answer *answer, int argc, char **argv, void *own);

/*
 * Runs a command without options of its own: reads the arguments, opens, answers, closes. `own`: for options->own.
 * Returns the exit code.
 */
int answer_command(int argc, char **argv, const struct answer *answer, void *own);

/*
 * Runs a command that takes only traces and --json: opens them and calls `answer`. `answer` prints, and returns the
 * exit code.
 */
int answer_traces(int argc, char **argv, int (*answer)(const struct source *source, int json));

/*
 * Prints the document of a command's answer to stdout: version and type, the members of `fill`, and the shape of all
 * answers. Returns 0 or -MT_E_x.
 */
int answer_document(const char *command, struct db *db, int (*fill)(struct doc *doc, void *context), void *context);

/* The answer for questions about times, phases or steps to a snapshot without history, with the next action. */
extern const char answer_no_history[];

/* A heading, after an empty line. */
void answer_title(const struct text *text, const char *title);

/* The sentence in bold, over the whole width. */
void answer_verdict(const struct text *text, const struct sentence *sentence);

/* "GPU 0", "the CPU" */
const char *answer_device(char out[TEXT_SIZE_MAX], int64_t number, const char *kind);

/* "rank 3"; "pid 123" without a rank (-1); "the process" without a pid (0), too. */
const char *answer_process(char out[TEXT_SIZE_MAX], int64_t rank, int64_t pid);

/* "f (train.py:12)", or only the place if the function is unknown. A place is never empty. */
void answer_say_place(struct sentence *sentence, const char *function, const char *place);

/* The phase after "from" and in tables: "forward", "before the recording". */
const char *answer_phase(const char *phase);

/* "  NVIDIA H100", after "GPU 0"; "" without a named GPU. */
const char *answer_model(char out[128], const char *name);

/* "activations", or words for an unknown category. */
const char *answer_category(const char *category);

/* ": activations"; ": probably activations" if most bytes are a guess (`is_guess`); ": of unknown kind". */
void answer_say_category(struct sentence *sentence, const char *category, int is_guess);

#define ANSWER_PARAMETERS 5

/*
 * Runs a statement with numbers for ?1 to ?5 (NULL: none), and calls `row` for each row. Returns 0, the result of
 * `row`, or -MT_E_x.
 */
int answer_rows(struct db *db, const char *sql, const int64_t parameter[ANSWER_PARAMETERS],
		int (*row)(void *context, struct db_stmt *stmt), void *context);

/*
 * For statements with one row and one number: whether it is not 0, and the number. As answer_rows(); without a row
 * nothing changes.
 */
int answer_flag(struct db *db, const char *sql, const int64_t parameter[ANSWER_PARAMETERS], int *flag);
int answer_bytes(struct db *db, const char *sql, const int64_t parameter[ANSWER_PARAMETERS], uint64_t *bytes);

/* The statement's row as an object with the names of the columns. */
void answer_row_json(struct doc *doc, const struct db_stmt *stmt);

/* The array `key` of the statement's rows, each an object with the names of the columns. 0 or -MT_E_x. */
int answer_rows_json(struct doc *doc, const char *key, struct db_stmt *stmt);

#endif
