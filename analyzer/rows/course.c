#include "course.h"

#include <stdlib.h>
#include <string.h>
#include "memtrace/base.h"
#include "memtrace/error.h"

#define LOOKED_AT 8u   /* earlier parts with equal moves that a new part is compared with, at most */
#define LOOKS_MOST 64u /* sites read for each move, on average, after the first LOOKS_FREE */
#define LOOKS_FREE (1u << 24)
#define MARKS 2u /* newest failed requests of the framework, and of the driver */

/* The bytes and allocations of a site. */
struct holding {
	uint32_t site;
	uint64_t bytes, count;
};

/* The moves of one step, or between two steps. */
struct part {
	uint64_t hash; /* hash of sites and phases */
	struct course_move *move;
	uint32_t moves;
	struct holding *begin; /* holdings before the first move, by site */
	uint32_t holdings;
	int64_t time; /* time of the newest move before the part */
};

/* A failed request. */
struct mark {
	uint32_t oom; /* number of the request, from 1; 0: none */
	int64_t time;
	const struct course_move *part; /* moves of the part in which the request failed; NULL: the open part */
	uint32_t at;                    /* number of moves of that part before the request */
};

struct sums {
	uint64_t bytes, count; /* both wrap in a hostile trace */
};

struct of_device {
	struct part *part; /* kept parts, by time */
	uint32_t parts, part_room;
	struct course_move *open; /* moves after the newest kept part */
	uint32_t opens, open_room;
	uint32_t first;        /* index of the first open move of the newest change */
	struct holding *begin; /* holdings before the open part */
	uint32_t holdings;
	int64_t time;     /* time of the newest move in a closed part */
	struct sums *now; /* by site, at the begin of the open part */
	uint32_t sites;
	uint64_t event; /* course.event at the newest move */
	struct mark mark[MARKS];
};

struct span {
	int64_t time;
	uint8_t phase;
};

struct course {
	const struct analysis *analysis;
	int none; /* 1: there is no course */
	struct of_device *device;
	uint32_t devices;
	struct span *span; /* the span in which the open parts begin, and the spans after it */
	uint32_t spans, span_room;
	uint32_t step;         /* step of the newest span */
	uint64_t event;        /* number of events with moves, so far */
	uint64_t room;         /* number of kept moves and holdings */
	uint64_t moves, looks; /* moves so far; sites whose holdings were read so far */
	int64_t newest;        /* time of the newest move */
	struct sums *now;      /* by site: holdings of a part, or differences of two parts; zero between calls */
	uint32_t sites;
	uint32_t *place; /* by site: index of the site's newest open move on its device; may be out of date */
	uint32_t places;
};

static void release_part(struct course *course, struct part *part)
{
	course->room -= part->moves + part->holdings;
	free(part->move);
	free(part->begin);
}

static void give_up(struct course *course)
{
	struct of_device *of;
	uint32_t i;

	for (of = course->device; of < course->device + course->devices; of++) {
		for (i = 0; i < of->parts; i++)
			release_part(course, &of->part[i]);
		free(of->part);
		free(of->open);
		free(of->begin);
		free(of->now);
	}
	free(course->device);
	free(course->span);
	free(course->now);
	free(course->place);
	*course = (struct course){ .analysis = course->analysis, .none = 1 };
}

struct course *course_new(const struct analysis *analysis)
{
	struct course *course = calloc(1, sizeof(*course));

	if (course)
		*course = (struct course){ .analysis = analysis, .newest = INT64_MIN };
	return course;
}

void course_free(struct course *course)
{
	if (course)
		give_up(course);
	free(course);
}

/* Makes room for one more element of an array. 0; else the course is given up. */
static int make_room(struct course *course, void *array, uint32_t count, uint32_t *room, size_t size)
{
	uint32_t wanted = *room ? *room * 2 : 64;
	void *grown;

	if (count < *room)
		return 0;
	grown = count < COURSE_MOST ? realloc(*(void **)array, wanted * size) : NULL;
	if (!grown) {
		give_up(course);
		return -1;
	}
	*(void **)array = grown;
	*room = wanted;
	return 0;
}

