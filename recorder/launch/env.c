/*
 * env.c - prints the texts of `memrec env`: for each launcher, the settings to paste.
 *
 * `memrec -- COMMAND` cannot record all processes. Ray's workers inherit the environment of `ray start`, and not of the
 * program that asks for the workers. Some frameworks overwrite LD_PRELOAD when they offload memory. The variable of the
 * CUDA driver works in both cases.
 *
 * In the texts, @LIBRARY@ is the path of libmemrec.so, and @MEMREC@ the path of memrec. @GIVEN@ is the options as
 * typed. @OPTIONS@ is the options for MEMREC_OPTIONS, without '=', ',' and blanks, at which some launchers split.
 * @APART@ is the options as typed, with an -o that gives each process of each node its own name.
 */
#include "launch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "inject.h"
#include "memtrace/clean.h"
#include "memtrace/error.h"
#include "run/say.h"

#define JSON_VARIABLES                                                                         \
	"\"CUDA_INJECTION64_PATH\": \"@LIBRARY@\", \"NVTX_INJECTION64_PATH\": \"@LIBRARY@\", " \
	"\"MEMREC_OPTIONS\": \"@OPTIONS@\""

#define SHELL_VARIABLES                              \
	"export CUDA_INJECTION64_PATH='@LIBRARY@'\n" \
	"export NVTX_INJECTION64_PATH='@LIBRARY@'\n" \
	"export MEMREC_OPTIONS='@OPTIONS@'\n"

#define YAML_VARIABLES(indent)                                                                                 \
	indent "CUDA_INJECTION64_PATH: \"@LIBRARY@\"\n" indent "NVTX_INJECTION64_PATH: \"@LIBRARY@\"\n" indent \
	       "MEMREC_OPTIONS: \"@OPTIONS@\"\n"

#define VERL_PREFIX "+ray_kwargs.ray_init.runtime_env.env_vars."

/* The command for a Ray job. The user adds these variables to the JSON that the command has already. */
#define RAY_JOB(program) "ray job submit --runtime-env-json '{\"env_vars\": {" JSON_VARIABLES "}}' -- " program "\n"

#define TRAINER_VARIABLES "--train-env-vars '{" JSON_VARIABLES "}'\n"

/* Launchers: X(name, text). */
#define FRAMEWORK_LIST(X)                                                                                                  \
	X("torchrun", "# Workers inherit torchrun's environment: put memrec in front of it, on every node.\n"              \
		      "# Each worker has RANK set and writes trace.rankN.zst.\n"                                           \
		      "@MEMREC@@GIVEN@ -- torchrun --nproc_per_node 8 train.py\n")                                         \
	X("slurm", "# Put memrec between srun and the program, so that it runs on every node.\n"                           \
		   "srun @MEMREC@@APART@ -- python train.py\n")                                                            \
	X("ray", "# One of these three. Before `ray start`, on every node:\n" SHELL_VARIABLES                              \
		 "# or where the program calls ray.init, for its own workers:\n"                                           \
		 "ray.init(runtime_env={\"env_vars\": {" JSON_VARIABLES "}})\n"                                            \
		 "# or when the job is submitted:\n" RAY_JOB("python train.py"))                                           \
	X("verl", "# Add to the command line of verl.trainer.main_ppo; reaches the trainer, vLLM and SGLang:\n"            \
		  "'" VERL_PREFIX "CUDA_INJECTION64_PATH=\"@LIBRARY@\"' \\\n"                                              \
		  "'" VERL_PREFIX "NVTX_INJECTION64_PATH=\"@LIBRARY@\"' \\\n"                                              \
		  "'" VERL_PREFIX "MEMREC_OPTIONS=\"@OPTIONS@\"'\n")                                                       \
	X("areal",                                                                                                         \
	  "# Add to the YAML of the experiment, to the scheduling_spec that is there, in the same way for rollout,\n"      \
	  "# critic and ref:\n"                                                                                            \
	  "actor:\n"                                                                                                       \
	  "  scheduling_spec:\n"                                                                                           \
	  "    - env_vars:\n" YAML_VARIABLES("        "))                                                                  \
	X("relax",                                                                                                         \
	  "# Add to configs/env.yaml; reaches trainer and rollout:\n"                                                      \
	  "env_vars:\n" YAML_VARIABLES("  ") "# or, for the trainer alone, to the command line:\n" TRAINER_VARIABLES)      \
	X("slime",                                                                                                         \
	  "# Where the job is submitted, beside the env_vars that are there; reaches trainer and SGLang:\n" RAY_JOB(       \
		  "python train.py") "# or, for the trainer alone, to the command line of train.py:\n" TRAINER_VARIABLES)  \
	X("openrlhf", "# Where the job is submitted, beside the working_dir that is there:\n" RAY_JOB(                     \
			      "python -m openrlhf.cli.train_ppo_ray"))                                                     \
	X("nemo-rl",                                                                                                       \
	  "# Before the program starts: it hands its environment on to all its workers, on every node.\n" SHELL_VARIABLES) \
	X("trl", "# Workers inherit accelerate's environment: put memrec in front of it, on every node.\n"                 \
		 "@MEMREC@@GIVEN@ -- accelerate launch train.py\n"                                                         \
		 "# and, where vLLM is a server of its own, in front of that:\n"                                           \
		 "@MEMREC@@APART@ -- trl vllm-serve --model MODEL\n")

