/* cmd_export.c - memana export: writes a run in the format of another program. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/text.h"
#include "export.h"
#include "memtrace/error.h"
#include "report/command.h"
#include "report/command_option.h"
#include "report/report.h"
#include "report/top/top_at.h"
#include "source/partial_file.h"
#include "source/spool.h"

#define PATH_SIZE 4096u

enum {
	OPTION_TO = COMMAND_OWN,
	OPTION_AT,
	OPTION_SINCE,
	OPTION_UNTIL,
	OPTION_STEPS,
	OPTION_BY,
	OPTION_TABLE,
	OPTION_CONFIDENTIAL
};

#define FORMAT_WORD(name, suffix, takes, sentence) " " #name

#define TABLE_WORD(name, sentence) " " #name

static const struct command_option own_options[] = {
	{ OPTION_TO, "to", "FORMAT", "the format", EXPORT_FORMAT_LIST(FORMAT_WORD) },
	{ 'o', "output", "FILE",
	  "the file to write (-: standard output); without it, a file named after the trace. An older file is kept as FILE.old" },
	{ OPTION_AT, "at", "WHEN",
	  "formats of one moment: peak (default), oom (the last out-of-memory error), step:N (the peak of step N), or a time "
	  "since the run began (12.5s, 300ms)",
	  "peak oom step:N TIME" },
	{ OPTION_SINCE, "since", "TIME",
	  "leave out what happens before; formats of one moment: only what has grown since" },
	{ OPTION_UNTIL, "until", "TIME",
	  "leave out what happens later; formats of one moment: the bytes at that time" },
	{ OPTION_STEPS, "steps", "A..B", "only these steps (A alone: one)" },
	{ OPTION_BY, "by", "ROWS", "rows of flame graphs: the call stack, or the modules of the model",
	  "stack module" },
	{ OPTION_TABLE, "table", "TABLE", "the table of csv (default sites)", EXPORT_TABLE_LIST(TABLE_WORD) },
	{ COMMAND_FULL, "full", NULL,
	  "of a long run: html with causes, settings and segments, in more time; torch with all events, in a larger file" },
	{ OPTION_CONFIDENTIAL, "confidential", NULL, "leave out paths and names of source files" },
	COMMAND_RULES_OPTION,
	COMMAND_HELP_OPTION,
};

static const struct format {
	const char *name, *suffix;
	int takes; /* enum export_takes */
	export_function *function;
} formats[] = {
#define FORMAT_ROW(name, suffix, takes, sentence) { #name, suffix, takes, to_##name },
	EXPORT_FORMAT_LIST(FORMAT_ROW)
#undef FORMAT_ROW
};

static const char notes[] = ""
#define FORMAT_NOTE(name, suffix, takes, sentence) #name " (trace." suffix "): " sentence "\n"
	EXPORT_FORMAT_LIST(FORMAT_NOTE)
#undef FORMAT_NOTE
#define TABLE_NOTE(name, sentence) "--table " #name ": a row is " sentence "\n"
		EXPORT_TABLE_LIST(TABLE_NOTE)
#undef TABLE_NOTE
	;

static const char *const tables[] = {
#define TABLE_NAME(name, sentence) #name,
	EXPORT_TABLE_LIST(TABLE_NAME)
#undef TABLE_NAME
};

struct export_command {
	struct export_options options;
	const struct format *format;
	const char *output; /* value of -o; NULL: the name comes from the names of the traces */
	int given;          /* enum export_takes: the options on the command line */
	int help;
};

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static int parse_format(struct export_command *command, const char *word)
{
	struct mt_nearest nearest = { .word = word };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(formats); i++) {
		mt_nearest_try(&nearest, formats[i].name);
		if (!strcmp(formats[i].name, word))
			command->format = &formats[i];
	}
	return command->format
		       ? 0
		       : command_bad_word(&nearest,
					  "export: --to %s: no such format; all are" EXPORT_FORMAT_LIST(FORMAT_WORD),
					  word);
}

static int parse_table(struct export_options *options, const char *word)
{
	struct mt_nearest nearest = { .word = word };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(tables); i++) {
		mt_nearest_try(&nearest, tables[i]);
		if (strcmp(tables[i], word))
			continue;
		options->table = (enum export_table)i;
		return 0;
	}
	return command_bad_word(&nearest, "export: --table %s: no such table; all are" EXPORT_TABLE_LIST(TABLE_WORD),
				word);
}

