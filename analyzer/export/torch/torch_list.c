/* Lists of a snapshot: temporary files, with what they refer to by number. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "memtrace/error.h"
#include "torch.h"

void torch_fail(struct torch *torch, int error)
{
	if (error && !torch->error)
		torch->error = error;
}

int torch_grow(void *array, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : 256;
	void *grown;

	if (count < *room)
		return 0;
	grown = realloc(*(void **)array, wanted * size);
	if (!grown)
		return -MT_E_MEMORY;
	*(void **)array = grown;
	*room = wanted;
	return 0;
}

int torch_list_open(struct torch_list *list)
{
	list->file = export_temporary();
	list->out = list->file < 0 ? NULL : export_out_new(list->file);
	if (!list->out)
		return list->file < 0 ? -MT_E_SYSTEM : -MT_E_MEMORY;
	torch_write_list(list->out);
	return 0;
}

void torch_list_release(struct torch_list *list)
{
	if (list->out)
		export_out_close(list->out);
	if (list->file > 0)
		close(list->file);
	export_names_release(&list->texts);
	free(list->text);
	free(list->stack);
	free(list->frame);
	*list = (struct torch_list){ 0 };
}

/* The whole list into the output. */
int torch_list_copy(struct torch *torch, struct torch_list *list)
{
	int error;

	torch_write_list_end(list->out);
	error = export_out_close(list->out);
	list->out = NULL;
	return error ? error : export_copy(torch->out, list->file);
}

static const char *const words[] = {
#define TORCH_WORD_TEXT(name, word) word,
	TORCH_WORD_LIST(TORCH_WORD_TEXT)
#undef TORCH_WORD_TEXT
};

void torch_word(struct torch_list *list, enum torch_word word)
{
	if (list->word[word]) {
		torch_write_get(list->out, list->word[word] - 1);
		return;
	}
	torch_write_text(list->out, words[word]);
	torch_write_put(list->out, list->next_number);
	list->word[word] = ++list->next_number;
}

static int text_room(struct torch_list *list)
{
	uint32_t room = list->text_room ? 2 * list->text_room : 256;
	uint32_t *grown;

	if (list->texts.count < list->text_room)
		return 0;
	grown = realloc(list->text, room * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	list->text = grown;
	list->text_room = room;
	return 0;
}

void torch_text(struct torch *torch, struct torch_list *list, const char *text)
{
	uint32_t number = 0;
	int is_new = 0, error = text_room(list);

	if (!error)
		error = export_names_add(&list->texts, text, strlen(text), &number, &is_new);
	torch_fail(torch, error);
	if (error)
		return;
	if (!is_new) {
		torch_write_get(list->out, list->text[number]);
		return;
	}
	torch_write_text(list->out, text);
	torch_write_put(list->out, list->next_number);
	list->text[number] = list->next_number++;
}

void torch_key_word(struct torch_list *list, enum torch_word key, enum torch_word value)
{
	torch_word(list, key);
	torch_word(list, value);
}

void torch_key_int(struct torch_list *list, enum torch_word key, int64_t value)
{
	torch_word(list, key);
	torch_write_int(list->out, value);
}
