/*
 * test_rule_cases.c - the built-in rules against the stacks of rules_cases.txt: what they say, that each of them is
 * needed for some stack, and that no framework's rules meddle with another's files.
 */
#include "memtrace/phase.h"
#include "rules/rules.h"
#include "stack_builder.h"

#define CASES_MAX 512
#define RULES_EACH_MAX 128

struct rule_case {
	size_t line;
	char *file, *role, *part, *category; /* the expected label */
	char *body;                          /* frames, or "mark ..." */
};

static char *text;
static struct rule_case cases[CASES_MAX];
static size_t count;
static struct mt_rules *rules;

static void read_text(void)
{
	char path[512];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/unit/rules_cases.txt", getenv("SRC") ? getenv("SRC") : ".");
	file = fopen(path, "r");
	CHECK(file != NULL);
	text = calloc(1, 1 << 20);
	CHECK(text != NULL);
	size = fread(text, 1, (1 << 20) - 1, file);
	CHECK(size > 0 && size < (1 << 20) - 1);
	fclose(file);
}

static char *cut(char **at, const char *end)
{
	char *from = *at, *to = strstr(from, end);

	CHECK(to != NULL);
	*to = 0;
	*at = to + strlen(end);
	return from;
}

/* "== file: role, part, category", then the body up to an empty line. */
static void add_case(char *block, size_t line)
{
	struct rule_case *one = &cases[count++];

	CHECK(count < CASES_MAX);
	CHECK(!strncmp(block, "== ", 3));
	block += 3;
	one->line = line;
	one->file = cut(&block, ": ");
	one->role = cut(&block, ", ");
	one->part = cut(&block, ", ");
	one->category = cut(&block, "\n");
	one->body = block;
	CHECK(*block);
}

static void setup(void)
{
	char message[512] = "", *at, *end, *to;
	size_t line = 1, lines;

	CHECK_EQ(mt_rules_new(&rules, message, sizeof(message)), 0);
	read_text();
	for (at = text; *at; at = end, line += lines) {
		end = *at == '=' ? strstr(at, "\n\n") : strchr(at, '\n');
		end = end ? end + 1 : at + strlen(at);
		for (lines = 0, to = at; to < end; to++)
			lines += *to == '\n';
		if (*at == '=') {
			if (*end) {
				*end++ = 0;
				lines++;
			}
			add_case(at, line);
		} else {
			CHECK(*at == '#' || *at == '\n');
		}
	}
	CHECK(count > 100);
}

static void teardown(void)
{
	mt_rules_free(rules);
	free(text);
}

static const char *part_word(uint32_t part)
{
#define WORD(name, number, word, flat) [number] = word,
	static const char *const words[] = { MT_PART_LIST(WORD) };
#undef WORD

	return words[part];
}

/* The tracker's word, after something else than init has run. */
static struct mt_label label_of(const char *stack)
{
	struct mt_defs *defs = mt_defs_new();
	struct mt_tracker *tracker = mt_tracker_new(rules, defs);
	struct mt_event event = { .kind = MT_TENSOR_ALLOC, .addr = 1, .size = 1 };
	struct mt_label label;

	event.thread = make_thread(defs, 1, "python", MT_THREAD_MAIN);
	event.stack = make_stack(defs, "forward /x.py\n");
	mt_tracker_event(tracker, &event, 1, &label);
	event.stack = make_stack(defs, stack);
	mt_tracker_event(tracker, &event, 1, &label);
	mt_tracker_free(tracker);
	mt_defs_free(defs);
	return label;
}

static const char *mark_of(const struct rule_case *one)
{
	static char name[256];

	if (strncmp(one->body, "mark ", 5))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(one->body + 5, "\n"), one->body + 5);
	return name;
}

TEST(rules_say_what_is_expected)
{
	struct mt_label label;
	struct rule_match match;
	size_t i, wrong = 0;

	setup();
	for (i = 0; i < count; i++) {
		if (mark_of(&cases[i])) {
			match = rules_match_mark(rules, mark_of(&cases[i]));
			label = (struct mt_label){ .role = match.value[RULE_SAYS_ROLE],
						   .part = match.value[RULE_SAYS_PART],
						   .category = match.value[RULE_SAYS_CATEGORY] };
		} else {
			label = label_of(cases[i].body);
		}
		if (!strcmp(mt_role_name(label.role), cases[i].role) && !strcmp(part_word(label.part), cases[i].part) &&
		    !strcmp(mt_category_name(label.category), cases[i].category))
			continue;
		printf("# rules_cases.txt:%zu: %s, %s, %s; not %s, %s, %s\n", cases[i].line, mt_role_name(label.role),
		       part_word(label.part), mt_category_name(label.category), cases[i].role, cases[i].part,
		       cases[i].category);
		wrong++;
	}
	CHECK_EQ(wrong, 0);
	teardown();
}