static int parse_time(int64_t *time, const char *option)
{
	if (!moment_time(optarg, time))
		return 0;
	return command_fail(EXIT_USAGE, "export: --%s %s: not a time (12.5s, 300ms)", option, optarg);
}

/* Parses "3..7", or "3" for one step. Returns 0 or an exit code. */
static int parse_steps(struct export_options *options, const char *word)
{
	unsigned long first, last;
	char *end;

	errno = 0;
	first = last = strtoul(word, &end, 10);
	if (end != word && !strncmp(end, "..", 2) && end[2] >= '0' && end[2] <= '9')
		last = strtoul(end + 2, &end, 10);
	if (errno || end == word || *end || *word < '1' || *word > '9' || last < first || last > UINT32_MAX)
		return command_fail(EXIT_USAGE, "export: --steps %s: not a range of steps (3..7)", word);
	options->first_step = (uint32_t)first;
	options->last_step = (uint32_t)last;
	return 0;
}

static int parse_option(struct export_command *command, int argc, char **argv, int option)
{
	switch (option) {
	case OPTION_TO:
		return parse_format(command, optarg);
	case 'o':
		command->output = optarg;
		return 0;
	case OPTION_AT:
		command->given |= EXPORT_TAKES_AT;
		if (!moment_parse(&command->options.moment, optarg))
			return 0;
		return command_fail(EXIT_USAGE,
				    "export: --at %s: not one of peak, oom, step:N, or a time (12.5s, 300ms)", optarg);
	case OPTION_SINCE:
		command->given |= EXPORT_TAKES_RANGE;
		return parse_time(&command->options.since, "since");
	case OPTION_UNTIL:
		command->given |= EXPORT_TAKES_RANGE;
		return parse_time(&command->options.until, "until");
	case OPTION_STEPS:
		command->given |= EXPORT_TAKES_RANGE;
		return parse_steps(&command->options, optarg);
	case OPTION_BY:
		command->given |= EXPORT_TAKES_BY;
		command->options.by_module = !strcmp(optarg, "module");
		if (command->options.by_module || !strcmp(optarg, "stack"))
			return 0;
		return command_fail(EXIT_USAGE, "export: --by %s: not one of stack, module", optarg);
	case OPTION_TABLE:
		command->given |= EXPORT_TAKES_TABLE;
		return parse_table(&command->options, optarg);
	case OPTION_CONFIDENTIAL:
		command->options.confidential = 1;
		return 0;
	case COMMAND_RULES:
		return command_rules(optarg);
	case 'h':
		command->help = 1;
		return 0;
	default:
		return command_bad_option(argc, argv, option);
	}
}

static int parse(struct export_command *command, int argc, char **argv)
{
	int option, status = 0;

	*command = (struct export_command){ .options = { .since = EXPORT_NO_TIME, .until = EXPORT_NO_TIME } };
	while (!status && (option = command_getopt(argc, argv, own_options)) != -1)
		status = parse_option(command, argc, argv, option);
	command->options.full = command_full();
	command->given |= command->options.full ? EXPORT_TAKES_FULL : 0;
	return status;
}

