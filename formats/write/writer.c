/*
 * writer.c - writes a trace, streaming.
 *
 * Events wait in the encoder. A checkpoint before them waits in packed form. write_pending() joins all that waits,
 *
 *     DEFS (what is new) | CHECKPOINT (if due) | EVENTS | SUMMARIES (if steps ended)
 *
 * and appends it to the file. All of it counts as written, or nothing: after an error the file is cut back, and the
 * next call tries again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/copy.h"
#include "memtrace/base.h"
#include "memtrace/error.h"
#include "trace/chunk_list.h"
#include "trace/codec.h"
#include "trace/process.h"
#include "writer_impl.h"

#define DEFAULT_LEVEL 3
#define DEFAULT_CHUNK_EVENTS 65536u
#define DEFAULT_CHECKPOINT_EVENTS (1u << 20)
#define KEEP_CHUNK_EVENTS_MIN 1024u
#define KEEP_EVENT_BYTES 4u     /* rough size of an event in a file of many events */
#define KEEP_CHUNKS 64u         /* least number of chunks in a flight recorder's file */
#define KEEP_STRETCHES 16u      /* least number of checkpoints in it, ... */
#define KEEP_CHECKPOINT_PART 4u /* ... unless they take more than a fourth of the events' bytes */

/* Callback of the ledger: bytes changed hands. */
static void moved(void *context, uint32_t device, uint64_t tag, int slack, int64_t bytes)
{
	struct mt_writer *writer = context;

	writer->held += (uint64_t)bytes;
	if (writer->tally)
		tally_move(writer->tally, device, tag, slack, bytes);
}

void writer_free(struct mt_writer *writer)
{
	if (writer->fd >= 0)
		close(writer->fd);
	mt_packer_free(writer->packer);
	mt_chunk_list_release(&writer->list);
	mt_buffer_release(&writer->payload);
	mt_buffer_release(&writer->out);
	mt_buffer_release(&writer->checkpoint);
	mt_encoder_release(&writer->encoder);
	mt_defs_free(writer->defs);
	mt_ledger_free(writer->ledger);
	tally_free(writer->tally);
	history_release(&writer->records);
	history_release(&writer->told);
	keep_free(writer->keep);
	free(writer->path);
	free(writer);
}

/* Events of a chunk. A flight recorder drops whole chunks, so a small file gets small chunks. */
static uint32_t chunk_events_of(uint64_t keep)
{
	uint64_t events = keep / (KEEP_CHUNKS * KEEP_EVENT_BYTES);

	if (!keep || events > DEFAULT_CHUNK_EVENTS)
		return DEFAULT_CHUNK_EVENTS;
	return events < KEEP_CHUNK_EVENTS_MIN ? KEEP_CHUNK_EVENTS_MIN : (uint32_t)events;
}

static void set_options(struct mt_writer_options *options, const struct mt_writer_options *wanted)
{
	if (wanted)
		*options = *wanted;
	if (!options->level)
		options->level = DEFAULT_LEVEL;
	if (!options->chunk_events)
		options->chunk_events = chunk_events_of(options->keep);
	if (options->chunk_events > MT_CHUNK_EVENTS_MAX)
		options->chunk_events = MT_CHUNK_EVENTS_MAX;
	if (!options->checkpoint_events)
		options->checkpoint_events = DEFAULT_CHECKPOINT_EVENTS;
}

/* The extra needs of a flight recorder. 0 or -MT_E_MEMORY. */
static int start_keeping(struct mt_writer *writer, const char *path)
{
	if (!writer->options.keep)
		return 0;
	writer->path = strdup(path);
	writer->keep = keep_new(writer->options.keep);
	return writer->path && writer->keep ? 0 : -MT_E_MEMORY;
}

struct mt_writer *writer_new(const char *path, const struct mt_writer_options *options)
{
	struct mt_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->fd = -1;
	set_options(&writer->options, options);
	mt_encoder_init(&writer->encoder);
	mt_encoder_look_back(&writer->encoder);
	writer->packer = mt_packer_new(writer->options.level);
	writer->ledger = mt_ledger_new(moved, writer);
	writer->tally = tally_new();
	if (!writer->packer || !writer->ledger || !writer->tally || start_keeping(writer, path)) {
		writer_free(writer);
		return NULL;
	}
	return writer;
}

