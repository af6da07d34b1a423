#include "top_host.h"

#include <string.h>
#include "base/text.h"
#include "host_seen.h"

/* ---- adding up ---- */

static uint64_t room(const struct query_host *host)
{
	if (!host->cgroup_limit)
		return UINT64_MAX;
	return host->cgroup_limit > host->cgroup ? host->cgroup_limit - host->cgroup : 0;
}

/* Copies a word: words of a row live only as long as the row. */
static const char *keep_word(const char *word)
{
	static const char *const words[] = { "killed", "cgroup", "machine", "left" };
	size_t i;

	for (i = 0; i < MT_ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i]))
			return words[i];
	return "";
}

static int add(void *context, const struct query_host *row)
{
	struct host_sum *sum = context;
	struct query_host *all = &sum->all;

	if (!sum->processes++ || room(row) < room(all)) {
		all->cgroup = row->cgroup;
		all->cgroup_limit = row->cgroup_limit;
	}
	if (row->time >= all->time) {
		all->time = row->time;
		all->available = row->available;
	}
	if (row->killed > all->killed)
		all->killed = row->killed;
	all->resident += row->resident;
	all->pinned += row->pinned;
	all->most_resident += row->most_resident;
	all->most_pinned += row->most_pinned;
	if (!*all->pressure)
		all->pressure = keep_word(row->pressure);
	if (!*all->verdict)
		all->verdict = keep_word(row->verdict);
	return 0;
}

int host_sum(struct host_sum *sum, struct db *db)
{
	struct host_rise rise;
	int error;

	*sum = (struct host_sum){ .all = { .time = INT64_MIN, .pressure = "", .verdict = "" } };
	error = query_hosts(db, add, sum);
	if (!error)
		error = host_rose(&rise, db);
	if (!error) {
		sum->rose = rise.all;
		sum->own_rose = rise.own;
	}
	return error;
}

/* ---- words ---- */

#define PINNED_LEAST 4096 /* bytes: smaller sums do not count, because the driver pins whole pages */

/* Says "cgroup 30.0 GiB of 32.0 GiB, 90.0 GiB available", after `before`. Unknown numbers are left out. */
static void say_room(struct sentence *sentence, const char *before, const struct query_host *host)
{
	char use[TEXT_SIZE_MAX], limit[TEXT_SIZE_MAX], available[TEXT_SIZE_MAX];
	int is_known = host->cgroup || host->cgroup_limit;

	if (is_known)
		sentence_say(sentence, "%scgroup %s", before, text_bytes(use, host->cgroup));
	if (host->cgroup_limit)
		sentence_say(sentence, " of %s", text_bytes(limit, host->cgroup_limit));
	else if (is_known)
		sentence_say(sentence, " without a limit");
	if (host->available)
		sentence_say(sentence, "%s%s available", is_known ? ", " : before,
			     text_bytes(available, host->available));
}

#define OWN_SHARE 4 /* divisor: least share of the cgroup that is the processes' own; other ranks may not be recorded */

static int have_part(const struct host_sum *sum, uint64_t share)
{
	return sum->all.resident && sum->all.resident <= sum->all.cgroup &&
	       sum->all.resident >= sum->all.cgroup / share;
}

#define RISE_SHARE \
	8 /* divisor: least rise of the bytes in use, and least own part of a rise; many machines have eight ranks */

/* Whether memory in use rose, and the processes made much of the rise. Memory from before the run is then not the cause. */
static int host_sum_rose(const struct host_sum *sum)
{
	return sum->rose >= sum->all.cgroup / RISE_SHARE && sum->own_rose >= sum->rose / RISE_SHARE;
}

/* Whether a cgroup with a limit was filled during the run, and hardly by the recorded processes: their children may have filled it. */
static int host_sum_others_rose(const struct host_sum *sum)
{
	return sum->all.cgroup_limit && !have_part(sum, OWN_SHARE) && sum->rose >= sum->all.cgroup / 2 &&
	       sum->own_rose < sum->rose / RISE_SHARE;
}

/* Whether the processes own much of the memory in use, as far as known. */
static int is_theirs(const struct host_sum *sum)
{
	return have_part(sum, sum->processes > 1 ? OWN_SHARE : 2) || host_sum_rose(sum);
}