/* Calls `look` with function, file and library of each frame of each case. */
static void each_frame(void (*look)(const struct rule_case *, const char *, const char *, const char *))
{
	char function[512], file[512];
	const char *at;
	size_t i;

	for (i = 0; i < count; i++) {
		for (at = mark_of(&cases[i]) ? "" : cases[i].body; *at; at += strcspn(at, "\n"), at += *at == '\n') {
			if (*at == '~')
				continue;
			if (*at == '!') {
				snprintf(file, sizeof(file), "%.*s", (int)strcspn(at, "\n") - 1, at + 1);
				look(&cases[i], "", "", file);
				continue;
			}
			CHECK_EQ(sscanf(at, "%511s %511[^\n]", function, file), 2);
			look(&cases[i], function, file, "");
		}
	}
}

/* Which rules decided something, in a case of their own file. */
static uint8_t decided[16][RULES_EACH_MAX];

static void note_rule(const struct rule_case *one, size_t number, const struct rule_file *in, size_t i,
		      struct rule_match *match)
{
	if (rule_add(match, &in->rule[i]) && !strcmp(in->name, one->file))
		decided[number][i] = 1;
}

static void note_frame(const struct rule_case *one, const char *function, const char *file, const char *module)
{
	struct rule_match match = { 0 };
	const struct rule_file *in;
	size_t number = 0, i;

	for (in = rules->files; in; in = in->next, number++)
		for (i = 0; i < in->rules; i++)
			if (rule_fits(&in->rule[i], function, file, module))
				note_rule(one, number, in, i, &match);
}

static void note_mark(const struct rule_case *one)
{
	struct rule_match match = { 0 };
	const struct rule_file *in;
	size_t number = 0, i;

	for (in = rules->files; in; in = in->next, number++)
		for (i = 0; i < in->rules; i++)
			if (in->rule[i].pattern[RULE_MARK] &&
			    pattern_matches(in->rule[i].pattern[RULE_MARK], mark_of(one)))
				note_rule(one, number, in, i, &match);
}

TEST(every_rule_is_needed)
{
	const struct rule_file *in;
	size_t number = 0, i, missing = 0;

	setup();
	each_frame(note_frame);
	for (i = 0; i < count; i++)
		if (mark_of(&cases[i]))
			note_mark(&cases[i]);
	for (in = rules->files; in; in = in->next, number++) {
		CHECK(number < MT_ARRAY_SIZE(decided) && in->rules && in->rules <= RULES_EACH_MAX);
		for (i = 0; i < in->rules; i++) {
			if (decided[number][i])
				continue;
			printf("# %s:%zu: decides nothing in any case\n", in->name, in->rule[i].line);
			missing++;
		}
	}
	CHECK_EQ(missing, 0);
	teardown();
}

/* PyTorch's own rules are for everybody's frames. */
static int is_of_a_framework(const struct rule_file *file)
{
	return strcmp(file->name, "pytorch.yaml") && strcmp(file->name, "marks.yaml");
}

static size_t meddlers;

static void note_owners(const struct rule_case *one, const char *function, const char *file, const char *module)
{
	const struct rule_file *in, *owner = NULL;
	size_t i;

	for (in = rules->files; in; in = in->next) {
		for (i = 0; is_of_a_framework(in) && i < in->rules; i++) {
			if (!rule_fits(&in->rule[i], function, file, module))
				continue;
			if (owner && owner != in) {
				printf("# rules_cases.txt:%zu: %s %s is in %s and in %s\n", one->line, function, file,
				       owner->name, in->name);
				meddlers++;
			}
			owner = in;
		}
	}
}

TEST(frames_belong_to_one_framework)
{
	setup();
	each_frame(note_owners);
	CHECK_EQ(meddlers, 0);
	teardown();
}

/* Rules of frameworks name their files: a function of a user that is called the same is none of theirs. */
TEST(framework_rules_name_their_files)
{
	const struct rule_file *in;
	size_t i;

	setup();
	for (in = rules->files; in; in = in->next) {
		for (i = 0; is_of_a_framework(in) && i < in->rules; i++) {
			if (!in->rule[i].pattern[RULE_FILE] || !pattern_literal(in->rule[i].pattern[RULE_FILE]))
				printf("# %s:%zu: no file, or none that is quickly looked for\n", in->name,
				       in->rule[i].line);
			CHECK(in->rule[i].pattern[RULE_FILE] && pattern_literal(in->rule[i].pattern[RULE_FILE]));
		}
	}
	teardown();
}

TEST_MAIN()
