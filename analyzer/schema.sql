-- The database of memana: what one run of a program did with memory. Everything in it comes from the traces; it can be
-- thrown away and made again.
--
-- Bytes are bytes. Times are ns since the run began (process.origin is that instant on the clock of the process).
-- seq numbers the events of one process in the order in which they took effect. Phases, categories and owners are words.
-- Sums such as "who held the peak" are in peak_part; single allocations are in allocation.

-- One recorded process, one trace file.
CREATE TABLE process (
	id INTEGER PRIMARY KEY,           -- from 1, in the order of the command line
	file TEXT NOT NULL,
	pid INTEGER NOT NULL,
	ppid INTEGER NOT NULL,
	rank INTEGER,                     -- of a distributed run; null: none
	host TEXT NOT NULL,
	boot_id TEXT NOT NULL,            -- processes of one boot share their clock
	command TEXT NOT NULL,
	options TEXT NOT NULL,            -- of the recorder
	python_version TEXT,              -- null: no Python
	tool_version TEXT NOT NULL,       -- of the recorder
	start_realtime INTEGER NOT NULL,  -- ns since 1970
	clock_error INTEGER NOT NULL,     -- ns, how well start_realtime is known
	origin INTEGER NOT NULL,          -- CLOCK_MONOTONIC of the process at time 0, ns
	first_time INTEGER NOT NULL,
	last_time INTEGER NOT NULL,
	steps INTEGER NOT NULL,           -- that ended
	events INTEGER NOT NULL,
	lost INTEGER NOT NULL,            -- events that are not in the trace
	unknown_frees INTEGER NOT NULL,   -- of memory that was allocated before the recording, or whose allocation was lost
	chunks INTEGER NOT NULL,
	file_bytes INTEGER NOT NULL,
	complete INTEGER NOT NULL,        -- 1: the file was closed in order
	ended TEXT,                       -- why the recording ended; null: the trace does not say
	damage TEXT,                      -- what is wrong with the file; null: nothing
	damage_offset INTEGER             -- where, bytes
);

-- One physical device, shared by all processes that use it.
CREATE TABLE device (
	id INTEGER PRIMARY KEY,
	number INTEGER UNIQUE,            -- what people call it: memana top --device NUMBER; null: nothing happened on it
	kind TEXT NOT NULL,               -- cuda, cpu
	name TEXT NOT NULL,
	uuid TEXT,
	total_bytes INTEGER               -- null: unknown
);

CREATE TABLE thread (
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	tid INTEGER NOT NULL,
	name TEXT NOT NULL,
	main INTEGER NOT NULL,            -- 1: the process's first thread
	autograd INTEGER NOT NULL         -- 1: runs backward for torch
);

-- One loaded ELF file, as it lay in the process.
CREATE TABLE module (
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	path TEXT NOT NULL,
	build_id BLOB,                    -- null: has none
	start INTEGER NOT NULL,
	end INTEGER NOT NULL,
	bias INTEGER NOT NULL             -- address in the process minus address in the file
);

-- One place in the code. Native frames have module and offset; memana load adds the names it finds in the module's file
-- (where the compiler inlined: of the innermost function).
CREATE TABLE frame (
	id INTEGER PRIMARY KEY,
	kind TEXT NOT NULL,               -- python, native, elided (frames beyond --depth)
	function TEXT,
	file TEXT,
	line INTEGER,
	module INTEGER REFERENCES module,
	offset INTEGER                    -- address in the module's file
);

-- Call stacks as a tree. A stack is named by its innermost node; parent leads outwards.
CREATE TABLE node (
	id INTEGER PRIMARY KEY,
	parent INTEGER REFERENCES node,   -- null: outermost
	frame INTEGER NOT NULL REFERENCES frame
);

-- A place that bytes come from: a stack of a process on a device, in one phase, for one purpose.
CREATE TABLE site (
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	device INTEGER NOT NULL REFERENCES device,
	node INTEGER REFERENCES node,     -- null: no stack was recorded
	memory TEXT NOT NULL,             -- tensor, driver
	phase TEXT NOT NULL,
	category TEXT NOT NULL,
	owner TEXT NOT NULL
);

-- The most that a device held. For a GPU: memory taken from the driver; for the CPU: tensors.
CREATE TABLE peak (
	device INTEGER PRIMARY KEY REFERENCES device,
	bytes INTEGER NOT NULL,
	slack_bytes INTEGER NOT NULL,     -- of them: held by the caching allocator, not by a tensor
	time INTEGER NOT NULL,
	seq INTEGER NOT NULL,             -- of the event in its process
	process INTEGER NOT NULL REFERENCES process,
	step INTEGER NOT NULL,
	phase TEXT NOT NULL,
	role TEXT NOT NULL
);

