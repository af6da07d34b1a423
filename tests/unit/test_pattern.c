/*
 * test_pattern.c - patterns against regcomp and regexec, which know the same syntax: those that the program carries, and
 * random ones; and what made regcomp take gigabytes takes a few kilobytes.
 */
#include <regex.h>
#include <time.h>
#include <yaml.h>
#include "memtrace/error.h"
#include "rules/rules.h"
#include "test.h"

static struct pattern *compile(const char *text, int fold)
{
	struct pattern_fault fault;
	struct pattern *pattern;
	int error = pattern_new(&pattern, text, fold, &fault);

	if (error)
		printf("# %s: %s at %zu\n", text,
		       error == -MT_E_RULES ? pattern_fault_words(fault.kind) : mt_strerror(error), fault.at);
	CHECK_EQ(error, 0);
	return pattern;
}

static int matches(const char *text, int fold, const char *subject)
{
	struct pattern *pattern = compile(text, fold);
	int does = pattern_matches(pattern, subject);

	pattern_free(pattern);
	return does;
}

/* ---- what it does ---- */

TEST(what_patterns_mean)
{
	CHECK(matches("b", 0, "abc") && !matches("d", 0, "abc") && !matches("B", 0, "abc") && matches("B", 1, "abc"));
	CHECK(matches("^a", 0, "abc") && !matches("^b", 0, "abc") && matches("c$", 0, "abc") &&
	      !matches("b$", 0, "abc"));
	CHECK(matches("^$", 0, "") && !matches("^$", 0, "a") && matches("$", 0, "a") && matches("a*", 0, "b"));
	CHECK(matches("a.c", 0, "a\nc") && !matches("a.c", 0, "ac") && matches("a\\.c", 0, "a.c") &&
	      !matches("a\\.c", 0, "abc"));
	CHECK(matches("^(ab|cd)+$", 0, "abcdab") && !matches("^(ab|cd)+$", 0, "abc"));
	CHECK(matches("^a(|b)c$", 0, "ac") && matches("^a()c$", 0, "ac") && matches("x|", 0, "y"));
	CHECK(matches("^\\w+\\W\\w\\s\\S$", 0, "a_9-b\tc") && !matches("^\\w$", 0, "-"));
	CHECK(matches("^[^]a-c]$", 0, "d") && !matches("^[^]a-c]$", 0, "]") && matches("^[]-]$", 0, "-"));
	CHECK(matches("^[[:digit:][:upper:]x]+$", 0, "7Ax") && matches("^[^[:space:]]$", 0, "\xff") &&
	      matches("[[:upper:]]", 1, "a"));
	CHECK(!matches("[^A]", 1, "a") && matches("^[X-Z]$", 1, "y") && matches("[\\]", 0, "\\"));
	CHECK(matches("a]b}", 0, "a]b}") && matches("\\(\\)\\[\\{\\|\\*\\+\\?\\^\\$\\\\\\/", 0, "()[{|*+?^$\\/"));
	CHECK(matches("^(\xc3\xa9)?\xc3\xa9+$", 0, "\xc3\xa9\xc3\xa9\xc3\xa9") &&
	      !matches("^\xc3\xa9+$", 0, "\xc3\xa9\xa9"));
}

