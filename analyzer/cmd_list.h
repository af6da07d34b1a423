/*
 * cmd_list.h - every command of memana, once: dispatch, help and the checks of the manual page are made from it.
 *
 * X(name, arguments, summary) - the function is cmd_<name> in cmd_<name>.c. In order of use.
 */
#define COMMAND_LIST(X)                                                               \
	X(top, "TRACE...|DB", "what filled the device at its peak")                   \
	X(info, "TRACE...", "what is in a trace, and what is not")                    \
	X(verify, "TRACE...", "every chunk, our totals against the allocator's")      \
	X(load, "TRACE... -o DB", "make a SQLite database of a run")                  \
	X(sql, "TRACE|DB \"SELECT ...\"", "ask the database, read-only")
