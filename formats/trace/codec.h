/*
 * codec.h - encodes events as columns and decodes them (trace-v1.md, "EVENTS"): the payload of EVENTS and CHECKPOINT.
 *
 * Both sides keep the same predictor, with the newest values, so a column holds small differences.
 */
#ifndef FORMATS_CODEC_H
#define FORMATS_CODEC_H

#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/varint.h"
#include "memtrace/defs.h"
#include "memtrace/event.h"
#include "memtrace/reader.h"

/* Sections. X(NAME, number) */
#define MT_SECTION_LIST(X)                                     \
	X(SUMMARY, 1)                                          \
	X(KINDS, 2)                                            \
	X(LAYOUT, 3)                                           \
	X(VARIANT, 4)                                          \
	X(COLUMN, 32) /* column of field 0; field n: 32 + n */ \
	X(AGAIN, 64)  /* section of back references for field 0; only MT_FIELD_addr has one */

enum mt_section_number {
#define MT_SECTION_ENUM(name, number) MT_SECTION_##name = (number),
	MT_SECTION_LIST(MT_SECTION_ENUM)
#undef MT_SECTION_ENUM
};

/*
 * Section numbers limit field numbers: the column of field 32 would be the AGAIN of field 0. Fields of trace-v1.md are
 * below MT_FIELDS_MAX. Fields from MT_FIELDS_TRIAL to 63 are for experiments, so AGAIN ends before their columns.
 */
#define MT_FIELDS_MAX 32u
#define MT_FIELDS_TRIAL 56u
_Static_assert((unsigned)MT_FIELD_COUNT <= MT_FIELDS_MAX, "a field without a section for its column");
_Static_assert(MT_SECTION_COLUMN + MT_FIELDS_MAX == MT_SECTION_AGAIN, "columns end where back references begin");
_Static_assert(MT_SECTION_AGAIN + MT_FIELD_addr < MT_SECTION_COLUMN + MT_FIELDS_TRIAL, "two meanings of a section");

/* The conversion of a field to a varint; names as in MT_FIELD_LIST. */
enum mt_encoding { MT_ENCODING_PLAIN, MT_ENCODING_STEP, MT_ENCODING_DELTA, MT_ENCODING_ADDR, MT_ENCODING_TOTAL };

#define MT_ADDR_SHIFT 6          /* ADDR: number of low bits that are folded away */
#define MT_PREDICTOR_DEVICES 16u /* TOTAL: number of devices with a prediction of their own */
#define MT_VARIANT_SLOTS 1024u   /* VARIANT: number of nodes with a newest variant */
#define MT_AGAIN_MAX 8192u       /* AGAIN: longest distance back, in addresses; a power of two */

struct mt_predictor {
	uint64_t last[MT_FIELD_COUNT];
	uint64_t total[MT_PREDICTOR_DEVICES];
	uint32_t variant[MT_VARIANT_SLOTS]; /* newest variant, by node number modulo MT_VARIANT_SLOTS */
};

/* Predicts the total after the event, if nothing else happened to the device. */
static inline uint64_t mt_predict_total(const struct mt_predictor *predictor, const struct mt_event *event)
{
	uint64_t total = predictor->total[event->device % MT_PREDICTOR_DEVICES];

	if (event->kind == MT_TENSOR_ALLOC)
		return total + event->size;
	return event->kind == MT_TENSOR_FREE ? total - event->size : total;
}

struct mt_again; /* the last place of each address, encoder.c */

struct mt_encoder {
	struct mt_buffer kinds, column[MT_FIELD_COUNT];
	struct mt_buffer again_column; /* back references of MT_FIELD_addr */
	struct mt_buffer variants;     /* section VARIANT */
	int is_varied;                 /* some of `variants` is not 0 */
	const struct mt_defs *defs;    /* definitions of the stacks; NULL: stacks are written as they are. Not owned */
	struct mt_again *again;        /* NULL: addresses are not looked for, as in checkpoints */
	struct mt_predictor predictor;
	uint32_t room;                 /* events that fit before a column must grow */
	uint8_t used[MT_KIND_MAX + 1]; /* 1: the kind occurs */
	struct mt_chunk_info info;     /* events, seq and time are kept here; live and phases are the caller's */
};

