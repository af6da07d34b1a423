#include "rules.h"

#include <string.h>

/* Longer texts are matched by their end: a path says most there, and matching costs time with length. */
#define RULE_TEXT_MAX 4096u

static const char *tail(const char *text)
{
	size_t size = strlen(text);

	return size > RULE_TEXT_MAX ? text + size - RULE_TEXT_MAX : text;
}

static int fits(const struct rule *rule, enum rule_pattern pattern, const char *text)
{
	return *text && !regexec(&rule->pattern[pattern], text, 0, NULL, 0);
}

/* "Adam.step" is "step" to most people: both names may match. */
static int fits_function(const struct rule *rule, const char *function)
{
	const char *dot = strrchr(function, '.');

	return (dot && fits(rule, RULE_FUNCTION, dot + 1)) || fits(rule, RULE_FUNCTION, function);
}

static int fits_frame(const struct rule *rule, const char *function, const char *file, const char *module)
{
	if (rule->given & 1u << RULE_MARK)
		return 0;
	if (rule->given & 1u << RULE_FILE && !fits(rule, RULE_FILE, file))
		return 0;
	if (rule->given & 1u << RULE_MODULE && !fits(rule, RULE_MODULE, module))
		return 0;
	return !(rule->given & 1u << RULE_FUNCTION) || fits_function(rule, function);
}

/* Of each saying the first rule decides; which way a role counts (outer) belongs to the role. */
static void take(struct rule_match *match, const struct rule_match *from)
{
	uint8_t fresh = from->said & ~match->said;
	int i;

	if (match->said & 1u << RULE_SAYS_ROLE)
		fresh &= ~(1u << RULE_SAYS_OUTER);
	for (i = 0; i < RULE_SAYINGS; i++)
		if (fresh & 1u << i)
			match->value[i] = from->value[i];
	match->said |= fresh;
}

struct rule_match rules_match_frame(const struct mt_rules *rules, const char *function, const char *file,
				    const char *module)
{
	const struct rule_file *in;
	struct rule_match match = { 0 };
	size_t i;

	function = tail(function);
	file = tail(file);
	module = tail(module);
	for (in = rules->files; in; in = in->next)
		for (i = 0; i < in->rules; i++)
			if (fits_frame(&in->rule[i], function, file, module))
				take(&match, &in->rule[i].match);
	return match;
}

struct rule_match rules_match_mark(const struct mt_rules *rules, const char *name)
{
	const struct rule_file *in;
	struct rule_match match = { 0 };
	size_t i;

	name = tail(name);
	for (in = rules->files; in; in = in->next)
		for (i = 0; i < in->rules; i++)
			if (in->rule[i].given & 1u << RULE_MARK && fits(&in->rule[i], RULE_MARK, name))
				take(&match, &in->rule[i].match);
	return match;
}

enum mt_category mt_rules_category(const struct mt_rules *rules, enum mt_role role, enum mt_part part)
{
	const struct rule_file *in;

	for (in = rules->files; in; in = in->next)
		if (in->part_category[part] >= 0)
			return (enum mt_category)in->part_category[part];
	for (in = rules->files; in; in = in->next)
		if (in->role_category[role] >= 0)
			return (enum mt_category)in->role_category[role];
	return MT_CATEGORY_OTHER;
}