static const char general[] = "# Where you start the program yourself, memrec does it all:\n"
			      "@MEMREC@@GIVEN@ -- python train.py\n"
			      "# Where something else starts the processes, set this for them:\n" SHELL_VARIABLES
			      "# Exact text for a launcher (memrec env NAME):"
#define LIST_NAME(name, text) " " name
	FRAMEWORK_LIST(LIST_NAME) "\n";

const char env_frameworks[] = FRAMEWORK_LIST(LIST_NAME);
#undef LIST_NAME

struct values {
	char library[MEMREC_PATH_MAX], program[MEMREC_PATH_MAX];
	char given[MEMREC_OPTIONS_MAX], apart[MEMREC_OPTIONS_MAX]; /* words for a shell, each after a blank */
	char options[MEMREC_OPTIONS_MAX];
};

static const char *find_text(const char *name)
{
	if (!name)
		return general;
#define FIND_TEXT(word, text)    \
	if (!strcmp(name, word)) \
		return text;
	FRAMEWORK_LIST(FIND_TEXT)
#undef FIND_TEXT
	return NULL;
}

/* Prints a value to paste. A terminal gets no harmful characters; a file gets the value unchanged. */
static void print_value(const char *value)
{
	char clean[MEMREC_OPTIONS_MAX > MEMREC_PATH_MAX ? MEMREC_OPTIONS_MAX : MEMREC_PATH_MAX];

	mt_copy_text(clean, sizeof(clean), value);
	fputs(isatty(STDOUT_FILENO) ? mt_clean(clean, "") : value, stdout);
}

static void print_text(const char *text, const struct values *values)
{
	const struct {
		const char *mark, *value;
	} marks[] = {
		{ "@LIBRARY@", values->library }, { "@MEMREC@", values->program },  { "@GIVEN@", values->given },
		{ "@APART@", values->apart },     { "@OPTIONS@", values->options },
	};
	size_t i;

	while (*text) {
		for (i = 0; i < MT_ARRAY_SIZE(marks); i++)
			if (!strncmp(text, marks[i].mark, strlen(marks[i].mark)))
				break;
		if (i == MT_ARRAY_SIZE(marks)) {
			putchar(*text++);
			continue;
		}
		print_value(marks[i].value);
		text += strlen(marks[i].mark);
	}
}

/* Prints the name of a trace for people: HOST for %h, PID for %p, RANK for %r. */
static void print_output(const char *output)
{
	static const struct {
		char letter;
		const char *word;
	} words[] = { { 'h', "HOST" }, { 'p', "PID" }, { 'r', "RANK" }, { '%', "%" } };
	char plain[2 * MEMREC_PATH_MAX] = "";
	size_t used = 0, i;

	for (; *output; output++) {
		for (i = 0; *output == '%' && i < MT_ARRAY_SIZE(words) && output[1] != words[i].letter; i++)
			;
		if (*output == '%' && i < MT_ARRAY_SIZE(words))
			used += (size_t)snprintf(plain + used, sizeof(plain) - used, "%s", words[i].word);
		else
			used += (size_t)snprintf(plain + used, sizeof(plain) - used, "%c", *output);
		output += *output == '%' && output[1];
	}
	print_value(plain);
}

/* For a text whose processes may run on other machines, prints the folder of the traces. */
static void print_where(const char *text, const struct memrec_options *options)
{
	if (!strstr(text, "@OPTIONS@") && !strstr(text, "@APART@"))
		return;
	fputs("# Each process writes ", stdout);
	print_output(options->output);
	puts(" on its own machine, or a folder memrec-trace.* in TMPDIR or /tmp where it may not write there.\n"
	     "# memrec env -o '/shared/run/trace.%h.%p.zst' NAME names a folder that all machines see.");
	if (strstr(text, "@OPTIONS@"))
		puts("# %25h below is %h, the host: %25 is a percent sign that launchers leave alone.");
}