/* Adds zeroed entries up to the site's own. 0; else the course is given up. */
static int make_sums(struct course *course, struct sums **sums, uint32_t *sites, uint32_t most)
{
	struct sums *grown = *sites < most ? realloc(*sums, most * sizeof(*grown)) : *sums;

	if (!grown && most) {
		give_up(course);
		return -1;
	}
	if (*sites < most)
		memset(grown + *sites, 0, (most - *sites) * sizeof(*grown));
	*sums = grown;
	*sites = *sites < most ? most : *sites;
	return 0;
}

/* ---- moves ---- */

static struct of_device *device_at(struct course *course, uint32_t device)
{
	struct of_device *grown;

	if (device < course->devices)
		return &course->device[device];
	grown = realloc(course->device, ((size_t)device + 1) * sizeof(*grown));
	if (!grown) {
		give_up(course);
		return NULL;
	}
	memset(grown + course->devices, 0, (device + 1 - course->devices) * sizeof(*grown));
	course->device = grown;
	course->devices = device + 1;
	return &grown[device];
}

/* Returns the site's entry of course->place. NULL: the course was given up. */
static uint32_t *place_of(struct course *course, uint32_t site)
{
	uint32_t most = site < 32 ? 64 : site < UINT32_MAX / 2 ? site * 2 : UINT32_MAX;
	uint32_t *grown;

	if (site < course->places)
		return &course->place[site];
	grown = realloc(course->place, most * sizeof(*grown));
	if (!grown) {
		give_up(course);
		return NULL;
	}
	memset(grown + course->places, 0, (most - course->places) * sizeof(*grown));
	course->place = grown;
	course->places = most;
	return &course->place[site];
}

/* Returns the site's move in the running change, or NULL. */
static struct course_move *find_move(struct of_device *of, uint32_t site, uint32_t place)
{
	return place >= of->first && place < of->opens && of->open[place].site == site ? &of->open[place] : NULL;
}

/* Adds a move. All moves of one event form one change. */
static void add(struct course *course, const struct course_move *one)
{
	struct of_device *of = device_at(course, course->analysis->attribution.site[one->site].key.device);
	int goes_on = of && of->opens && of->event == course->event;
	uint32_t *place = of ? place_of(course, one->site) : NULL;
	struct course_move *move = place && goes_on ? find_move(of, one->site, *place) : NULL;

	if (move) {
		move->bytes = (int64_t)((uint64_t)move->bytes + (uint64_t)one->bytes);
		move->count = (int32_t)((uint32_t)move->count + (uint32_t)one->count);
		return;
	}
	if (!place || make_room(course, &of->open, of->opens, &of->open_room, sizeof(*of->open)))
		return;
	course->newest = one->time > course->newest ? one->time : course->newest;
	if (goes_on)
		of->open[of->opens - 1].more = 1;
	else
		of->first = of->opens;
	of->event = course->event;
	course->moves++;
	*place = of->opens;
	move = &of->open[of->opens++];
	*move = *one;
	move->time = course->newest;
	move->more = 0;
}

void course_changed(struct course *course, int goes_on, const struct course_move *move, uint32_t moves)
{
	const struct course_move *end = move + moves;

	for (; move < end && !course->none; goes_on = (move++)->more) {
		course->event += !goes_on;
		if (!move->slack)
			add(course, move);
	}
}

void course_reached(struct course *course, uint32_t device, int oom)
{
	const struct analysis *analysis = course->analysis;
	const struct analysis_oom *failed;
	struct of_device *of;
	struct mark *mark;

	if (!oom || course->none)
		return;
	failed = &analysis->oom[analysis->ooms - 1];
	of = device_at(course, device);
	mark = of ? &of->mark[failed->kind == MT_TENSOR_OOM] : NULL;
	if (mark && mark->oom != analysis->ooms) /* a failed request that the analysis has counted but not stored */
		*mark = (struct mark){ .oom = analysis->ooms, .time = failed->time, .at = of->opens };
}

/* ---- parts ---- */

