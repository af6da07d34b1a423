/*
 * env.c - texts to paste, one per launcher.
 *
 * Why not everywhere `memrec -- COMMAND`: Ray's workers inherit the environment of `ray start`, not of the program
 * that asks for them, and frameworks overwrite LD_PRELOAD where they offload memory. The CUDA door survives both.
 *
 * In the texts @LIBRARY@, @MEMREC@ and @OPTIONS@ stand for the path of libmemrec.so, of this program, and for the value
 * of MEMREC_OPTIONS in the form without '=', ',' and blanks, at which some launchers split.
 */
#include "env.h"

#include <stdio.h>
#include <string.h>
#include "doors.h"
#include "memtrace/error.h"
#include "say.h"

#define JSON_VARIABLES                                                                          \
	"\"CUDA_INJECTION64_PATH\": \"@LIBRARY@\", \"NVTX_INJECTION64_PATH\": \"@LIBRARY@\", " \
	"\"MEMREC_OPTIONS\": \"@OPTIONS@\""

#define SHELL_VARIABLES                            \
	"export CUDA_INJECTION64_PATH='@LIBRARY@'\n" \
	"export NVTX_INJECTION64_PATH='@LIBRARY@'\n" \
	"export MEMREC_OPTIONS='@OPTIONS@'\n"

#define YAML_VARIABLES(indent)                              \
	indent "CUDA_INJECTION64_PATH: \"@LIBRARY@\"\n"     \
	indent "NVTX_INJECTION64_PATH: \"@LIBRARY@\"\n"     \
	indent "MEMREC_OPTIONS: \"@OPTIONS@\"\n"

#define VERL_PREFIX "+ray_kwargs.ray_init.runtime_env.env_vars."

/* X(name, text) */
#define FRAMEWORK_LIST(X)                                                                                            \
	X("torchrun",                                                                                                \
	  "# Workers inherit torchrun's environment: put memrec in front of it, on every node.\n"                    \
	  "# Each worker has RANK set and writes trace.rankN.zst.\n"                                                 \
	  "@MEMREC@ -- torchrun --nproc-per-node 8 train.py\n")                                                      \
	X("slurm",                                                                                                   \
	  "# Put memrec between srun and the program, so that it runs on every node.\n"                              \
	  "srun @MEMREC@ -o trace.%h.%p.zst -- python train.py\n")                                                   \
	X("ray",                                                                                                     \
	  "# Either before `ray start`, on every node:\n" SHELL_VARIABLES                                            \
	  "# or where the program calls ray.init, for its own workers:\n"                                            \
	  "ray.init(runtime_env={\"env_vars\": {" JSON_VARIABLES "}})\n"                                             \
	  "# or when the job is submitted:\n"                                                                        \
	  "ray job submit --runtime-env-json '{\"env_vars\": {" JSON_VARIABLES "}}' -- python train.py\n")           \
	X("verl",                                                                                                    \
	  "# Add to the command line of verl.trainer.main_ppo; reaches the trainer, vLLM and SGLang:\n"              \
	  "'" VERL_PREFIX "CUDA_INJECTION64_PATH=\"@LIBRARY@\"' \\\n"                                                \
	  "'" VERL_PREFIX "NVTX_INJECTION64_PATH=\"@LIBRARY@\"' \\\n"                                                \
	  "'" VERL_PREFIX "MEMREC_OPTIONS=\"@OPTIONS@\"'\n")                                                         \
	X("areal",                                                                                                   \
	  "# Add to the YAML of the experiment, in the same way for rollout, critic and ref:\n"                      \
	  "actor:\n"                                                                                                 \
	  "  scheduling_spec:\n"                                                                                     \
	  "    - env_vars:\n" YAML_VARIABLES("        "))                                                            \
	X("relax",                                                                                                   \
	  "# Add to configs/env.yaml; reaches trainer and rollout:\n"                                                \
	  "env_vars:\n" YAML_VARIABLES("  ")                                                                         \
	  "# or, for the trainer alone (slime and miles as well), to the command line:\n"                            \
	  "--train-env-vars '{" JSON_VARIABLES "}'\n")

static const char general[] =
	"# Where you start the program yourself, memrec does it all:\n"
	"@MEMREC@ -- python train.py\n"
	"# Where something else starts the processes, set this for them:\n" SHELL_VARIABLES
	"# Exact text for a launcher (memrec env NAME):"
#define LIST_NAME(name, text) " " name
	FRAMEWORK_LIST(LIST_NAME)
#undef LIST_NAME
	"\n";

struct values {
	char library[MEMREC_PATH_MAX], program[MEMREC_PATH_MAX], options[MEMREC_OPTIONS_MAX];
};

static const char *find_text(const char *name)
{
	if (!name)
		return general;
#define FIND_TEXT(word, text)       \
	if (!strcmp(name, word))    \
		return text;
	FRAMEWORK_LIST(FIND_TEXT)
#undef FIND_TEXT
	return NULL;
}

static void print_text(const char *text, const struct values *values)
{
	const struct {
		const char *mark, *value;
	} marks[] = {
		{ "@LIBRARY@", values->library },
		{ "@MEMREC@", values->program },
		{ "@OPTIONS@", values->options },
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
		fputs(marks[i].value, stdout);
		text += strlen(marks[i].mark);
	}
}

/* Nobody is there to see who comes first: the names must tell the processes apart. */
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

/* The text form without '=' and blanks: "key:value+key:value". */
static int encode(char *text, const struct memrec_options *options)
{
	int error = memrec_options_encode(options, text, MEMREC_OPTIONS_MAX);

	for (; !error && *text; text++)
		*text = *text == '=' ? ':' : *text == ' ' ? '+' : *text;
	return error;
}

int env_main(const struct arguments *arguments)
{
	const char *text = find_text(arguments->operands[0]);
	struct memrec_options options = arguments->options;
	struct values values;

	if (!text || (arguments->operands[0] && arguments->operands[1])) {
		say("env: %s: no such launcher ("
#define NAME_IN_MESSAGE(name, unused) name " "
		    FRAMEWORK_LIST(NAME_IN_MESSAGE)
#undef NAME_IN_MESSAGE
		    "are known)", arguments->operands[text ? 1 : 0]);
		return MEMREC_EXIT_USAGE;
	}
	if (doors_find_program(values.program) || doors_find_library(values.library, values.program)) {
		say("libmemrec.so: not found beside memrec (build or install memrec as a whole)");
		return MEMREC_EXIT_SYSTEM;
	}
	name_apart(&options);
	snprintf(options.collector, sizeof(options.collector), "%s", values.program);
	if (encode(values.options, &options)) {
		say("env: the options are too long for one variable (shorten the paths)");
		return MEMREC_EXIT_USAGE;
	}
	print_text(text, &values);
	return MEMREC_EXIT_OK;
}