void mt_encoder_init(struct mt_encoder *encoder); /* call once, then set `defs` */
void mt_encoder_release(struct mt_encoder *encoder);
void mt_encoder_clear(struct mt_encoder *encoder); /* for the next chunk */

/*
 * From the next chunk on, a repeated address is written as its distance back (AGAIN). Out of memory: addresses are
 * written in full. Call at most once, after mt_encoder_init.
 */
void mt_encoder_look_back(struct mt_encoder *encoder);

/* After 0 the next mt_encoder_add succeeds. -MT_E_LIMIT: no chunk may hold more; -MT_E_MEMORY. */
int mt_encoder_room(struct mt_encoder *encoder);

/* mt_encoder_add comes soon with this address: lets the processor fetch the memory that it needs meanwhile. */
void mt_encoder_expect(const struct mt_encoder *encoder, uint64_t addr);

/*
 * Appends an event of a known kind. Fields that its kind lacks are ignored. Returns 0 or the error of mt_encoder_room,
 * which changes nothing.
 */
int mt_encoder_add(struct mt_encoder *encoder, const struct mt_event *event);

/* Makes the payload of a chunk of `kind`. Out of memory shows in payload->error. */
void mt_encoder_payload(const struct mt_encoder *encoder, enum mt_chunk_kind kind, struct mt_buffer *payload);

struct mt_decoder {
	enum mt_chunk_kind chunk;
	struct mt_chunk_info info; /* the SUMMARY; offset and size 0 */
	const uint8_t *kinds;
	const uint8_t *column[MT_FIELD_COUNT]; /* next value; NULL: no event has the field */
	const uint8_t *again;                  /* AGAIN of MT_FIELD_addr, next value; NULL: none */
	const uint8_t *addr_end;               /* with `again`: end of the COLUMN */
	const uint8_t *variant;                /* VARIANT, next value; NULL: all are 0 */
	const struct mt_defs *defs;            /* NULL: a node's number is its id */
	uint32_t fields[MT_KIND_MAX + 1];      /* LAYOUT: known fields */
	int unknown;                           /* 1: there are kinds that this program does not know */
	uint64_t largest[MT_FIELD_COUNT];      /* larger values are corrupt: undefined ids */
	struct mt_predictor predictor;
	uint32_t done;                  /* events decoded so far */
	uint64_t seq;                   /* the newest */
	uint64_t first_time, last_time; /* smallest and largest time so far */
	uint32_t addrs;                 /* with `again`: number taken, */
	uint64_t addr[MT_AGAIN_MAX];    /* the newest by number modulo MT_AGAIN_MAX; not cleared */
};

/*
 * Begins the payload of an EVENTS or CHECKPOINT chunk; the cursor stands behind the chunk kind. Payload and `defs` must
 * outlive the decoding. Ids must be defined in `defs` now, and seq must follow `after_seq`, that of the newest event
 * before. 0, -MT_E_CORRUPT, -MT_E_LIMIT.
 */
int mt_decoder_init(struct mt_decoder *decoder, enum mt_chunk_kind chunk, struct mt_cursor *payload,
		    const struct mt_defs *defs, uint64_t after_seq);

/*
 * Decodes the next events, at most `most`, without unknown kinds, so *count can be 0 before the end. The end is
 * decoder->done == decoder->info.events. 0 or -MT_E_CORRUPT (*count 0).
 */
int mt_decoder_next(struct mt_decoder *decoder, struct mt_event *events, size_t most, size_t *count);

/* Reads the SUMMARY into *info; other members stay. 0, -MT_E_CORRUPT, -MT_E_LIMIT. */
int mt_summary_read(struct mt_cursor *content, struct mt_chunk_info *info);

#endif