/* Refuses options that the format does not use. Returns 0, or the exit code after a message. */
static int check_options(const struct export_command *command)
{
	static const struct {
		int takes;
		const char *words;
	} options[] = { { EXPORT_TAKES_AT, "--at" },
			{ EXPORT_TAKES_RANGE, "--since, --until and --steps" },
			{ EXPORT_TAKES_BY, "--by" },
			{ EXPORT_TAKES_TABLE, "--table" },
			{ EXPORT_TAKES_FULL, "--full" } };
	int takes = command->format->takes;
	size_t i;

	if (takes & EXPORT_TAKES_TABLE && command->options.table != EXPORT_sites)
		takes &= ~(EXPORT_TAKES_AT | EXPORT_TAKES_BY);
	for (i = 0; i < MT_ARRAY_SIZE(options); i++)
		if (command->given & options[i].takes && !(takes & options[i].takes))
			return command_fail(EXIT_USAGE, "export: %s: nothing for --to %s%s%s", options[i].words,
					    command->format->name, command->options.table ? " --table " : "",
					    command->options.table ? tables[command->options.table] : "");
	if (command->options.since != EXPORT_NO_TIME && command->options.until != EXPORT_NO_TIME &&
	    command->options.until < command->options.since)
		return command_fail(EXIT_USAGE, "export: --until is before --since: the range is empty");
	if (command->given & EXPORT_TAKES_AT && command->given & EXPORT_TAKES_RANGE)
		return command_fail(
			EXIT_USAGE,
			"export: --at is one moment, --since, --until and --steps are a range: give one of them");
	return 0;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Makes "run/trace" from "run/trace.zst", and from "run/trace.rank0.zst" and "run/trace.rank1.zst". */
static void name_of(char *name, size_t size, char *const *paths, uint32_t count)
{
	static const char *const suffixes[] = { ".zst", ".pickle", ".db" };
	size_t length = strlen(paths[0]), base, i;

	while (length > 1 && paths[0][length - 1] == '/')
		length--;
	for (i = 1; i < count; i++)
		while (strncmp(paths[0], paths[i], length))
			length--;
	snprintf(name, size, "%.*s", (int)(length < size ? length : size - 1), paths[0]);
	for (i = 0; i < MT_ARRAY_SIZE(suffixes); i++)
		if (count == 1 && strlen(name) > strlen(suffixes[i]) &&
		    !strcmp(name + strlen(name) - strlen(suffixes[i]), suffixes[i]))
			name[strlen(name) - strlen(suffixes[i])] = '\0';
	base = (size_t)(text_base_name(name) - name);
	if (count > 1 && strlen(name) > base + 5 && !strcmp(name + strlen(name) - 5, ".rank"))
		name[strlen(name) - 5] = '\0';
	if (!name[base] || !strcmp(name + base, ".") || !strcmp(name + base, ".."))
		snprintf(name + base, size - base, "run");
}

/* Renames an older file to FILE.old. Returns 0 or -MT_E_SYSTEM. */
static int keep_old(const char *path)
{
	char old[PATH_SIZE + 8];

	snprintf(old, sizeof(old), "%s.old", path);
	return rename(path, old) && errno != ENOENT ? -MT_E_SYSTEM : 0;
}

/* Prints one line about an export that failed. Returns the exit code. */
static int tell(struct export_command *command, struct export_run *run, const char *output, int error)
{
	const struct moment since = { .kind = MOMENT_TIME, .time = command->options.since };
	const struct moment moment = command->options.since == EXPORT_NO_TIME ? command->options.moment : since;
	const char *name = run->source.input ? run->source.input[0].file : run->path;
	char why[256], absent[300];
	int status;

	if (error == -MT_E_ARGUMENT && command->options.first_step) {
		snprintf(absent, sizeof(absent), "export: --steps %u..%u: no such step ended",
			 command->options.first_step, command->options.last_step);
		return report_absent(&run->analysis, absent);
	}
	if (error == -MT_E_ARGUMENT) {
		snprintf(absent, sizeof(absent), "export: --%s %s",
			 command->options.since == EXPORT_NO_TIME ? "at" : "since",
			 top_at_absent(why, sizeof(why), run->db, &moment));
		return report_absent(&run->analysis, absent);
	}
	if (error == -MT_E_MISSING && command->given & EXPORT_TAKES_RANGE)
		return command_fail(EXIT_NO, "export: %s: nothing for --to %s in that part of the run%s", name,
				    command->format->name,
				    command->format->takes & EXPORT_TAKES_BY && !command->options.table
					    ? ": no site has grown"
					    : "");
	if (error == -MT_E_MISSING) { /* the input has nothing to export, perhaps because it is damaged */
		snprintf(absent, sizeof(absent), "export: %.200s: nothing was recorded in it (memana info says more)",
			 name);
		status = report_absent(&run->analysis, absent);
		return status == EXIT_USAGE ? mt_exit_code(-MT_E_TRUNCATED) : status;
	}
	if (error == -MT_E_SQL && run->db)
		return report_no_answer("export", run->db, error);
	if (error == -MT_E_MAGIC && run->source.db)
		return command_fail(EXIT_USAGE,
				    "export: --to %s: %s is a database: name the traces that the database is of",
				    command->format->name, name);
	if (error == -MT_E_SYSTEM || error == -MT_E_SPACE)
		return command_fail(mt_exit_code(error), "export: %s: %s", output,
				    error == -MT_E_SYSTEM ? strerror(errno) : mt_strerror(error));
	return command_fail(mt_exit_code(error), "export: %s: %s", name, mt_strerror(error));
}

/* Writes the export to `fd`. Returns 0 or -MT_E_x. */
static int write_to(struct export_command *command, struct export_run *run, int fd)
{
	struct export_out *out = export_out_new(fd);
	int error = out ? command->format->function(run, out) : -MT_E_MEMORY, closed, system = errno;

	closed = export_out_close(out);
	if (error)
		errno = system;
	return error ? error : closed;
}

/* Writes a file beside `output` and renames it at the end, so a file at `output` is always complete. */
static int write_file(struct export_command *command, struct export_run *run, const char *output)
{
	char path[PATH_SIZE];
	int fd, error, system;

	fd = partial_file_beside(path, sizeof(path), output) ? -1 : open(path, O_WRONLY | O_CLOEXEC);
	error = fd < 0 ? -MT_E_SYSTEM : write_to(command, run, fd);
	if (fd >= 0 && close(fd) && !error)
		error = -MT_E_SYSTEM;
	if (!error)
		error = keep_old(output);
	if (!error && rename(path, output))
		error = -MT_E_SYSTEM;
	system = errno;
	if (error)
		unlink(path);
	partial_file_end();
	errno = system;
	return error;
}

static int convert(struct export_command *command, struct export_run *run, const char *output)
{
	int to_stdout = !strcmp(output, "-"), error;
	char size[TEXT_SIZE_MAX], count[64], left[64];
	struct stat st;

	error = to_stdout ? write_to(command, run, STDOUT_FILENO) : write_file(command, run, output);
	if (error)
		return tell(command, run, output, error);
	if (to_stdout)
		return 0;
	text_say("%s: %s", output, text_bytes(size, stat(output, &st) ? 0 : (uint64_t)st.st_size));
	if (run->what)
		text_say(", %s", text_count(count, sizeof(count), run->written, run->what));
	if (run->left_out)
		text_say(" (%s left out)", text_number(left, run->left_out));
	text_say("\n");
	if (run->hint)
		text_say("%s\n", run->hint);
	return 0;
}

static int export(struct export_command *command, char *const *paths, uint32_t count)
{
	struct export_run run = { .options = &command->options };
	char name[PATH_SIZE - 64], made[PATH_SIZE];
	const char *output = command->output;
	int status;

	if (!output && !strcmp(paths[0], SPOOL_PATH))
		return command_fail(EXIT_USAGE,
				    "export: %s: the file to write has no name (-o FILE, or -o - for standard output)",
				    paths[0]);
	name_of(name, sizeof(name), paths, count);
	run.path = paths[0];
	run.name = text_base_name(name);
	if (!output) {
		snprintf(made, sizeof(made), "%s.%s%s%s", name,
			 command->options.table ? tables[command->options.table] : "",
			 command->options.table ? "." : "", command->format->suffix);
		output = made;
	}
	status = strcmp(output, "-") ? command_output("export", output, paths, (int)count) : 0;
	if (status)
		return status;
	run.symbols = symbols_new();
	if (!run.symbols)
		return command_fail(mt_exit_code(-MT_E_MEMORY), "export: %s", mt_strerror(-MT_E_MEMORY));
	status = command_open(&run.source, paths, count, 1);
	if (!status) {
		status = convert(command, &run, output);
		if (!status)
			status = report_damage(&run.analysis, "exported");
	}
	export_run_release(&run);
	symbols_free(run.symbols);
	return command_close(&run.source, status);
}

int cmd_export(int argc, char **argv)
{
	struct export_command command;
	int status = parse(&command, argc, argv);

	if (status)
		return status;
	if (command.help)
		return command_help("export", own_options, notes);
	if (optind == argc)
		return command_fail(EXIT_USAGE, "export: no trace named (memana export trace.zst --to %s)",
				    formats[0].name);
	if (!command.format)
		return command_fail(EXIT_USAGE, "export: no format named (--to %s ...)", formats[0].name);
	status = check_options(&command);
	if (status)
		return status;
	return export(&command, argv + optind, (uint32_t)(argc - optind));
}
