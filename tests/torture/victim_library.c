/* victim_library.c - see "unload" in victim.c. */
int through(int (*call)(void *), void *arg);

/* Not a tail call: this frame is to be on the stack. */
int through(int (*call)(void *), void *arg)
{
	volatile int result = call(arg);

	return result;
}