/* Appends `out` to the file, all of it or nothing. After an error errno is set. */
static int append_out(struct mt_writer *writer)
{
	size_t done = 0;
	ssize_t got;
	int saved;

	if (writer->out.error)
		return writer->out.error;
	while (done < writer->out.size) {
		got = pwrite(writer->fd, writer->out.data + done, writer->out.size - done, (off_t)(writer->end + done));
		if (got > 0) {
			done += (size_t)got;
		} else if (!got || errno != EINTR) {
			saved = got ? errno : ENOSPC;
			/* If this fails, a torn end stays: readers accept it, and the next attempt overwrites it. */
			(void)!ftruncate(writer->fd, (off_t)writer->end);
			errno = saved;
			return mt_write_error();
		}
	}
	writer->end += done;
	return 0;
}

/* Packs `payload` behind the content of `out` and lists the chunk. */
static int pack(struct mt_writer *writer, const struct mt_chunk_info *figures)
{
	struct mt_chunk_info info = *figures;
	size_t before = writer->out.size;
	int error = mt_packer_pack(writer->packer, &writer->payload, figures->events, &writer->out);

	info.offset = writer->end + before;
	info.size = writer->out.size - before;
	return error ? error : mt_chunk_list_add(&writer->list, &info);
}

static int pack_process(struct mt_writer *writer, const struct mt_process *process)
{
	struct mt_chunk_info info = { .kind = MT_CHUNK_PROCESS };

	mt_recognition_put(&writer->out);
	mt_process_encode(process, &writer->payload);
	return pack(writer, &info);
}

static int pack_defs(struct mt_writer *writer, uint32_t done[MT_DEF_END])
{
	struct mt_chunk_info info = { .kind = MT_CHUNK_DEFS };
	int error = 0;

	while (!error && mt_defs_encode(writer->defs, done, NULL, 0, &writer->payload))
		error = pack(writer, &info);
	return error;
}

static int add_checkpoint(struct mt_writer *writer)
{
	struct mt_chunk_info info = writer->checkpoint_info;

	if (!writer->checkpoint.size)
		return 0;
	info.offset = writer->end + writer->out.size;
	info.size = writer->checkpoint.size;
	mt_buffer_put(&writer->out, writer->checkpoint.data, writer->checkpoint.size);
	return writer->out.error ? writer->out.error : mt_chunk_list_add(&writer->list, &info);
}

static int pack_events(struct mt_writer *writer)
{
	struct mt_chunk_info info = writer->encoder.info;

	if (!info.events)
		return 0;
	info.kind = MT_CHUNK_EVENTS;
	mt_encoder_payload(&writer->encoder, MT_CHUNK_EVENTS, &writer->payload);
	return pack(writer, &info);
}

static int add_records(struct mt_writer *writer)
{
	struct mt_chunk_info info;
	int error;

	if (!writer_records_due(writer))
		return 0;
	error = writer_pack_records(writer, &info);
	return error ? error : mt_chunk_list_add(&writer->list, &info);
}

/* Writes all that waits. 0: nothing waits any more. */
static int write_pending(struct mt_writer *writer)
{
	uint32_t done[MT_DEF_END], listed = writer->list.count;
	int error;

	memcpy(done, writer->defs_done, sizeof(done));
	mt_buffer_clear(&writer->out);
	error = pack_defs(writer, done);
	if (!error)
		error = add_checkpoint(writer);
	if (!error)
		error = pack_events(writer);
	if (!error)
		error = add_records(writer);
	if (!error)
		error = append_out(writer);
	writer->error = error;
	if (error) {
		writer->list.count = listed;
		return error;
	}
	memcpy(writer->defs_done, done, sizeof(done));
	if (writer->encoder.info.events)
		writer_needs_all(writer);
	writer->since_checkpoint += writer->encoder.info.events;
	writer->sealed = 0;
	mt_encoder_clear(&writer->encoder);
	mt_buffer_clear(&writer->checkpoint);
	if (writer_records_due(writer))
		writer_records_written(writer);
	if (writer->keep)
		keep_written(writer->keep, writer->list.info, writer->list.count);
	return 0;
}