#define CHECK_FAULT(text, want, where)                                                                  \
	do {                                                                                            \
		struct pattern_fault fault_;                                                            \
		struct pattern *pattern_;                                                               \
		CHECK_EQ(pattern_new(&pattern_, text, 0, &fault_), -MT_E_RULES);                        \
		CHECK_STR(pattern_fault_words(fault_.kind), pattern_fault_words(PATTERN_FAULT_##want)); \
		CHECK_EQ(fault_.at, where);                                                             \
		CHECK(!pattern_);                                                                       \
	} while (0)

TEST(what_is_refused_is_said_with_its_place)
{
	char long_one[PATTERN_MAX + 2];
	struct pattern_fault fault;
	struct pattern *pattern;

	CHECK_FAULT("ab(c(d)", GROUP, 2);
	CHECK_FAULT("ab)c", UNOPENED, 2);
	CHECK_FAULT("a[bc", BRACKET, 1);
	CHECK_FAULT("a[]", BRACKET, 1);
	CHECK_FAULT("[z-a]", RANGE, 1);
	CHECK_FAULT("[a-c-e]", RANGE, 4);
	CHECK_FAULT("[a-[:digit:]]", RANGE, 3);
	CHECK_FAULT("[[:digits:]]", CLASS, 1);
	CHECK_FAULT("[[:digit", CLASS, 1);
	CHECK_FAULT("+a", REPEAT, 0);
	CHECK_FAULT("a(*b)", REPEAT, 2);
	CHECK_FAULT("a|?b", REPEAT, 2);
	CHECK_FAULT("^*", REPEAT, 1);
	CHECK_FAULT("ab\\", BACKSLASH, 2);
	CHECK_FAULT("a{2,3}", COUNTED, 1);
	CHECK_FAULT("(a)\\1", ESCAPE, 3);
	CHECK_FAULT("\\<a", ESCAPE, 0);
	CHECK_FAULT("\\ba", ESCAPE, 0);
	CHECK_FAULT("a\\\xc3\xa9", ESCAPE, 1);
	CHECK_FAULT("[[.a.]]", COLLATING, 1);
	CHECK_FAULT("[[=a=]]", COLLATING, 1);
	CHECK_FAULT("[a\xc3\xa9]", FOREIGN, 2);
	memset(long_one, 'a', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = '\0';
	CHECK_EQ(pattern_new(&pattern, long_one, 0, &fault), -MT_E_LIMIT);
	CHECK(!pattern);
}

/* ---- what it costs ---- */

/* Bytes of a compiled pattern for each of its own, as pattern.h promises: a few numbers per byte, or a set for three. */
#define TIMES_MAX 25
#define BYTES_FIXED 512

static double seconds(void)
{
	struct timespec at;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static char *put(char *at, const char *text, size_t times)
{
	for (; times; times--)
		at = stpcpy(at, text);
	return at;
}

/* a, then `unit` as often as it fits, or a given number of `unit` around an a that are closed by `end`, and b. */
static void fill(char *text, const char *unit, const char *end)
{
	size_t times = (PATTERN_MAX - 3) / (strlen(unit) + strlen(end));

	text = put(text, "a", 1);
	text = put(text, unit, times);
	text = put(text, "a", *end != '\0');
	text = put(text, end, times);
	put(text, "b", 1);
}

TEST(no_pattern_is_expensive)
{
	static const char *const of[][2] = {
		{ "a+", "" },        { "+", "" },      { "(", ")*" },      { "(", "*)+" },   { "(", "|a)*" },
		{ "((", ")*|b?)+" }, { "(a|b)*", "" }, { ".*", "" },       { "(.*)*", "" },  { "a?", "" },
		{ "[^a]", "" },      { "[!-~]?", "" }, { "|", "" },        { "()", "" },     { "(|)*", "" },
		{ "^", "" },         { "$|", "" },     { "\\w*\\W*", "" }, { "(^|$)*", "" },
	};
	char text[PATTERN_MAX + 1], subject[4097];
	struct pattern *pattern;
	double start, took;
	size_t i;

	test_limit_memory(256 << 20);
	memset(subject, 'a', sizeof(subject) - 1); /* no b in it: nothing matches early */
	subject[sizeof(subject) - 1] = '\0';
	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		fill(text, of[i][0], of[i][1]);
		start = seconds();
		pattern = compile(text, 0);
		pattern_matches(pattern, subject);
		took = seconds() - start;
		printf("# %.12s..: %zu bytes take %zu, %.1f ms\n", text, strlen(text), pattern_bytes(pattern),
		       took * 1e3);
		CHECK(pattern_bytes(pattern) <= BYTES_FIXED + TIMES_MAX * strlen(text));
		CHECK(took < 5);
		pattern_free(pattern);
	}
}

/* ---- the same as regexec ---- */

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 16) % limit;
}

static void random_text(char *to, const char *letters, uint32_t most)
{
	uint32_t size = random_below(most), i;

	for (i = 0; i < size; i++)
		to[i] = letters[random_below((uint32_t)strlen(letters))];
	to[size] = 0;
}

struct pair {
	const char *text;
	struct pattern *ours;
	regex_t theirs;
};

static size_t compared, matched;

static void compare(const struct pair *pair, const char *subject)
{
	int ours = pattern_matches(pair->ours, subject), theirs = !regexec(&pair->theirs, subject, 0, NULL, 0);

	compared++;
	matched += ours != 0;
	if (ours != theirs)
		printf("# \"%s\" on \"%s\": %d, and regexec says %d\n", pair->text, subject, ours, theirs);
	CHECK_EQ(ours, theirs);
	if (theirs && pattern_literal(pair->ours))
		CHECK(strstr(subject, pattern_literal(pair->ours)) != NULL);
}

/* Words of the pattern with what its signs may stand for, so that many come near to a match. */
static void derive(const char *text, char *to, size_t size)
{
	static const char stands_for[] = "ax_9/. ";
	size_t at = 0;

	for (; *text && at + 2 < size; text++) {
		if (*text == '\\' && text[1])
			to[at++] = *++text == 'w' ? stands_for[random_below(4)] : *text;
		else if (*text == '|' && random_below(2))
			at = random_below((uint32_t)at + 1);
		else if (!strchr("()^$|?*+", *text))
			to[at++] = *text == '.' || random_below(40) == 0 ? stands_for[random_below(7)] : *text;
		else if (*text == '^' && random_below(8) == 0)
			to[at++] = '/';
	}
	to[at] = '\0';
	if (at && random_below(4) == 0)
		to[random_below((uint32_t)at)] ^= random_below(2) ? 0x20 : 1;
}

static char *cases; /* rules_cases.txt, cut into lines and words */
static size_t cases_size;

static void read_cases(void)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/unit/rules_cases.txt", getenv("SRC") ? getenv("SRC") : ".");
	file = fopen(path, "r");
	cases = calloc(1, 1 << 20);
	CHECK(file && cases);
	cases_size = fread(cases, 1, (1 << 20) - 1, file);
	CHECK(cases_size > 1000);
	fclose(file);
}

