#include "colour.h"

#include <curses.h>
#include <unistd.h>

/* Its names of capabilities are macros: after everything else. */
#include <term.h>

/* Neighbours in the chart differ in lightness, too, and phases to eyes that miss a colour. */
const struct colour colour_of_layer[COLOUR_LAYERS] = {
	{ 246, 242, 7 }, /* the rest, other: grey */
	{ 32, 24, 4 },   /* init, weights: blue */
	{ 36, 22, 2 },   /* rollout, gradients: bluish green */
	{ 117, 67, 6 },  /* logprob, optimizer state: sky blue */
	{ 137, 95, 3 },  /* ref: brown */
	{ 143, 58, 5 },  /* critic: olive */
	{ 214, 136, 3 }, /* forward: orange */
	{ 166, 88, 1 },  /* backward: vermillion */
	{ 175, 96, 5 },  /* optimizer: reddish purple */
	{ 185, 101, 6 }, /* weight-update: yellow */
	{ 97, 54, 4 },   /* violet */
	{ 30, 23, 2 },   /* teal */
	{ 239, 236, 7 }, /* allocator slack: dark grey */
	{ 153, 109, 1 }, /* pale blue */
	{ 181, 132, 3 }, /* pale pink */
	{ 108, 65, 2 },  /* sage */
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

/* A cube of six steps a side, and behind it a ramp of grey. */
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
