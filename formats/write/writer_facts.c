/* writer_facts.c - writes the facts of a trace at its end (memtrace/facts.h), with the identity of the file. */
#include <stdlib.h>
#include "memtrace/error.h"
#include "memtrace/facts.h"
#include "writer_impl.h"

static uint64_t events_of(const struct mt_chunk_list *list)
{
	uint64_t events = 0;
	uint32_t i;

	for (i = 0; i < list->count; i++)
		if (list->info[i].kind == MT_CHUNK_EVENTS)
			events += list->info[i].events;
	return events;
}

int writer_facts_payload(struct mt_writer *writer)
{
	struct mt_buffer of = { 0 };
	uint8_t *data = NULL;
	uint64_t hash;
	size_t size;
	int some = !mt_file_hash(writer->fd, writer->end, &hash) &&
		   writer->facts->make(writer->facts->context, writer->fd, events_of(&writer->list), &data, &size);

	if (some) {
		mt_buffer_put_u64(&of, writer->facts->identity);
		mt_buffer_put_u64(&of, hash);
		mt_buffer_put_u64(&of, mt_index_hash(writer->list.info, writer->list.count));
		mt_payload_begin(&writer->payload, MT_CHUNK_FACTS);
		mt_payload_section(&writer->payload, MT_FACTS_OF, of.data, of.size);
		mt_payload_section(&writer->payload, MT_FACTS_CONTENT, data, size);
		some = !of.error && !writer->payload.error;
	}
	mt_buffer_release(&of);
	free(data);
	return some;
}
