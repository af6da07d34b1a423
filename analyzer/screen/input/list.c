#include "list.h"

/* Keeps the chosen row in sight, and leaves no row empty while there are rows to show. */
static void settle(struct list *list)
{
	uint32_t height = list->height > 0 ? (uint32_t)list->height : 0;

	if (list->chosen >= list->rows)
		list->chosen = list->rows ? list->rows - 1 : 0;
	if (list->first > list->chosen)
		list->first = list->chosen;
	if (height && list->chosen - list->first >= height)
		list->first = list->chosen - height + 1;
	if (list->rows <= height)
		list->first = 0;
	else if (list->first > list->rows - height)
		list->first = list->rows - height;
}

void list_fit(struct list *list, uint32_t rows, int height)
{
	list->rows = rows;
	list->height = height;
	settle(list);
}

void list_choose(struct list *list, uint32_t row)
{
	list->chosen = row;
	settle(list);
}

static void move(struct list *list, int64_t rows)
{
	int64_t row = (int64_t)list->chosen + rows;

	if (row >= list->rows)
		row = (int64_t)list->rows - 1;
	list_choose(list, row > 0 ? (uint32_t)row : 0);
}

int list_request(struct list *list, enum request request)
{
	int page = list->height > 1 ? list->height - 1 : 1;

	switch (request) {
	case REQUEST_UP:
		move(list, -1);
		return 1;
	case REQUEST_DOWN:
		move(list, 1);
		return 1;
	case REQUEST_PAGE_UP:
		move(list, -page);
		return 1;
	case REQUEST_PAGE_DOWN:
		move(list, page);
		return 1;
	case REQUEST_FIRST:
		list_choose(list, 0);
		return 1;
	case REQUEST_LAST:
		move(list, list->rows);
		return 1;
	default:
		return 0;
	}
}

void list_hit(struct list_hits *hits, uint32_t row)
{
	int is_next = hits->on ? row > hits->from && hits->row <= hits->from
			       : row < hits->from || hits->row >= hits->from;

	hits->count++;
	if (hits->count > 1 && !is_next)
		return;
	hits->row = row;
	hits->number = hits->count;
}

int64_t list_row_at(const struct list *list, int y)
{
	int64_t row = (int64_t)list->first + y;

	return y >= 0 && y < list->height && row < list->rows ? row : -1;
}

void list_bar(const struct list *list, struct area area)
{
	int64_t height = area.height, top, size;
	int y;

	if (height <= 0 || area.width <= 0 || (int64_t)list->rows <= list->height)
		return;
	size = height * list->height / list->rows;
	if (size < 1)
		size = 1;
	top = (height - size) * list->first / ((int64_t)list->rows - list->height);
	for (y = 0; y < height; y++)
		area_put(area, area.width - 1, y,
			 y < top || y >= top + size ? " "
			 : area.canvas->ascii       ? "|"
						    : "▐",
			 STYLE_LINE, STYLE_NO_BACKGROUND);
}