-- Who held the peak. A partition: the bytes of a device add up to peak.bytes, by any of the columns.
CREATE TABLE peak_part (
	site INTEGER PRIMARY KEY REFERENCES site,
	device INTEGER NOT NULL REFERENCES device,
	process INTEGER NOT NULL REFERENCES process,
	phase TEXT NOT NULL,              -- in which the bytes were allocated
	category TEXT NOT NULL,
	owner TEXT NOT NULL,
	bytes INTEGER NOT NULL,
	count INTEGER NOT NULL            -- allocations
);

-- The most that a device held while a phase was running.
CREATE TABLE phase_peak (
	device INTEGER NOT NULL REFERENCES device,
	phase TEXT NOT NULL,
	bytes INTEGER NOT NULL,
	time INTEGER NOT NULL,
	step INTEGER NOT NULL,
	PRIMARY KEY (device, phase)
);

-- Out-of-memory errors.
CREATE TABLE oom (
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	device INTEGER NOT NULL REFERENCES device,
	source TEXT NOT NULL,             -- tensor: the framework's allocator gave up; driver: the driver refused
	time INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	requested_bytes INTEGER NOT NULL,
	free_bytes INTEGER,               -- of the device, beside what the recorded processes held; null: unknown
	phase TEXT NOT NULL,
	step INTEGER NOT NULL,
	node INTEGER REFERENCES node
);

-- Events that could not be recorded.
CREATE TABLE loss (
	process INTEGER NOT NULL REFERENCES process,
	reason TEXT NOT NULL,
	events INTEGER NOT NULL,
	records INTEGER NOT NULL,         -- how often it happened
	first_time INTEGER NOT NULL,
	last_time INTEGER NOT NULL,
	PRIMARY KEY (process, reason)
);

-- What was recorded, and what was not and why.
CREATE TABLE source (
	process INTEGER NOT NULL REFERENCES process,
	name TEXT NOT NULL,
	state TEXT NOT NULL,              -- on, off, failed
	why TEXT NOT NULL,
	time INTEGER NOT NULL,            -- of its newest change
	PRIMARY KEY (process, name)
);

-- From here on: filled by `memana load` only.

-- One allocation from birth to death. Driver memory that tensors live in is a row of its own: add up one kind at a time.
CREATE TABLE allocation (
	id INTEGER PRIMARY KEY,           -- in order of death, then what is alive at the end in order of birth
	process INTEGER NOT NULL REFERENCES process,
	device INTEGER NOT NULL REFERENCES device,
	memory TEXT NOT NULL,             -- tensor; driver memory: device, async-pool, managed, pinned, array, imported, host
	address INTEGER NOT NULL,         -- or the handle of physical memory that has no address
	bytes INTEGER NOT NULL,
	alloc_seq INTEGER NOT NULL,
	alloc_time INTEGER NOT NULL,
	free_seq INTEGER,                 -- null: never freed
	free_time INTEGER,
	site INTEGER REFERENCES site,
	node INTEGER REFERENCES node,
	thread INTEGER REFERENCES thread,
	phase TEXT NOT NULL,              -- in which it was allocated
	category TEXT NOT NULL,
	step INTEGER NOT NULL,            -- in which it was allocated
	free_step INTEGER,
	tensors_inside INTEGER NOT NULL   -- 1: driver memory that the framework's allocator cuts into tensors
);

-- What the framework's caching allocator took from the driver.
CREATE VIEW segment AS
	SELECT id, process, device, memory, address, bytes, alloc_seq, alloc_time, free_seq, free_time, site, phase, step
	FROM allocation WHERE tensors_inside;

-- A stretch in which a process was in one phase of one step.
CREATE TABLE phase_span (
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	phase TEXT NOT NULL,
	step INTEGER NOT NULL,
	first_seq INTEGER NOT NULL,
	last_seq INTEGER NOT NULL,
	first_time INTEGER NOT NULL,
	last_time INTEGER NOT NULL
);

-- A training step that ended.
CREATE TABLE step (
	process INTEGER NOT NULL REFERENCES process,
	step INTEGER NOT NULL,
	end_seq INTEGER NOT NULL,
	end_time INTEGER NOT NULL,
	closed_by TEXT NOT NULL
);