/* Returns the phase at a time by the rule of memana advise: the newest span that began before. */
static uint8_t phase_at(const struct course *course, int64_t time, uint32_t *at)
{
	if (!course->spans)
		return MT_PHASE_OTHER;
	while (*at + 1 < course->spans && course->span[*at + 1].time <= time)
		(*at)++;
	return course->span[*at].phase;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct course *course, const struct course_move *move, uint32_t moves)
{
	uint64_t hash = moves;
	uint32_t span = 0, i;

	for (i = 0; i < moves; i++)
		hash = mix(hash,
			   (uint64_t)move[i].site << 8 | (move[i].more ? 255u : phase_at(course, move[i].time, &span)));
	return hash;
}

/* Adds the holdings to the sums; sign -1 subtracts. */
static void hold(struct sums *sums, const struct holding *holding, uint32_t holdings, int sign)
{
	uint32_t i;

	for (i = 0; i < holdings; i++) {
		sums[holding[i].site].bytes += sign < 0 ? 0 - holding[i].bytes : holding[i].bytes;
		sums[holding[i].site].count += sign < 0 ? 0 - holding[i].count : holding[i].count;
	}
}

static void apply(struct sums *sums, const struct course_move *move)
{
	sums[move->site].bytes += (uint64_t)move->bytes;
	sums[move->site].count += (uint64_t)(int64_t)move->count;
}

enum { HOLDS_LESS = 1, HOLDS_MORE = 2 }; /* bits: the first part holds more at no site; holds less at no site */

/* `more`: bytes of the first part at a site, minus bytes of the second part. */
static int compare_site(const struct sums *more)
{
	int64_t bytes = (int64_t)more->bytes, count = (int64_t)more->count;

	return (bytes <= 0 && count <= 0 ? HOLDS_LESS : 0) | (bytes >= 0 && count >= 0 ? HOLDS_MORE : 0);
}

/* Equal moves at one site change no difference of the two parts, and most moves are equal. */
static int compare_moves(struct sums *more, const struct course_move *one, const struct course_move *other,
			 uint32_t moves, int holds)
{
	uint32_t i;

	for (i = 0; i < moves && holds; i++) {
		if (one[i].site != other[i].site)
			return 0;
		if (one[i].bytes == other[i].bytes && one[i].count == other[i].count)
			continue;
		more[one[i].site].bytes += (uint64_t)one[i].bytes - (uint64_t)other[i].bytes;
		more[one[i].site].count += (uint64_t)one[i].count - (uint64_t)other[i].count;
		holds &= compare_site(&more[one[i].site]);
	}
	return holds;
}

/* Sets the sums to zero for the sites that a part holds or moves. */
static void forget(struct sums *more, const struct part *part, uint32_t moves)
{
	uint32_t i;

	for (i = 0; i < part->holdings; i++)
		more[part->begin[i].site] = (struct sums){ 0 };
	for (i = 0; i < moves; i++)
		more[part->move[i].site] = (struct sums){ 0 };
}

/* Compares two parts of one hash after each move. Returns bits HOLDS_LESS and HOLDS_MORE. */
static int compare(struct course *course, const struct part *one, const struct part *other)
{
	struct sums *more = course->now;
	int holds = HOLDS_LESS | HOLDS_MORE;
	uint32_t i;

	hold(more, one->begin, one->holdings, 1);
	hold(more, other->begin, other->holdings, -1);
	for (i = 0; i < one->holdings && holds; i++)
		holds &= compare_site(&more[one->begin[i].site]);
	for (i = 0; i < other->holdings && holds; i++)
		holds &= compare_site(&more[other->begin[i].site]);
	holds = compare_moves(more, one->move, other->move, one->moves, holds);
	forget(more, one, one->moves);
	forget(more, other, 0);
	return holds;
}

static int is_marked(const struct of_device *of, const struct part *part)
{
	uint32_t i;

	for (i = 0; i < MARKS; i++)
		if (of->mark[i].oom && of->mark[i].part == part->move)
			return 1;
	return 0;
}