/* Says the processes' part of the memory in use, as far as cgroup and machine are known. */
static void say_share(struct sentence *sentence, const struct host_sum *sum)
{
	const struct query_host *all = &sum->all;
	char own[TEXT_SIZE_MAX], whole[TEXT_SIZE_MAX];

	if (!all->resident || all->resident > all->cgroup)
		return;
	sentence_say(sentence, " Of %s in use there, %s %s", text_bytes(whole, all->cgroup),
		     sum->processes == 1 ? "this process has" : "the processes recorded here have",
		     text_bytes(own, all->resident));
	if (host_sum_rose(sum) && !have_part(sum, OWN_SHARE)) {
		sentence_say(sentence,
			     "; the cgroup rose by %s since they began, and %s of the rise is theirs: the rest is of other "
			     "processes, perhaps of ranks that were not recorded.",
			     text_bytes(whole, sum->rose), text_bytes(own, sum->own_rose));
		return;
	}
	if (host_sum_others_rose(sum)) {
		sentence_say(sentence,
			     "; the cgroup rose by %s since %s began, and %s of the rise is %s own: the rest is of other processes there, such "
			     "as children of %s (workers of data loaders).",
			     text_bytes(whole, sum->rose), sum->processes == 1 ? "it" : "they",
			     text_bytes(own, sum->own_rose), sum->processes == 1 ? "its" : "their",
			     sum->processes == 1 ? "it" : "them");
		return;
	}
	sentence_say(sentence, !is_theirs(sum) ? ": other processes have most of it; look at them first."
			       : have_part(sum, 2)
				       ? "."
				       : "; the rest is of other processes, perhaps of ranks that were not recorded.");
}

#define USED_UP_MAX 64
#define FULL_SHARE 100 /* divisor: memory with less than 1/FULL_SHARE free is full */

/* Says the limit that was used up; if some memory was free, says the used part. */
static const char *used_up(char out[USED_UP_MAX], const struct query_host *row)
{
	int cgroup = !strcmp(row->pressure, "cgroup") && row->cgroup_limit;
	uint64_t all = cgroup ? row->cgroup_limit : row->cgroup + row->available;
	char share[TEXT_SIZE_MAX];

	if (row->cgroup >= all - all / FULL_SHARE)
		snprintf(out, USED_UP_MAX, "%s", cgroup ? "its cgroup was full" : "the machine's memory was used up");
	else
		snprintf(out, USED_UP_MAX, "%s of %s was in use", text_percent(share, row->cgroup, all),
			 cgroup ? "its cgroup's memory" : "the machine's memory");
	return out;
}

static void say_verdict(struct sentence *sentence, const struct query_host *row)
{
	char words[USED_UP_MAX];

	if (!strcmp(row->verdict, "killed"))
		sentence_say(sentence,
			     "This was not a GPU out-of-memory: the kernel killed for want of host memory, and pid %lld is "
			     "gone",
			     (long long)row->pid);
	else if (!strcmp(row->verdict, "left"))
		sentence_say(sentence,
			     "If this run did not end by itself, it was hardly a GPU out-of-memory: pid %lld exited "
			     "normally when %s, and the GPU had room; Ray ends workers from 95%% on, and others follow them",
			     (long long)row->pid, used_up(words, row));
	else
		sentence_say(sentence,
			     "This was hardly a GPU out-of-memory: pid %lld was gone without a normal exit, killed or "
			     "crashed, when %s, and the GPU had room",
			     (long long)row->pid, used_up(words, row));
}

struct verdicts {
	const struct text *text;
	struct db *db;
	const struct host_sum *sum;
	uint64_t said; /* number of processes with a verdict so far */
};

/* Says the verdict on one process; `is_first`: also the holders of the memory. */
static void say_row(struct sentence *sentence, const struct query_host *row, const struct host_sum *sum, int is_first)
{
	char resident[TEXT_SIZE_MAX], pinned[TEXT_SIZE_MAX];

	say_verdict(sentence, row);
	sentence_say(sentence, " (RSS %s", text_bytes(resident, row->resident));
	if (row->pinned >= PINNED_LEAST)
		sentence_say(sentence, ", pinned %s", text_bytes(pinned, row->pinned));
	say_room(sentence, ", ", row);
	sentence_say(sentence, ").");
	if (is_first)
		say_share(sentence, sum);
}

