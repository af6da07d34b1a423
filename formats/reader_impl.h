/* reader_impl.h - what mt_writer_reopen needs of a reader beyond memtrace/reader.h. */
#ifndef FORMATS_READER_IMPL_H
#define FORMATS_READER_IMPL_H

#include "memtrace/reader.h"

/* Hands the definitions over to the caller; the reader is good for nothing but mt_reader_free afterwards. */
struct mt_defs *mt_reader_take_defs(struct mt_reader *reader);

#endif
