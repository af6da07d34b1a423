/* Arrays that grow at their end. */
#include "memtrace/array.h"

#include "memtrace/base.h"
#include "test.h"

TEST(entries_stay_while_the_array_grows)
{
	uint32_t *number = NULL, count, room = 0;

	for (count = 0; count < 1000; count++) {
		CHECK_EQ(MT_ARRAY_ROOM(number, count, room), 0);
		CHECK(room > count);
		number[count] = count * 3;
	}
	CHECK_EQ(room, 1024);
	for (count = 0; count < 1000; count++)
		CHECK_EQ(number[count], count * 3);
	free(number);
}

TEST(what_cannot_grow_stays_as_it_was)
{
	static char full[128];
	char *entry = full;
	uint64_t(*huge)[SIZE_MAX / 64] = NULL;
	uint8_t room = 128;
	size_t rooms = 0;

	CHECK_EQ(MT_ARRAY_ROOM(entry, 128, room), -MT_E_MEMORY); /* 256 does not fit into `room` */
	CHECK(entry == full);
	CHECK_EQ(room, 128);
	CHECK_EQ(MT_ARRAY_ROOM(huge, 0, rooms), -MT_E_MEMORY);
	CHECK(!huge);
	CHECK_EQ(rooms, 0);
}

TEST_MAIN()
