/*
 * bench_format.c - what an event costs in the file and in time. Prints, never judges.
 *
 *     bench_format [MILLION_EVENTS [FILE [RANK [LAYERS [PASSES]]]]]
 *
 * The stream is like that of a PyTorch training: steps of layers that allocate in forward, keep some, free the rest,
 * and free everything in backward; activations as long as the step's sequences; a caching allocator that hands out the
 * newest free block that fits; times that never repeat; Python stacks 24 deep. One thread forward, another backward.
 * With LAYERS (1 to 40; 0: one operation of one layer) each pass keeps a tensor for good; a step is over after PASSES
 * passes, 0 (as without): never.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "memtrace/reader.h"
#include "memtrace/writer.h"
#include "trace/chunk.h"
#include "trace/codec.h"

#define LAYERS 40
#define OPERATIONS 28 /* allocations of one layer in one direction */
#define SIZES 12
#define DEPTH 24
#define PARTS 16 /* the columns are timed in as many pieces of CHUNK events as the first part of the stream has */
#define CHUNK 65536u

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_below(uint64_t bound)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % bound;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void die(const char *what, int error)
{
	fprintf(stderr, "bench_format: %s: %s\n", what, mt_strerror(error));
	exit(4);
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

/* Free blocks of one size, newest last. */
struct bin {
	uint64_t block[LAYERS * OPERATIONS * 2];
	size_t count;
};

struct stream {
	struct mt_event *events;
	size_t count, room;
	uint64_t seq, time, total, reserved, next_addr;
	uint64_t sequence; /* bytes that this step adds to activations */
	int layers, operations, keeps;
	uint64_t passes, passed; /* passes of a step */
	uint64_t step;
	uint32_t step_name;
	struct bin bin[SIZES];
	uint32_t forward[OPERATIONS], backward[OPERATIONS]; /* stacks */
};

#define FIRST_ACTIVATION 4
#define SEQUENCE_MAX (256u << 10)

static const uint64_t sizes[SIZES] = { 512,     2048,     16384,    65536,    1 << 20,  3 << 20,
				       4 << 20, 11 << 20, 16 << 20, 24 << 20, 44 << 20, 128 << 20 };

static uint64_t bytes_of(const struct stream *stream, int size)
{
	return sizes[size] + (size < FIRST_ACTIVATION ? 0 : stream->sequence);
}

static void emit(struct stream *stream, uint32_t kind, uint64_t addr, int size, uint32_t stack, uint32_t thread)
{
	struct mt_event *event;

	if (stream->count == stream->room)
		return;
	stream->time += 1500 + random_below(400) + (random_below(16) ? 0 : random_below(30000));
	stream->total += kind == MT_TENSOR_ALLOC ? bytes_of(stream, size) : 0 - bytes_of(stream, size);
	event = &stream->events[stream->count++];
	*event = (struct mt_event){ .kind = kind,
				    .seq = ++stream->seq << 6,
				    .time = stream->time,
				    .thread = thread,
				    .stack = stack,
				    .device = 1,
				    .addr = addr,
				    .size = bytes_of(stream, size),
				    .total = stream->total,
				    .reserved = stream->reserved };
}

static uint64_t allocate(struct stream *stream, int size, uint32_t stack, uint32_t thread)
{
	struct bin *bin = &stream->bin[size];
	uint64_t addr;

	if (bin->count) {
		addr = bin->block[--bin->count];
	} else {
		addr = stream->next_addr;
		stream->next_addr += sizes[size] + SEQUENCE_MAX;
		stream->reserved += sizes[size] + SEQUENCE_MAX;
	}
	emit(stream, MT_TENSOR_ALLOC, addr, size, stack, thread);
	return addr;
}

static void give_back(struct stream *stream, uint64_t addr, int size, uint32_t stack, uint32_t thread)
{
	struct bin *bin = &stream->bin[size];

	emit(stream, MT_TENSOR_FREE, addr, size, stack, thread);
	bin->block[bin->count++] = addr;
}

static int size_of(int operation)
{
	return operation * 5 % SIZES;
}

/* The mark that ends a step. */
static void end_step(struct stream *stream)
{
	if (stream->count == stream->room || !stream->passes || ++stream->passed % stream->passes)
		return;
	stream->time += 1500;
	stream->events[stream->count++] = (struct mt_event){ .kind = MT_STEP,
							     .seq = ++stream->seq << 6,
							     .thread = 1,
							     .time = stream->time,
							     .value = ++stream->step,
							     .name = stream->step_name };
}

static void make_pass(struct stream *stream)
{
	static uint64_t kept[LAYERS][OPERATIONS];
	uint64_t addr;
	int layer, i;

	stream->sequence = random_below(SEQUENCE_MAX / 512) * 512;
	if (stream->keeps)
		allocate(stream, FIRST_ACTIVATION, stream->forward[0], 1);
	for (layer = 0; layer < stream->layers; layer++)
		for (i = 0; i < stream->operations; i++) {
			kept[layer][i] = allocate(stream, size_of(i), stream->forward[i], 1);
			if (i % 3)
				continue;
			addr = allocate(stream, size_of(i + 1), stream->forward[i], 1);
			give_back(stream, addr, size_of(i + 1), stream->forward[i], 1);
		}
	for (layer = stream->layers - 1; layer >= 0; layer--)
		for (i = stream->operations - 1; i >= 0; i--) {
			addr = allocate(stream, size_of(i + 2), stream->backward[i], 2);
			give_back(stream, kept[layer][i], size_of(i), stream->backward[i], 2);
			give_back(stream, addr, size_of(i + 2), stream->backward[i], 2);
		}
	end_step(stream);
}

/* Stacks of DEPTH frames that share their outer half; every frame has a name and a file of its own. */
static uint32_t make_stack(struct mt_defs *defs, int site)
{
	struct mt_frame frame = { .kind = MT_FRAME_PYTHON };
	char text[80];
	uint32_t node = 0;
	int i;

	for (i = 0; i < DEPTH; i++) {
		snprintf(text, sizeof(text), "Module_%d.forward", i < DEPTH / 2 ? i : site * DEPTH + i);
		frame.function = mt_defs_add_string(defs, text, strlen(text));
		snprintf(text, sizeof(text), "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/part_%d.py",
			 i % 9);
		frame.file = mt_defs_add_string(defs, text, strlen(text));
		frame.line = (uint32_t)(i * 37 + site);
		node = mt_defs_add_node(defs, node, mt_defs_add_frame(defs, &frame));
	}
	return node;
}

static void make_definitions(struct stream *stream, struct mt_defs *defs, int rank)
{
	struct mt_thread main_thread = { .tid = 4711, .flags = MT_THREAD_MAIN };
	struct mt_thread backward_thread = { .tid = 4712, .flags = MT_THREAD_AUTOGRAD };
	struct mt_device device = { .kind = MT_DEVICE_CUDA, .total = 80ull << 30 };
	char uuid[32];
	int i;

	snprintf(uuid, sizeof(uuid), "GPU-%d", rank);
	device.uuid = rank >= 0 ? mt_defs_add_string(defs, uuid, strlen(uuid)) : 0;
	mt_defs_add_thread(defs, &main_thread);
	mt_defs_add_thread(defs, &backward_thread);
	mt_defs_add_device(defs, &device);
	stream->step_name = mt_defs_add_string(defs, "pass", 4);
	for (i = 0; i < OPERATIONS; i++) {
		stream->forward[i] = make_stack(defs, i);
		stream->backward[i] = make_stack(defs, OPERATIONS + i);
	}
}

static void make_stream(struct stream *stream, size_t count, struct mt_defs *defs, int rank)
{
	stream->events = calloc(count, sizeof(*stream->events));
	if (!stream->events)
		die("events", -MT_E_MEMORY);
	stream->room = count;
	stream->next_addr = 0x7f2000000000;
	make_definitions(stream, defs, rank);
	while (stream->count < stream->room)
		make_pass(stream);
}

/* ---- measurements ------------------------------------------------------------------------------------------------ */

static void report(const char *what, size_t events, double seconds)
{
	printf("%-44s %8.1f M events/s  %6.1f ns/event\n", what, (double)events / seconds / 1e6,
	       seconds * 1e9 / (double)events);
}

static size_t read_all(const char *path)
{
	const struct mt_event *events;
	struct mt_reader *reader;
	size_t count, total = 0;
	int checkpoint, error = mt_reader_open(&reader, path);

	if (error)
		die("reading", error);
	while (!(error = mt_reader_next(reader, &events, &count, &checkpoint)) && count)
		total += checkpoint ? 0 : count;
	if (error || !mt_reader_state(reader)->complete)
		die("reading", mt_reader_state(reader)->error);
	mt_reader_free(reader);
	return total;
}

/* Codec and compressor alone: no ledger, no file. */
static void bench_codec(const struct stream *stream, const struct mt_defs *defs)
{
	struct mt_encoder encoder;
	static struct mt_decoder decoder;
	struct mt_buffer payload = { 0 }, packed = { 0 };
	struct mt_packer *packer = mt_packer_new(3);
	static struct mt_event batch[512];
	struct mt_cursor cursor;
	double start, encoding = 0, packing = 0, decoding = 0;
	size_t at, i, got, done = 0, raw = 0;

	mt_encoder_init(&encoder);
	mt_encoder_look_back(&encoder);
	for (at = 0; at + CHUNK <= stream->count && at < PARTS * CHUNK; at += CHUNK, done += CHUNK) {
		start = now();
		mt_encoder_clear(&encoder);
		for (i = 0; i < CHUNK; i++)
			mt_encoder_add(&encoder, &stream->events[at + i]);
		mt_encoder_payload(&encoder, MT_CHUNK_EVENTS, &payload);
		encoding += now() - start;
		start = now();
		mt_packer_pack(packer, &payload, CHUNK, &packed);
		packing += now() - start;
		raw += payload.size;
		start = now();
		cursor = mt_cursor_make(payload.data, payload.size);
		mt_payload_kind(&cursor);
		if (mt_decoder_init(&decoder, MT_CHUNK_EVENTS, &cursor, defs, 0))
			die("decoding", -MT_E_CORRUPT);
		while (decoder.done < decoder.info.events)
			if (mt_decoder_next(&decoder, batch, 512, &got))
				die("decoding", -MT_E_CORRUPT);
		decoding += now() - start;
	}
	if (done) {
		report("encode into columns", done, encoding);
		report("compress", done, packing);
		report("encode and compress", done, encoding + packing);
		report("decode columns", done, decoding);
		printf("%-44s %8.2f B/event, compressed %.2f\n", "columns", (double)raw / (double)done,
		       (double)packed.size / (double)done);
	}
	mt_encoder_release(&encoder);
	mt_buffer_release(&payload);
	mt_buffer_release(&packed);
	mt_packer_free(packer);
}

int main(int argc, char **argv)
{
	size_t count = (size_t)((argc > 1 ? atof(argv[1]) : 4) * 1e6), i;
	const char *path = argc > 2 ? argv[2] : "bench_format.zst";
	struct mt_process process = { .pid = 1, .rank = -1, .command = "python train.py" };
	struct stream stream = { .layers = LAYERS, .operations = OPERATIONS };
	struct mt_writer *writer;
	struct stat st;
	double start;
	int error;

	if (argc > 3) { /* traces of one run, each its own sequences and GPU */
		process.rank = (int)strtol(argv[3], NULL, 10);
		process.pid += process.rank;
		random_state += (uint64_t)process.rank;
	}
	if (argc > 4) {
		stream.layers = (int)strtol(argv[4], NULL, 10);
		stream.keeps = 1;
	}
	if (!stream.layers)
		stream.layers = stream.operations = 1;
	if (stream.layers < 1 || stream.layers > LAYERS)
		die("layers", -MT_E_ARGUMENT);
	if (argc > 5)
		stream.passes = strtoull(argv[5], NULL, 10);
	error = mt_writer_open(&writer, path, &process, NULL);
	if (error)
		die(path, error);
	make_stream(&stream, count, mt_writer_defs(writer), process.rank);
	if (argc <= 3)
		bench_codec(&stream, mt_writer_defs(writer));
	start = now();
	for (i = 0; i < count && !error; i++)
		error = mt_writer_event(writer, &stream.events[i], 6, 1);
	if (!error)
		error = mt_writer_close(writer, 1);
	if (error)
		die("writing", error);
	report("write a trace (with the live set)", count, now() - start);
	start = now();
	if (argc <= 3 && read_all(path) != count)
		die("reading back", -MT_E_CORRUPT);
	if (argc <= 3)
		report("read a trace", count, now() - start);
	if (!stat(path, &st))
		printf("%-44s %8.2f B/event, stacks and index included\n", "file", (double)st.st_size / (double)count);
	if (argc <= 2)
		unlink(path);
	free(stream.events);
	return 0;
}