static void compare_cases(const struct pair *pair, const char *between)
{
	char copy[1024], *word, *rest;
	const char *line = cases, *end;

	for (; (end = strchr(line, '\n')); line = end + 1) {
		snprintf(copy, sizeof(copy), "%.*s", (int)(end - line), line);
		for (word = strtok_r(copy, between, &rest); word; word = strtok_r(NULL, between, &rest))
			compare(pair, word);
	}
}

static size_t shipped;

static void compare_shipped(const char *text, int fold)
{
	struct pair pair = { .text = text, .ours = compile(text, fold) };
	char subject[1024];
	int i;

	CHECK_EQ(regcomp(&pair.theirs, text, REG_EXTENDED | REG_NOSUB | (fold ? REG_ICASE : 0)), 0);
	compare_cases(&pair, fold ? "\n" : " \n");
	compare(&pair, "");
	for (i = 0; i < 300; i++) {
		derive(text, subject, sizeof(subject));
		compare(&pair, subject);
	}
	pattern_free(pair.ours);
	regfree(&pair.theirs);
	shipped++;
}

/* Is this key of a rule one of a pattern? -1: no. */
static int pattern_key(const char *word)
{
#define KEY(name, key) key,
	static const char *const keys[] = { RULE_PATTERN_LIST(KEY) };
#undef KEY
	int i;

	for (i = 0; i < RULE_PATTERNS; i++)
		if (!strcmp(keys[i], word))
			return i;
	return -1;
}

