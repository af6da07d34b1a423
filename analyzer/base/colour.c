#include "colour.h"

#include <curses.h>
#include <unistd.h>

/* term.h defines capabilities as macros. Include it last. */
#include <term.h>

/*
 * Neighbours in the chart also differ in lightness, and phases differ for colour-blind eyes, too. A pale colour has the hue of its layer. Only slack
 * is grey.
 */
const struct colour colour_of_layer[COLOUR_LAYERS] = {
	{ 99, 141, 2 },  /* the rest, other: violet */
	{ 32, 75, 4 },   /* init, weights: blue */
	{ 36, 115, 2 },  /* rollout, gradients: bluish green */
	{ 44, 123, 6 },  /* logprob, optimizer state: cyan */
	{ 137, 180, 3 }, /* ref: brown */
	{ 143, 187, 5 }, /* critic: olive */
	{ 214, 222, 3 }, /* forward: orange */
	{ 166, 216, 1 }, /* backward: vermillion */
	{ 175, 218, 5 }, /* optimizer: reddish purple */
	{ 185, 229, 6 }, /* weight-update: yellow */
	{ 131, 174, 4 }, /* dull red */
	{ 30, 37, 2 },   /* teal */
	{ 239, 243, 7 }, /* allocator slack: dark grey */
	{ 110, 153, 1 }, /* pale blue */
	{ 133, 176, 3 }, /* orchid */
	{ 108, 151, 2 }, /* sage */
};

int colour_depth(int colours)
{
	return colours >= 256 ? 256 : colours >= 8 ? 8 : 0;
}

int colour_of_terminal(void)
{
	int found, colours;

	if (setupterm(NULL, STDOUT_FILENO, &found) != OK)
		return 8;
	colours = max_colors;
	del_curterm(cur_term);
	return colour_depth(colours);
}

/* Colours 16 to 231 are a cube with six steps on each side; a ramp of grey follows. */
int colour_direct(int colour)
{
	static const int step[] = { 0, 95, 135, 175, 215, 255 };
	int grey = 8 + 10 * (colour - 232);

	if (colour < 16)
		return colour;
	if (colour >= 232)
		return grey << 16 | grey << 8 | grey;
	colour -= 16;
	return step[colour / 36] << 16 | step[colour / 6 % 6] << 8 | step[colour % 6];
}