/* Prints the verdict on a process. Only the first process that exited normally gets a line. */
static int print_verdict(void *context, const struct query_host *row)
{
	struct verdicts *verdicts = context;
	struct sentence sentence = { .size = 0 };
	int error = 0;

	if (!*row->verdict || (!strcmp(row->verdict, "left") && verdicts->said))
		return 0;
	say_row(&sentence, row, verdicts->sum, !verdicts->said);
	if (!verdicts->said++ && is_theirs(verdicts->sum))
		error = host_seen_say(&sentence, verdicts->db);
	text_style(verdicts->text, TEXT_BAD);
	text_wrap(verdicts->text, 0, 0, sentence.text);
	text_style(verdicts->text, TEXT_PLAIN);
	text_print(verdicts->text, "\n");
	return error;
}

int top_host_verdicts(const struct text *text, struct db *db)
{
	struct host_sum sum;
	struct verdicts verdicts = { .text = text, .db = db, .sum = &sum };
	int error = host_sum(&sum, db);

	return error ? error : query_hosts(db, print_verdict, &verdicts);
}

static int say_briefly(void *context, const struct query_host *row)
{
	struct sentence *sentence = context;
	char words[USED_UP_MAX];

	if (!*row->verdict || sentence->size)
		return 0;
	if (!strcmp(row->verdict, "killed"))
		sentence_say(sentence,
			     "Out of host memory: the kernel killed a process of the cgroup, and pid %lld is gone.",
			     (long long)row->pid);
	else if (!strcmp(row->verdict, "left"))
		sentence_say(sentence,
			     "Perhaps out of host memory: pid %lld exited normally when %s. Ray ends workers from 95%% on.",
			     (long long)row->pid, used_up(words, row));
	else
		sentence_say(sentence, "Out of host memory: pid %lld was gone without a normal exit when %s.",
			     (long long)row->pid, used_up(words, row));
	return 0;
}

int top_host_say_briefly(struct sentence *sentence, struct db *db)
{
	return query_hosts(db, say_briefly, sentence);
}

void top_host_had_room(const struct text *text, const struct host_sum *sum)
{
	struct sentence sentence = { .size = 0 };

	if (!sum->processes || *sum->all.pressure || sum->all.killed ||
	    !(sum->all.cgroup || sum->all.cgroup_limit || sum->all.available))
		return;
	sentence_say(&sentence, "The host's memory was not short");
	say_room(&sentence, " (", &sum->all);
	sentence_say(&sentence, ").");
	text_wrap(text, 2, 0, sentence.text);
}

void top_host_line(const struct text *text, const struct host_sum *sum)
{
	struct sentence sentence = { .size = 0 };
	char resident[TEXT_SIZE_MAX], pinned[TEXT_SIZE_MAX], count[64];
	size_t used;

	if (!sum->processes)
		return;
	sentence_say(&sentence, "Host:");
	if (sum->all.most_resident)
		sentence_say(&sentence, " RSS %s", text_bytes(resident, sum->all.most_resident));
	if (sum->all.most_pinned >= PINNED_LEAST)
		sentence_say(&sentence, "%s pinned %s", sum->all.most_resident ? "," : "",
			     text_bytes(pinned, sum->all.most_pinned));
	if (sum->all.most_resident || sum->all.most_pinned >= PINNED_LEAST)
		sentence_say(&sentence, " at most");
	used = sentence.size;
	say_room(&sentence, used > strlen("Host:") ? "; " : " ", &sum->all);
	if (sentence.size > used)
		sentence_say(&sentence, " at the end");
	sentence_say(&sentence, "%s.", sentence.size > strlen("Host:") ? "" : " its memory is not known");
	if (sum->all.killed)
		sentence_say(&sentence, " The kernel killed %s of the cgroup for want of memory.",
			     text_count(count, sizeof(count), sum->all.killed, "process"));
	text_wrap(text, 0, 0, sentence.text);
}

void top_host_json(struct doc *doc, const struct query_host *row)
{
	doc_int(doc, "cgroup_bytes", (int64_t)row->cgroup);
	doc_int_or_null(doc, "cgroup_limit_bytes", (int64_t)row->cgroup_limit, row->cgroup_limit != 0);
	doc_int_or_null(doc, "available_bytes", (int64_t)row->available, row->available != 0);
	doc_int(doc, "killed", (int64_t)row->killed);
	doc_string(doc, "pressure", row->pressure);
	doc_string(doc, "verdict", row->verdict);
}