static void drop(struct course *course, struct of_device *of, uint32_t at)
{
	release_part(course, &of->part[at]);
	memmove(&of->part[at], &of->part[at + 1], (--of->parts - at) * sizeof(*of->part));
}

/* Drops each older part that never holds more than the new part. Returns 1 if the new part never holds more than an older part. */
static int is_covered(struct course *course, struct of_device *of, const struct part *part)
{
	uint32_t i, looked = 0;
	int holds;

	for (i = of->parts; i-- && looked < LOOKED_AT;) {
		if (of->part[i].hash != part->hash || of->part[i].moves != part->moves)
			continue;
		looked++;
		holds = compare(course, part, &of->part[i]);
		if (holds & HOLDS_LESS && !is_marked(of, part))
			return 1;
		if (holds & HOLDS_MORE && !is_marked(of, &of->part[i]))
			drop(course, of, i);
	}
	return 0;
}

/* Returns a copy of the holdings before the open part. */
static struct holding *take_holdings(const struct of_device *of, uint32_t *holdings)
{
	struct holding *begin;
	uint32_t i;

	for (*holdings = i = 0; i < of->sites; i++)
		*holdings += of->now[i].bytes || of->now[i].count;
	begin = malloc((*holdings + 1) * sizeof(*begin));
	for (*holdings = i = 0; begin && i < of->sites; i++)
		if (of->now[i].bytes || of->now[i].count)
			begin[(*holdings)++] = (struct holding){ i, of->now[i].bytes, of->now[i].count };
	return begin;
}

/* Moves the first `moves` open moves into the part. 0; else the course is given up. */
static int cut(struct course *course, struct of_device *of, struct part *part, uint32_t moves)
{
	uint32_t holdings, i;
	struct holding *begin = take_holdings(of, &holdings);

	*part = (struct part){ .moves = moves,
			       .time = of->time,
			       .hash = hash_of(course, of->open, moves),
			       .move = malloc(moves * sizeof(*part->move)),
			       .begin = begin,
			       .holdings = holdings };
	if (!part->move || !part->begin) {
		free(part->move);
		free(part->begin);
		give_up(course);
		return -1;
	}
	memcpy(part->move, of->open, moves * sizeof(*part->move));
	of->opens -= moves;
	memmove(of->open, of->open + moves, of->opens * sizeof(*of->open));
	of->first = of->first > moves ? of->first - moves : 0;
	for (i = of->first; i < of->opens; i++)
		course->place[of->open[i].site] = i;
	for (i = 0; i < moves; i++)
		apply(of->now, &part->move[i]);
	of->time = part->move[moves - 1].time;
	for (i = 0; i < MARKS; i++)
		if (of->mark[i].oom && !of->mark[i].part && of->mark[i].at < moves)
			of->mark[i].part = part->move;
		else if (of->mark[i].oom && !of->mark[i].part)
			of->mark[i].at -= moves;
	course->room += part->moves + part->holdings;
	return 0;
}

/* Closes the open part of the device before `time`. All spans up to `time` are known. */
static void close_part(struct course *course, uint32_t device, int64_t time)
{
	struct of_device *of = &course->device[device];
	uint32_t moves = of->opens, sites = course->analysis->attribution.sites;
	struct part part;

	while (moves && of->open[moves - 1].time >= time)
		moves--;
	if (!moves || make_sums(course, &of->now, &of->sites, sites) ||
	    make_sums(course, &course->now, &course->sites, sites) || cut(course, of, &part, moves))
		return;
	if (is_covered(course, of, &part)) {
		release_part(course, &part);
		return;
	}
	course->looks += of->sites;
	if (course->room > COURSE_MOST || course->looks > LOOKS_MOST * course->moves + LOOKS_FREE ||
	    make_room(course, &of->part, of->parts, &of->part_room, sizeof(part))) {
		release_part(course, &part);
		give_up(course);
		return;
	}
	of->part[of->parts++] = part;
}

static void close_parts(struct course *course, int64_t time)
{
	uint32_t i;

	for (i = 0; i < course->devices; i++)
		close_part(course, i, time);
}