static void compare_file(const struct rules_builtin *file)
{
	yaml_parser_t parser;
	yaml_event_t event;
	int key = -1, ended = 0;
	const char *word;

	CHECK(yaml_parser_initialize(&parser));
	yaml_parser_set_input_string(&parser, (const unsigned char *)file->text, (size_t)(file->end - file->text));
	while (!ended) {
		CHECK(yaml_parser_parse(&parser, &event));
		ended = event.type == YAML_STREAM_END_EVENT;
		word = event.type == YAML_SCALAR_EVENT ? (const char *)event.data.scalar.value : "";
		if (*word && key >= 0) {
			compare_shipped(word, key == RULE_MARK);
			key = -1;
		} else if (*word) {
			key = pattern_key(word);
		}
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
}

TEST(shipped_patterns_match_as_with_regexec)
{
	const struct rules_builtin *builtin;
	size_t count, i;

	read_cases();
	builtin = rules_builtin(&count);
	for (i = 0; i < count; i++)
		compare_file(&builtin[i]);
	printf("# %zu patterns, %zu texts, %zu matches\n", shipped, compared, matched);
	CHECK(shipped > 280 && matched > 20000);
	free(cases);
}

/* Patterns that both refuse, that POSIX leaves open, and that are left out on purpose. 1: both can match. */
static int compile_both(struct pair *pair, int fold)
{
	struct pattern_fault fault = { 0 };
	int ours = pattern_new(&pair->ours, pair->text, fold, &fault);
	int theirs = regcomp(&pair->theirs, pair->text, REG_EXTENDED | REG_NOSUB | (fold ? REG_ICASE : 0));

	if (!ours && theirs)
		printf("# \"%s\" is refused by regcomp\n", pair->text);
	CHECK(ours || !theirs);
	if (ours && !theirs && !pattern_fault_is_choice(fault.kind) && fault.kind != PATTERN_FAULT_UNOPENED)
		printf("# \"%s\" is not refused by regcomp: %s\n", pair->text, pattern_fault_words(fault.kind));
	CHECK(!ours || theirs || pattern_fault_is_choice(fault.kind) || fault.kind == PATTERN_FAULT_UNOPENED);
	if (ours && !theirs)
		regfree(&pair->theirs);
	return !ours && !theirs;
}

static void compare_random(const char *signs, uint32_t most, const char *letters, int fold, int rounds)
{
	char text[32], subject[24];
	struct pair pair = { .text = text };
	int i, j;

	for (i = 0; i < rounds; i++) {
		random_text(text, signs, most);
		if (!*text || !compile_both(&pair, fold))
			continue;
		for (j = 0; j < 20; j++) {
			random_text(subject, letters, 14);
			compare(&pair, subject);
		}
		pattern_free(pair.ours);
		regfree(&pair.theirs);
	}
}

TEST(random_patterns_match_as_with_regexec)
{
	compare_random("aabb(|)*?+", 12, "aab", 0, 40000);
	compare_random("aabb(|)*?+[]^.\\$:", 12, "aabb()[:$", 0, 40000);
	compare_random("ab[[]]^--:c", 12, "abc-]^[:", 0, 40000);
	compare_random("aB(|)*?+[]^.$", 12, "aAbB", 1, 20000);
	compare_random("a\\\\wWsS.(|)*$^_-", 12, "a_ -.\t", 0, 20000);
	compare_random("ab^$(|)", 9, "ab", 0, 20000);
	compare_random("abcdabcd\\./(|)^$?", 20, "abcdabcd/.", 0, 20000);
	printf("# %zu texts, %zu matches\n", compared, matched);
	CHECK(compared > 500000 && matched > 100000);
}

/* ---- the text that must be there ---- */

TEST(literals_of_patterns)
{
	static const char *const of[][2] = {
		{ "(^|/)verl/workers/(a|b)_c\\.py$", "verl/workers/" },
		{ "^step$", "step" },
		{ "^(step|_step)$", NULL },
		{ "a|bcd", NULL },
		{ "ab*c", "a" },
		{ "abc?de", "ab" },
		{ "abc+de", "abc" },
		{ "x\\.y\\w+longer", "longer" },
		{ "[abc]x[]def]yz", "yz" },
		{ "[[:alpha:]x]+ab", "ab" },
		{ "((a|b)c[)]d)?xy", "xy" },
		{ "(ab)+", NULL },
		{ "^$", NULL },
		{ "a\\{b", "a{b" },
	};
	struct pattern *pattern;
	const char *got;
	size_t i;

	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		pattern = compile(of[i][0], 0);
		got = pattern_literal(pattern);
		if (!got != !of[i][1])
			printf("# literal of %s: %s\n", of[i][0], got ? got : "(none)");
		CHECK(!got == !of[i][1]);
		if (got)
			CHECK_STR(got, of[i][1]);
		pattern_free(pattern);
	}
}

TEST_MAIN()
