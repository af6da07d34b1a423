/*
 * cmd_list.h - every command of memana, once: dispatch, help and the checks of the manual page are made from it.
 *
 * X(name, arguments, summary) - the function is cmd_<name> in cmd_<name>.c. In order of use.
 */
#define COMMAND_LIST(X)                                                             \
	X(top, "TRACE...|DB", "what filled the device at its peak")                 \
	X(tui, "TRACE...|DB", "the timeline, in the terminal")                      \
	X(phases, "TRACE...|DB", "what each phase took, and what it left behind")   \
	X(steps, "TRACE...|DB", "peak of each step, and whether the run grows")     \
	X(oom, "TRACE...|DB", "what the failed request met, and what to do")        \
	X(check, "TRACE...|DB", "limits on peak and growth, for CI")                \
	X(retained, "TRACE...|DB", "what outlives the step or phase that made it")  \
	X(frag, "TRACE...|DB", "idle memory of the allocator, and what pins it")    \
	X(diff, "A B", "what changed between two runs")                             \
	X(info, "TRACE...", "what is in a trace, and what is not")                  \
	X(verify, "TRACE...", "every chunk, our totals against the allocator's")    \
	X(load, "TRACE... -o DB", "make a SQLite database of a run")                \
	X(import, "SNAPSHOT -o TRACE", "make a trace of a PyTorch memory snapshot") \
	X(sql, "TRACE|DB \"SELECT ...\"", "ask the database, read-only")