void course_span(struct course *course, uint8_t phase, uint32_t step, const struct mt_event *first)
{
	int64_t time = analysis_time(&course->analysis->process[0], first->time);

	if (course->none)
		return;
	if (course->spans && step != course->step) {
		close_parts(course, time);
		if (course->none)
			return;
		course->span[0] = course->span[course->spans - 1];
		course->spans = 1;
	}
	if (make_room(course, &course->span, course->spans, &course->span_room, sizeof(*course->span)))
		return;
	course->span[course->spans++] = (struct span){ time, phase };
	course->step = step;
}

/* ---- at the end ---- */

static void put_right(struct sums *now, uint32_t site, int64_t time, struct course_moves *moves)
{
	struct sums *is = &now[site];

	if (is->bytes || is->count)
		moves->move[moves->moves++] = (struct course_move){ .time = time,
								    .site = site,
								    .more = 1,
								    .bytes = (int64_t)(0 - is->bytes),
								    .count = (int32_t)(0 - is->count) };
	*is = (struct sums){ 0 };
}

/* Adds the change from the end of part `from` (NULL: an empty device) to the begin of `part`. */
static void go_to(struct course *course, const struct part *from, const struct part *part, struct course_moves *moves)
{
	uint32_t first = moves->moves, i;
	struct sums *now = course->now;

	hold(now, part->begin, part->holdings, -1); /* now: holdings that `part` does not have */
	for (i = 0; from && i < from->holdings; i++)
		put_right(now, from->begin[i].site, part->time, moves);
	for (i = 0; from && i < from->moves; i++)
		put_right(now, from->move[i].site, part->time, moves);
	for (i = 0; i < part->holdings; i++)
		put_right(now, part->begin[i].site, part->time, moves);
	if (moves->moves > first)
		moves->move[moves->moves - 1].more = 0;
	hold(now, part->begin, part->holdings, 1);
}

static void count_changes(struct course_moves *moves, const struct mark *mark, uint32_t end)
{
	uint32_t i;

	moves->oom = mark->oom;
	for (i = 0; i < end; i++)
		moves->changes += moves->move[i].time == mark->time && !moves->move[i].more;
}

static void take_part(struct course *course, const struct of_device *of, const struct part *part, uint32_t oom,
		      struct course_moves *moves)
{
	const struct mark *mark;
	uint32_t i;

	go_to(course, part > of->part ? part - 1 : NULL, part, moves);
	for (mark = of->mark; mark < of->mark + MARKS; mark++)
		if (oom && mark->oom == oom && mark->part == part->move) {
			memcpy(moves->move + moves->moves, part->move, mark->at * sizeof(*part->move));
			count_changes(moves, mark, moves->moves + mark->at);
		}
	for (i = 0; i < part->moves; i++) {
		apply(course->now, &part->move[i]);
		moves->move[moves->moves++] = part->move[i];
	}
}

/* Sets the moment of a request that failed after the last move: no part contains the request. */
static void take_last_mark(const struct of_device *of, uint32_t oom, struct course_moves *moves)
{
	const struct mark *mark;

	for (mark = of->mark; mark < of->mark + MARKS; mark++)
		if (oom && mark->oom == oom && !mark->part)
			count_changes(moves, mark, moves->moves);
}

int course_find(struct course *course, uint32_t device, uint32_t oom, struct course_moves *moves)
{
	struct of_device *of;
	uint64_t most = 0;
	uint32_t i;

	*moves = (struct course_moves){ 0 };
	if (!course->none)
		close_parts(course, INT64_MAX);
	if (course->none || device >= course->devices)
		return 0;
	of = &course->device[device];
	for (i = 0; i < of->parts; i++)
		most += 2 * ((uint64_t)of->part[i].moves + of->part[i].holdings);
	moves->move = malloc((most + 1) * sizeof(*moves->move));
	if (!moves->move)
		return -MT_E_MEMORY;
	for (i = 0; i < of->parts; i++)
		take_part(course, of, &of->part[i], oom, moves);
	take_last_mark(of, oom, moves);
	if (oom && moves->oom != oom)
		moves->moves = 0;
	return 0;
}