/* Adds %h and %p to an output without %, so that each process of each machine has its own trace. */
static void name_apart(struct memrec_options *options)
{
	char *dot = strrchr(options->output, '.');
	char suffix[8];

	if (strchr(options->output, '%') || strlen(options->output) + sizeof(".%h.%p") > MEMREC_PATH_MAX)
		return;
	if (!dot || strchr(dot, '/') || strlen(dot) >= sizeof(suffix))
		dot = options->output + strlen(options->output);
	snprintf(suffix, sizeof(suffix), "%s", dot);
	snprintf(dot, MEMREC_PATH_MAX - (size_t)(dot - options->output), ".%%h.%%p%s", suffix);
}

/* Encodes the options as "key:value+key:value", without '=' and blanks. */
static int encode(char *text, const struct memrec_options *options)
{
	int error = memrec_options_encode(options, text, MEMREC_OPTIONS_MAX);

	for (; !error && *text; text++)
		*text = *text == '=' ? ':' : *text == ' ' ? '+' : *text;
	return error;
}

/* Appends a blank and the word, in quotes if a shell needs them. Returns 0 or -MT_E_LIMIT. */
static int add_word(char *text, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,%+@-";
	size_t used = strlen(text), size = strlen(word);
	int quoted = !size || strspn(word, plain) != size;

	if (used + 4 * size + sizeof(" ''") > MEMREC_OPTIONS_MAX)
		return -MT_E_LIMIT;
	used += (size_t)snprintf(text + used, sizeof(" '"), quoted ? " '" : " ");
	for (; *word; word++)
		used += (size_t)snprintf(text + used, 5, quoted && *word == '\'' ? "'\\''" : "%c", *word);
	snprintf(text + used, 2, quoted ? "'" : "");
	return 0;
}

/* Number of words of the option -o that begins with `word`; 0: another option. getopt accepts --out for --output. */
static int is_output(const char *word)
{
	size_t size = strcspn(word, "=");

	if (!strncmp(word, "-o", 2))
		return word[2] ? 1 : 2;
	if (size < 3 || strncmp(word, "--output", size) != 0)
		return 0;
	return word[size] ? 1 : 2;
}

/* Fills in `given` and `apart` from the options as typed, up to `end`. Returns 0 or -MT_E_LIMIT. */
static int add_given(struct values *values, char **word, char **end, const struct memrec_options *options)
{
	int skip, error = 0;

	for (; word < end && strcmp(*word, "--") && !error; word++) {
		error = add_word(values->given, *word);
		skip = is_output(*word);
		if (!error && !skip)
			error = add_word(values->apart, *word);
		if (!error && skip > 1 && word + 1 < end)
			error = add_word(values->given, *++word);
	}
	if (!error)
		error = add_word(values->apart, "-o");
	return error ? error : add_word(values->apart, options->output);
}

/* 1: the path can be pasted in any quotes, and has no '=' and ',' at which launchers split. */
static int is_safe(const char *path)
{
	const unsigned char *c = (const unsigned char *)path;

	while (*c >= ' ' && !strchr("\"'\\$`=,", *c))
		c++;
	return !*c;
}

/* Finds the paths of memrec and libmemrec.so. Returns 0 or an exit status. */
static int find_paths(struct values *values)
{
	if (inject_find_program(values->program) || inject_find_library(values->library, values->program)) {
		say("libmemrec.so: not found beside memrec (build or install memrec as a whole)");
		return MEMREC_EXIT_SYSTEM;
	}
	if (is_safe(values->program) && is_safe(values->library) && !strchr(values->program, ' '))
		return MEMREC_EXIT_OK;
	say("%s: launchers would misread this path (install memrec in a folder without blanks, quotes, $ = and ,)",
	    values->program);
	return MEMREC_EXIT_SYSTEM;
}

int env_main(const struct arguments *arguments, char **given)
{
	static struct values values;
	const char *text = find_text(arguments->operands[0]);
	struct memrec_options options = arguments->options;
	int status;

	if (!text || (arguments->operands[0] && arguments->operands[1])) {
		say("env: %s: no such launcher ("
#define NAME_IN_MESSAGE(name, unused) name " "
		    FRAMEWORK_LIST(NAME_IN_MESSAGE)
#undef NAME_IN_MESSAGE
			    "are known)",
		    arguments->operands[text ? 1 : 0]);
		return MEMREC_EXIT_USAGE;
	}
	status = find_paths(&values);
	if (status)
		return status;
	name_apart(&options);
	snprintf(options.collector, sizeof(options.collector), "%s", values.program);
	if (encode(values.options, &options) || add_given(&values, given, arguments->operands, &options)) {
		say("env: the options are too long for one variable (shorten the paths)");
		return MEMREC_EXIT_USAGE;
	}
	if (arguments->ring_dir && strstr(text, "@OPTIONS@"))
		say("env: --ring-dir goes with memrec in front only (without it the ring lies in /dev/shm, or beside the trace)");
	print_where(text, &options);
	print_text(text, &values);
	return MEMREC_EXIT_OK;
}