int mt_writer_open(struct mt_writer **out, const char *path, const struct mt_process *process,
		   const struct mt_writer_options *options)
{
	struct mt_writer *writer = writer_new(path, options);
	int error = 0;

	*out = NULL;
	if (!writer)
		return -MT_E_MEMORY;
	writer->encoder.defs = writer->defs = mt_defs_new();
	if (!writer->defs)
		error = -MT_E_MEMORY;
	if (!error) {
		writer->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		error = writer->fd < 0 ? mt_write_error() : pack_process(writer, process);
	}
	if (!error)
		error = append_out(writer);
	if (error) {
		writer_free(writer);
		return error;
	}
	writer_needs_all(writer);
	*out = writer;
	return 0;
}

struct mt_defs *mt_writer_defs(struct mt_writer *writer)
{
	return writer->defs;
}

uint64_t mt_writer_events(const struct mt_writer *writer)
{
	return writer->events;
}

uint64_t mt_writer_pending(const struct mt_writer *writer)
{
	return writer->encoder.info.events;
}

uint64_t mt_writer_held(const struct mt_writer *writer, uint32_t device)
{
	return mt_ledger_held(writer->ledger, device);
}

uint64_t mt_writer_bytes(const struct mt_writer *writer)
{
	return writer->end;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static int ids_defined(const struct mt_writer *writer, const struct mt_event *event, uint32_t fields)
{
	uint64_t text = mt_kind_has_second_name(event->kind) ? event->value : 0;

	return event->thread <= mt_defs_count(writer->defs, MT_DEF_THREAD) &&
	       (!(fields & MT_F(stack)) || event->stack <= mt_defs_count(writer->defs, MT_DEF_NODE)) &&
	       (!(fields & MT_F(device)) || event->device <= mt_defs_count(writer->defs, MT_DEF_DEVICE)) &&
	       (!(fields & MT_F(name)) || event->name <= mt_defs_count(writer->defs, MT_DEF_STRING)) &&
	       text <= mt_defs_count(writer->defs, MT_DEF_STRING);
}

/* 0: this event may come next; or an error. */
static int check_event(const struct mt_writer *writer, const struct mt_event *event)
{
	uint32_t fields = mt_kind_fields(event->kind);

	if (!fields || event->kind == MT_LIVE || event->kind == MT_CUT || event->seq <= writer->seq ||
	    !ids_defined(writer, event, fields))
		return -MT_E_ARGUMENT;
	return 0;
}

int writer_feed(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step, int *born)
{
	struct mt_ledger_change change;
	uint64_t tag = writer->tally ? tally_tag(writer->tally, event, phase, step) : 0;
	int error = mt_ledger_event(writer->ledger, event, tag, phase, step, &change);

	*born = !error && change.born != NULL;
	if (!error && writer->tally)
		tally_event(writer->tally, writer->ledger, event, &change, phase);
	return error;
}

/*
 * A flight recorder's file can only begin at a checkpoint. So each part of the file gets one, unless checkpoints get
 * too large.
 */
static int keep_wants_checkpoint(const struct mt_writer *writer)
{
	uint32_t i = writer->list.count;
	uint64_t bytes, size = 0, begin = writer->list.info[0].offset;

	while (i-- > 1 && writer->list.info[i].kind != MT_CHUNK_CHECKPOINT)
		;
	if (i) {
		size = writer->list.info[i].size;
		begin = writer->list.info[i].offset + size;
	}
	bytes = writer->end - begin;
	return bytes >= writer->options.keep / KEEP_STRETCHES && bytes >= size * KEEP_CHECKPOINT_PART;
}

static int checkpoint_due(const struct mt_writer *writer)
{
	if (writer->unsound)
		return 0;
	if (writer->skipped)
		return 1;
	if (!writer->since_checkpoint)
		return 0;
	return writer->since_checkpoint + writer->options.chunk_events > writer->options.checkpoint_events ||
	       (writer->keep && keep_wants_checkpoint(writer));
}

/* ---- checkpoints: the live set of a ledger as LIVE events (trace-v1.md, "CHECKPOINT") ---- */

struct live_list {
	const struct mt_live **live;
	size_t count, memories; /* the first `memories` are not tensors */
};

static int collect(void *context, const struct mt_live *live)
{
	struct live_list *list = context;

	list->live[list->count++] = live;
	if (live->kind != MT_TENSOR_ALLOC)
		list->memories = list->count;
	return 0;
}

static int older(const void *a, const void *b)
{
	const struct mt_live *one = *(const struct mt_live *const *)a, *two = *(const struct mt_live *const *)b;

	return (one->seq > two->seq) - (one->seq < two->seq);
}

static int encode_list(struct mt_encoder *encoder, const struct live_list *list, uint32_t *phases)
{
	struct mt_event event;
	size_t i;
	int error = 0;

	for (i = 0; i < list->count && !error; i++) {
		mt_live_event(list->live[i], &event);
		error = mt_encoder_add(encoder, &event);
		if (event.phase < 32)
			*phases |= 1u << event.phase;
	}
	return error;
}

/*
 * Makes the payload of a checkpoint. The caller has set seq, time and live bytes in *info, for the SUMMARY; events and
 * phases are filled in. 0, -MT_E_MEMORY, -MT_E_LIMIT: the live set is too large for a chunk.
 */
static int live_encode(const struct mt_ledger *ledger, const struct mt_defs *defs, struct mt_chunk_info *info,
		       struct mt_buffer *payload)
{
	struct live_list list = { 0 };
	struct mt_encoder encoder;
	int error;

	if (mt_ledger_count(ledger) > MT_CHUNK_EVENTS_MAX)
		return -MT_E_LIMIT;
	list.live = calloc(mt_ledger_count(ledger) + 1, sizeof(*list.live));
	if (!list.live)
		return -MT_E_MEMORY;
	mt_ledger_each(ledger, collect, &list);
	/* Memory keeps the ledger's order, in which it must be read. Tensors are sorted by birth, which packs best. */
	qsort(list.live + list.memories, list.count - list.memories, sizeof(*list.live), older);
	mt_encoder_init(&encoder);
	encoder.defs = defs;
	info->phases = 0;
	error = encode_list(&encoder, &list, &info->phases);
	info->events = encoder.info.events;
	encoder.info = *info;
	if (!error)
		mt_encoder_payload(&encoder, MT_CHUNK_CHECKPOINT, payload);
	mt_encoder_release(&encoder);
	free(list.live);
	return error ? error : payload->error;
}

/* Packs the current live set. A set that is too large for a chunk is left out (trace-v1.md). */
static int make_checkpoint(struct mt_writer *writer)
{
	struct mt_chunk_info *info = &writer->checkpoint_info;
	int error;

	mt_buffer_clear(&writer->checkpoint);
	*info = (struct mt_chunk_info){ .kind = MT_CHUNK_CHECKPOINT };
	info->first_seq = info->last_seq = writer->seq;
	info->first_time = info->last_time = writer->time;
	info->live_start = info->live_max = writer->held;
	error = live_encode(writer->ledger, writer->defs, info, &writer->payload);
	if (!error)
		error = mt_packer_pack(writer->packer, &writer->payload, info->events, &writer->checkpoint);
	if (error)
		mt_buffer_clear(&writer->checkpoint);
	if (error && error != -MT_E_LIMIT)
		return error;
	if (error && writer->skipped)
		writer->untold += mt_ledger_count(writer->ledger);
	writer->skipped = 0;
	writer->since_checkpoint = 0;
	if (writer->keep)
		keep_checkpoint(writer->keep);
	return 0;
}

/* Makes room for one more event in the encoder. */
static int make_way(struct mt_writer *writer)
{
	int error = mt_encoder_room(&writer->encoder);

	if (writer->sealed)
		error = write_pending(writer) ? -MT_E_LIMIT : 0;
	if (error == -MT_E_LIMIT && !writer->error && !write_pending(writer))
		error = mt_encoder_room(&writer->encoder);
	if (!error && !writer->encoder.info.events) {
		if (checkpoint_due(writer))
			error = make_checkpoint(writer);
		writer->encoder.info.live_start = writer->encoder.info.live_max = writer->held;
	}
	return error;
}

int mt_writer_event(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step)
{
	struct mt_chunk_info *info = &writer->encoder.info;
	int born, error = check_event(writer, event);

	mt_encoder_expect(&writer->encoder, event->addr);
	if (!error)
		error = make_way(writer);
	if (!error && writer->keep)
		error = keep_reserve(writer->keep, event);
	if (!error)
		error = writer_feed(writer, event, phase, step, &born);
	if (!error)
		error = mt_encoder_add(&writer->encoder, event);
	if (error)
		return error;
	if (writer->keep)
		keep_event(writer->keep, event);
	writer->events++;
	writer->seq = event->seq;
	writer->time = event->time;
	writer_summarise(writer, event);
	if (writer->held > info->live_max)
		info->live_max = writer->held;
	if (born && phase < 31)
		info->phases |= 1u << phase;
	if (event->kind == MT_CENSUS)
		info->phases |= MT_CHUNK_HAS_CENSUS;
	if (info->events < writer->options.chunk_events)
		return 0;
	if (info->events % writer->options.chunk_events) /* an overfull chunk is retried now and then */
		return writer->error;
	return write_pending(writer);
}

/* Adds an event to the live set alone. A checkpoint will show the change. */
static int leave_out(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step)
{
	int born, error = writer_feed(writer, event, phase, step, &born);

	writer->unsound |= error != 0;
	writer->seq = event->seq;
	writer->time = event->time;
	if (event->kind == MT_STEP)
		writer->step = (uint32_t)event->value;
	writer->skipped = !writer->unsound;
	if (writer->keep)
		keep_skip(writer->keep, event);
	return error;
}

int mt_writer_skip(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step)
{
	int error = check_event(writer, event);

	if (!error && writer->encoder.info.events) /* the next checkpoint comes behind these events */
		error = write_pending(writer);
	return error ? error : leave_out(writer, event, phase, step);
}

uint64_t mt_writer_untold(struct mt_writer *writer)
{
	uint64_t untold = writer->untold;

	writer->untold = 0;
	return untold;
}

int mt_writer_drop(struct mt_writer *writer, const struct mt_event *event, uint32_t phase, uint32_t step)
{
	int error = check_event(writer, event);

	if (error)
		return error;
	writer->sealed = writer->encoder.info.events > 0;
	return leave_out(writer, event, phase, step);
}

void mt_writer_trim(struct mt_writer *writer)
{
	if (writer->keep && writer_is_large(writer))
		writer_rotate(writer);
}

uint64_t mt_writer_cut(const struct mt_writer *writer)
{
	return writer->keep ? keep_cut(writer->keep) : 0;
}

int mt_writer_trim_error(const struct mt_writer *writer)
{
	return writer->keep ? writer->keep->error : 0;
}

static int defs_pending(const struct mt_writer *writer)
{
	int kind, pending = 0;

	for (kind = 1; kind < MT_DEF_END; kind++)
		pending |= writer->defs_done[kind] != mt_defs_told(writer->defs, (enum mt_def)kind);
	return pending;
}

int mt_writer_flush(struct mt_writer *writer)
{
	return writer->encoder.info.events || defs_pending(writer) ? write_pending(writer) : 0;
}

static int write_index(struct mt_writer *writer)
{
	mt_buffer_clear(&writer->out);
	mt_index_encode(writer->list.info, writer->list.count, &writer->out);
	return append_out(writer);
}

/* Facts only save time: a file without them is complete. */
static void write_facts(struct mt_writer *writer)
{
	const struct mt_chunk_info info = { .kind = MT_CHUNK_FACTS };
	uint32_t listed = writer->list.count;

	mt_buffer_clear(&writer->out);
	if (writer_facts_payload(writer) && (pack(writer, &info) || append_out(writer)))
		writer->list.count = listed;
}

void mt_writer_facts(struct mt_writer *writer, const struct mt_facts_maker *maker)
{
	writer->facts = maker;
}

/* Names of native functions are the last chunks. If they and the index do not fit, the index replaces them. */
static int write_index_alone(struct mt_writer *writer)
{
	if (ftruncate(writer->fd, (off_t)writer->needed_end))
		return mt_write_error();
	writer->end = writer->needed_end;
	writer->list.count = writer->needed;
	return write_index(writer);
}

int mt_writer_close(struct mt_writer *writer, int complete)
{
	int error;

	if (!writer)
		return 0;
	writer->closing = 1;
	error = writer_records_due(writer) ? write_pending(writer) : mt_writer_flush(writer);
	if (!error && complete && writer->facts)
		write_facts(writer);
	if (!error && complete)
		error = write_index(writer);
	if (error && complete && !writer->encoder.info.events)
		error = write_index_alone(writer);
	if (close(writer->fd) && !error)
		error = mt_write_error();
	writer->fd = -1;
	writer_free(writer);
	return error;
}
