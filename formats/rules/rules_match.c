#include "rules.h"

#include <stdio.h>
#include <string.h>

/* A longer text is matched by its end: the end of a path says most, and each byte takes time. */
#define RULE_TEXT_MAX 4096u

static const char *tail(const char *text)
{
	size_t size = strlen(text);

	return size > RULE_TEXT_MAX ? text + size - RULE_TEXT_MAX : text;
}

/* NULL: anything will do. */
static int fits(const struct pattern *pattern, const char *text)
{
	return !pattern || (*text && pattern_matches(pattern, text));
}

/* "Adam.step" is "step" to most people: both names may match. */
static int fits_function(const struct pattern *pattern, const char *function)
{
	const char *dot = strrchr(function, '.');

	return (dot && fits(pattern, dot + 1)) || fits(pattern, function);
}

int rule_fits(const struct rule *rule, const char *function, const char *file, const char *module)
{
	return !rule->pattern[RULE_MARK] && fits(rule->pattern[RULE_FILE], file) &&
	       fits(rule->pattern[RULE_MODULE], module) && fits_function(rule->pattern[RULE_FUNCTION], function);
}

/* For each saying the first rule decides; how a role counts belongs to the role. */
unsigned int rule_add(struct rule_match *match, const struct rule *rule)
{
	uint16_t fresh = rule->match.said & (uint16_t)~match->said;
	int i;

	if (match->said & 1u << RULE_SAYS_ROLE)
		fresh &= (uint16_t)~RULE_OF_ROLE;
	for (i = 0; i < RULE_SAYINGS; i++)
		if (fresh & 1u << i)
			match->value[i] = rule->match.value[i];
	match->said |= fresh;
	return fresh;
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
			if (rule_fits(&in->rule[i], function, file, module))
				rule_add(&match, &in->rule[i]);
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
			if (in->rule[i].pattern[RULE_MARK] && fits(in->rule[i].pattern[RULE_MARK], name))
				rule_add(&match, &in->rule[i]);
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

char *mt_rules_origin(const struct mt_rules *rules, const struct mt_defs *defs, uint32_t frame, char *text, size_t size)
{
	const unsigned int wanted[] = { 1u << RULE_SAYS_ROLE | 1u << RULE_SAYS_PART, 1u << RULE_SAYS_CATEGORY };
	const struct mt_frame *def = mt_defs_frame(defs, frame);
	const struct mt_module *module = def ? mt_defs_module(defs, def->module) : NULL;
	const struct rule_file *in;
	const struct rule *rule;
	size_t round, i;

	*text = '\0';
	for (round = 0; def && round < 2; round++) {
		for (in = rules->files; in; in = in->next) {
			for (i = 0; i < in->rules; i++) {
				rule = &in->rule[i];
				if (!(rule->match.said & wanted[round]) ||
				    !rule_fits(rule, tail(mt_defs_string(defs, def->function)),
					       tail(mt_defs_string(defs, def->file)),
					       module ? tail(mt_defs_string(defs, module->path)) : ""))
					continue;
				snprintf(text, size, "%s:%zu", in->name, rule->line);
				return text;
			}
		}
	}
	return text;
}
