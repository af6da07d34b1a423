/* torch_memo.c - writes each word and text of a snapshot once. Later references have only its number. */
#include <stdlib.h>
#include <string.h>
#include "memtrace/error.h"
#include "torch.h"

void torch_fail(struct torch *torch, int error)
{
	if (error && !torch->error)
		torch->error = error;
}

void torch_memo_release(struct torch *torch)
{
	struct torch_memo *memo = &torch->memo;
	uint32_t i;

	for (i = 0; memo->process && i < torch->run->analysis.processes; i++) {
		free(memo->process[i].stack);
		free(memo->process[i].frame);
	}
	free(memo->process);
	export_names_release(&memo->texts);
	free(memo->text);
}

static const char *const words[] = {
#define TORCH_WORD_TEXT(name, word) word,
	TORCH_WORD_LIST(TORCH_WORD_TEXT)
#undef TORCH_WORD_TEXT
};

void torch_word(struct torch *torch, enum torch_word word)
{
	struct torch_memo *memo = &torch->memo;

	if (memo->word[word]) {
		torch_write_get(torch->out, memo->word[word] - 1);
		return;
	}
	torch_write_text(torch->out, words[word]);
	torch_write_put(torch->out, memo->next_number);
	memo->word[word] = ++memo->next_number;
}

static int text_room(struct torch_memo *memo)
{
	uint32_t room = memo->text_room ? 2 * memo->text_room : 256;
	uint32_t *grown;

	if (memo->texts.count < memo->text_room)
		return 0;
	grown = realloc(memo->text, room * sizeof(*grown));
	if (!grown)
		return -MT_E_MEMORY;
	memo->text = grown;
	memo->text_room = room;
	return 0;
}

void torch_text(struct torch *torch, const char *text)
{
	struct torch_memo *memo = &torch->memo;
	uint32_t number = 0;
	int is_new = 0, error = text_room(memo);

	if (!error)
		error = export_names_add(&memo->texts, text, strlen(text), &number, &is_new);
	torch_fail(torch, error);
	if (error)
		return;
	if (!is_new) {
		torch_write_get(torch->out, memo->text[number]);
		return;
	}
	torch_write_text(torch->out, text);
	torch_write_put(torch->out, memo->next_number);
	memo->text[number] = memo->next_number++;
}

void torch_key_word(struct torch *torch, enum torch_word key, enum torch_word value)
{
	torch_word(torch, key);
	torch_word(torch, value);
}

void torch_key_int(struct torch *torch, enum torch_word key, int64_t value)
{
	torch_word(torch, key);
	torch_write_int(torch->out, value);
}
