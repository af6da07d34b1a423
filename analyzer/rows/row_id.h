/* row_id.h - converts the numbers of an analysis into ids of the database; 0: none. */
#ifndef MEMANA_ROW_ID_H
#define MEMANA_ROW_ID_H

#include <stdint.h>

static inline int64_t row_id(uint32_t process, uint64_t definition)
{
	return definition ? (int64_t)process << 32 | (int64_t)definition : 0;
}

static inline int64_t row_process_id(uint32_t process)
{
	return (int64_t)process + 1;
}

static inline int64_t row_device_id(uint32_t device)
{
	return (int64_t)device + 1;
}

#endif
