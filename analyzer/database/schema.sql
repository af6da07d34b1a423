-- The database of memana: what one run of a program did with memory. All contents come from the traces: the database can be
-- deleted and made once more.
--
-- Bytes are bytes. Times are ns since the run began (process.origin is that instant on the clock of the process).
-- seq numbers the events of one process in the order in which they took effect, and time does not go back in it. All
-- events of the run have one order: (time, process, seq). Phases, categories and owners are words.
-- The first comment of a table or view says what it holds: memana sql DB .tables prints them.

CREATE TABLE process (
	-- One recorded process: one trace file.
	id INTEGER PRIMARY KEY,           -- from 1, in the order of the command line
	file TEXT NOT NULL,
	pid INTEGER,                      -- null: a PyTorch snapshot does not say
	ppid INTEGER,
	rank INTEGER,                     -- rank in a distributed run; null: none
	host TEXT NOT NULL,
	boot_id TEXT NOT NULL,            -- processes of one boot share their clock
	command TEXT NOT NULL,
	options TEXT NOT NULL,            -- options of the recorder
	python_version TEXT,              -- null: no Python
	tool_version TEXT NOT NULL,       -- version of the recorder
	start_realtime INTEGER,           -- ns since 1970; null: unknown
	clock_error INTEGER NOT NULL,     -- ns, how well start_realtime is known
	origin INTEGER NOT NULL,          -- CLOCK_MONOTONIC of the process at time 0, ns
	first_time INTEGER NOT NULL,
	last_time INTEGER NOT NULL,
	steps INTEGER NOT NULL,           -- steps that ended
	events INTEGER NOT NULL,
	lost INTEGER NOT NULL,            -- events that are not in the trace
	unknown_frees INTEGER NOT NULL,   -- frees of memory that was allocated before the recording, or with a lost allocation
	chunks INTEGER NOT NULL,
	file_bytes INTEGER NOT NULL,
	complete INTEGER NOT NULL,        -- 1: the file was closed in order
	ended TEXT,                       -- why the recording ended; null: the trace does not say
	damage TEXT,                      -- the fault of the file; null: none
	damage_offset INTEGER,            -- its place, bytes
	let_go INTEGER NOT NULL,          -- events removed by --keep; in no figure of this row
	recorded_by TEXT NOT NULL,        -- memrec, or pytorch: the trace was made of a memory snapshot
	has_history INTEGER NOT NULL,     -- 0: a snapshot of one moment, without history
	has_times INTEGER NOT NULL,       -- 0: times here only order the events
	history_cut INTEGER NOT NULL,     -- 1: a snapshot whose oldest events are gone (max_entries)
	over_time INTEGER,                -- end of the memory that the process never freed, just after its newest event:
	over_seq INTEGER                  -- the process or its recording ended; null: the trace shows no end
);

CREATE TABLE device (
	-- One physical device. All processes that use it share the row.
	id INTEGER PRIMARY KEY,
	number INTEGER UNIQUE,            -- as in memana top --device NUMBER; null: no event on the device
	kind TEXT NOT NULL,               -- cuda, cpu
	name TEXT NOT NULL,
	uuid TEXT,
	total_bytes INTEGER               -- bytes for programs, by the driver's answer to a program, else by NVML; null: unknown
);

CREATE TABLE thread (
	-- A thread that allocated or freed.
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	tid INTEGER NOT NULL,
	name TEXT NOT NULL,
	main INTEGER NOT NULL,            -- 1: the process's first thread
	autograd INTEGER NOT NULL         -- 1: runs backward for torch
);

CREATE TABLE elf_file (
	-- A program or library, as it was loaded into a process.
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	path TEXT NOT NULL,
	build_id BLOB,                    -- null: has none
	start INTEGER NOT NULL,
	end INTEGER NOT NULL,
	bias INTEGER NOT NULL             -- address in the process minus address in the file
);

CREATE TABLE frame (
	-- One line of code, or one address of an ELF file.
	-- memana load adds the names that it finds in the ELF file; where the compiler inlined, of the innermost function.
	id INTEGER PRIMARY KEY,
	kind TEXT NOT NULL,               -- python, native, elided (frames beyond --depth)
	function TEXT,
	file TEXT,
	line INTEGER,
	elf_file INTEGER REFERENCES elf_file, -- null: a Python frame
	offset INTEGER                    -- address in the ELF file
);

CREATE TABLE module_instance (
	-- An object that is a part of a model: a torch.nn.Module.
	-- Objects of one class that lived at one address one after the other are one row.
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	address INTEGER NOT NULL,
	type TEXT NOT NULL                -- name of its class
);

CREATE TABLE module_call (
	-- Calls of modules inside one another, as a tree. parent leads outwards.
	id INTEGER PRIMARY KEY,
	parent INTEGER REFERENCES module_call, -- null: outermost
	instance INTEGER NOT NULL REFERENCES module_instance,
	submodule INTEGER REFERENCES submodule -- if the name of the instance never changes; null: the name changes, or nothing inside holds bytes
);

CREATE TABLE module_name (
	-- The names that the framework has for modules, and when they held.
	-- The framework tells all names at once, now and then. A row is the tellings in a row with one name for an address. A name
	-- holds between two tellings that agree.
	process INTEGER NOT NULL REFERENCES process,
	address INTEGER NOT NULL,         -- module_instance.address
	model TEXT NOT NULL,              -- class of the outermost module, and which of them: Sequential#1
	name TEXT NOT NULL,               -- inside the model: layers.0.fc1; "": the model itself
	first_seq INTEGER NOT NULL,       -- events with which the first and the last of these tellings began
	last_seq INTEGER NOT NULL,
	PRIMARY KEY (process, address, first_seq)
) WITHOUT ROWID;

CREATE TABLE submodule (
	-- The modules that hold bytes, and those around them, as a tree by name.
	-- A row for each part of a name. A module without a name has its class and a number, below the module that called it.
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	parent INTEGER REFERENCES submodule, -- null: a model, or a module without a name that no other called
	word TEXT NOT NULL,               -- "layers", "0", "Softmax 2"; of a model "Sequential#1"
	path TEXT NOT NULL,               -- "layers.0.fc1", "layers.0 > Softmax 2", "Transformer > EncoderLayer 3"
	pattern TEXT NOT NULL,            -- the path, with * for every number: "layers.*.fc1"
	type TEXT,                        -- its class; null: no call was recorded
	named INTEGER NOT NULL,           -- 1: by its name; 0: by its class
	depth INTEGER NOT NULL            -- from 1
);
CREATE INDEX submodule_parent ON submodule (parent);

CREATE TABLE stack_node (
	-- Call stacks as a tree. The innermost node names a stack; parent leads outwards.
	id INTEGER PRIMARY KEY,
	parent INTEGER REFERENCES stack_node, -- null: outermost
	frame INTEGER NOT NULL REFERENCES frame,
	module_call INTEGER REFERENCES module_call -- the frame calls the innermost instance of this row; null: the parent's row holds
);

CREATE TABLE site (
	-- A source of bytes: a stack of a process on a device, in one phase and category.
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	device INTEGER NOT NULL REFERENCES device,
	node INTEGER REFERENCES stack_node, -- null: no stack was recorded
	memory TEXT NOT NULL,             -- tensor, driver
	phase TEXT NOT NULL,
	category TEXT NOT NULL,           -- its kind, from how its allocations lived
	owner TEXT NOT NULL,
	tensors_inside INTEGER NOT NULL,  -- 1: driver memory of the framework's allocator, also before its first tensor
	evidence TEXT NOT NULL,           -- evidence for the category; empty: none
	decided_by TEXT NOT NULL,         -- the frame that decided the phase, and its rule; empty: none
	known TEXT NOT NULL,              -- how the category is known: census (the framework named it), rule, probable
	words INTEGER,                    -- words of the vocabulary, if its allocations are tokens x words x element bytes; null: not
	element INTEGER                   -- known, and the next one, too
);

CREATE TABLE outlived_step (
	-- Sums of the memory that outlived the step that allocated it.
	-- Memory that went in its own step is not here. Memory that went in the next step is here for the first such step of a site, and
	-- for the last step. Bytes count whether they are resident or not. Steps are multiples of steps_ended.grain.
	site INTEGER NOT NULL REFERENCES site,
	step INTEGER NOT NULL,            -- step of the allocation
	until_step INTEGER,               -- step of the free; null: never freed
	bytes INTEGER NOT NULL,
	count INTEGER NOT NULL            -- allocations
);

CREATE TABLE steps_ended (
	-- The ended steps of a process. No row: no step ended.
	process INTEGER PRIMARY KEY REFERENCES process,
	first_step INTEGER NOT NULL,
	last_step INTEGER NOT NULL,
	grain INTEGER NOT NULL            -- steps in one row of outlived_step: 1, or more in a long run
);

CREATE TABLE peak (
	-- The highest bytes of a device.
	-- For a GPU: memory taken from the driver; for the CPU: tensors.
	device INTEGER PRIMARY KEY REFERENCES device,
	bytes INTEGER NOT NULL,
	slack_bytes INTEGER NOT NULL,     -- the part held by the caching allocator, not by a tensor
	time INTEGER NOT NULL,
	seq INTEGER NOT NULL,             -- number of the event in its process
	process INTEGER NOT NULL REFERENCES process,
	step INTEGER NOT NULL,
	phase TEXT NOT NULL,
	role TEXT NOT NULL,
	imported_bytes INTEGER NOT NULL,  -- in addition: used here, held and counted by another process
	requested_bytes INTEGER,          -- requested bytes of tensors; null: only the sizes of blocks are known
	block_bytes INTEGER,              -- bytes of the caching allocator's blocks (torch.cuda.memory_allocated)
	block_bytes_exact INTEGER         -- 0: block_bytes is a lower bound
);

CREATE TABLE peak_part (
	-- The bytes of each site at the peak of its device.
	-- A partition: the bytes of a device add up to peak.bytes, by any of the columns.
	site INTEGER PRIMARY KEY REFERENCES site,
	device INTEGER NOT NULL REFERENCES device,
	process INTEGER NOT NULL REFERENCES process,
	phase TEXT NOT NULL,              -- in which the bytes were allocated
	category TEXT NOT NULL,
	owner TEXT NOT NULL,
	bytes INTEGER NOT NULL,
	count INTEGER NOT NULL            -- allocations
);

CREATE TABLE site_module (
	-- The module of a site's stack: that of its innermost call. No row: the stack calls none.
	site INTEGER PRIMARY KEY REFERENCES site,
	submodule INTEGER NOT NULL REFERENCES submodule,
	alike INTEGER NOT NULL            -- equal for sites of one stack with module paths that differ in numbers alone
);

CREATE TABLE peak_module (
	-- The modules of the peak's bytes.
	-- The module of the parameter, if the census names the allocation. Else the module of the stack. A partition: the
	-- bytes of a site add up to peak_part.bytes.
	site INTEGER NOT NULL REFERENCES site,
	submodule INTEGER REFERENCES submodule, -- null: outside any module
	bytes INTEGER NOT NULL,
	count INTEGER NOT NULL            -- allocations; an allocation of several modules counts once
);

CREATE VIEW peak_module_site AS
	-- The rows of peak_module, with the columns of their sites and the path of the module.
	SELECT peak_part.device AS device, peak_part.process AS process, peak_part.site AS site, peak_module.submodule AS submodule,
		path, type, peak_part.phase AS phase, peak_part.category AS category, peak_module.bytes AS bytes,
		peak_module.count AS count
	FROM peak_module JOIN peak_part USING (site) LEFT JOIN submodule ON submodule.id = peak_module.submodule;

CREATE TABLE phase_peak (
	-- The highest bytes of a device while a process worked in a phase.
	-- A process that waits, in whatever phase, does nothing.
	device INTEGER NOT NULL REFERENCES device,
	phase TEXT NOT NULL,
	bytes INTEGER NOT NULL,
	time INTEGER NOT NULL,
	seq INTEGER NOT NULL,             -- number of the event in its process
	process INTEGER NOT NULL REFERENCES process,
	step INTEGER NOT NULL,
	tensor_bytes INTEGER NOT NULL,    -- the most in tensors meanwhile, at whatever moment
	PRIMARY KEY (device, phase)
);

CREATE TABLE gpu_total (
	-- NVML's figures (nvidia-smi) at a peak, or at the sample nearest to it.
	-- At or after the peak, if there is such a sample. If the bytes of the processes are known they add up: process = recorded +
	-- context + code + graph + pool + earlier + unexplained. Processes are sampled one after the other. Processes without a
	-- sample at that time are absent, and their bytes count as other processes.
	device INTEGER NOT NULL REFERENCES device,
	peak TEXT NOT NULL,               -- peak, or the phase whose peak it is
	time INTEGER NOT NULL,            -- time of the sample
	processes INTEGER NOT NULL,       -- recorded processes of the device with a sample at that time
	absent INTEGER NOT NULL,          -- recorded processes of the device without a sample
	used_bytes INTEGER NOT NULL,      -- bytes in use on the GPU, by all processes
	total_bytes INTEGER NOT NULL,     -- bytes of the GPU for programs
	recorded_bytes INTEGER NOT NULL,  -- held by recorded calls of these processes at that time
	process_bytes INTEGER,            -- bytes of these processes; null, like the following ones: NVML does not say
	context_bytes INTEGER,
	code_bytes INTEGER,               -- loaded modules and libraries
	graph_bytes INTEGER,              -- executable graphs
	pool_bytes INTEGER,               -- freed memory that pools keep
	earlier_bytes INTEGER,            -- any of these, from before the recording began
	unexplained_bytes INTEGER,        -- below 0: recorded, but not on the GPU (managed memory)
	others_bytes INTEGER,             -- used by all other processes, and by the driver itself
	mixed TEXT NOT NULL,              -- "context with code": some of the first may be the second
	PRIMARY KEY (device, peak)
);

CREATE TABLE host_memory (
	-- Host memory of a process at its last sample, and the highest values of two columns. No row: no sample.
	process INTEGER PRIMARY KEY REFERENCES process,
	time INTEGER NOT NULL,
	rss_bytes INTEGER NOT NULL,
	pinned_bytes INTEGER NOT NULL,    -- page-locked by the driver
	most_rss_bytes INTEGER NOT NULL,
	most_pinned_bytes INTEGER NOT NULL,
	cgroup_bytes INTEGER NOT NULL,    -- without file cache
	cgroup_limit_bytes INTEGER,       -- null: none
	available_bytes INTEGER NOT NULL, -- bytes of the machine
	killed INTEGER NOT NULL,          -- processes of the cgroup that the kernel killed for lack of memory
	pressure TEXT,                    -- the limit that was nearly used up: cgroup, machine; null: none
	verdict TEXT                      -- why the process is gone: killed, cgroup, machine, left (in order, while one of the
					  -- two was used up); null: not by the host's memory
);

CREATE TABLE oom (
	-- Out-of-memory errors.
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	device INTEGER NOT NULL REFERENCES device,
	source TEXT NOT NULL,             -- tensor: the framework's allocator gave up; driver: the driver refused
	time INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	requested_bytes INTEGER NOT NULL,
	free_bytes INTEGER,               -- free bytes of the device; null: unknown
	free_by TEXT NOT NULL,            -- source of the figure: driver (the program asked), nvml, bound (total minus held bytes)
	others_bytes INTEGER,             -- bytes of the device in use by others than the process; null: unknown
	phase TEXT NOT NULL,
	step INTEGER NOT NULL,
	node INTEGER REFERENCES stack_node,
	role TEXT NOT NULL,
	category TEXT NOT NULL,           -- kind of the request, by a rule of its stack or by its phase: its life is unknown
	had INTEGER NOT NULL,             -- 1: the driver refused, and gave the process as many bytes within a second: nothing failed
	submodule INTEGER REFERENCES submodule -- the running module; null: none
);

CREATE TABLE oom_holder (
	-- The bytes that each process held when a request failed, by recorded calls.
	oom INTEGER NOT NULL REFERENCES oom,
	process INTEGER NOT NULL REFERENCES process,
	held_bytes INTEGER NOT NULL,
	slack_bytes INTEGER NOT NULL,     -- the part reserved by the caching allocator, in no tensor
	PRIMARY KEY (oom, process)
);

CREATE TABLE parameter (
	-- The census: the tensors of models and optimizers, named by the framework.
	-- A row for each tensor in each census. Rows of one census are from nearly one moment.
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	census INTEGER NOT NULL,          -- which of the process's, from 1
	newest INTEGER NOT NULL,          -- 1: the newest census of this optimizer, or of models without an optimizer
	time INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	name TEXT NOT NULL,               -- name of the parameter; "": in no module
	pattern TEXT NOT NULL,            -- the name with * for every number, equal for all layers
	what TEXT NOT NULL,               -- weights, buffers, gradients, optimizer state, master weights
	state TEXT,                       -- the optimizer's name for it: exp_avg; null: the parameter or its gradient itself
	model TEXT,                       -- class of the outermost module, and which of them; this and the next: null, none
	module TEXT,                      -- class of the module of the parameter
	optimizer TEXT,                   -- class and number of the optimizer; null: none
	dtype TEXT,
	shape TEXT,                       -- shape of the whole: 151936x896
	local_shape TEXT,                 -- shape of the part on this process
	device TEXT,                      -- cuda:0, cpu; null: another
	address INTEGER NOT NULL,         -- 0: the tensor has no bytes here at the census
	bytes INTEGER NOT NULL,           -- its own
	tied INTEGER NOT NULL,            -- 1: the same memory has another name in this census, too
	block_seq INTEGER,                -- allocation.alloc_seq of its block; null: not recorded
	block_bytes INTEGER,
	site INTEGER REFERENCES site      -- site of that allocation; null: not recorded
);
CREATE INDEX parameter_site ON parameter (site);

CREATE TABLE lost_events (
	-- Events that could not be recorded, by reason.
	process INTEGER NOT NULL REFERENCES process,
	reason TEXT NOT NULL,
	events INTEGER NOT NULL,
	records INTEGER NOT NULL,         -- number of losses with this reason
	first_time INTEGER NOT NULL,
	last_time INTEGER NOT NULL,
	PRIMARY KEY (process, reason)
);

CREATE TABLE source (
	-- The sources of events: recorded or not, and why.
	process INTEGER NOT NULL REFERENCES process,
	name TEXT NOT NULL,
	state TEXT NOT NULL,              -- on, off, failed
	why TEXT NOT NULL,
	time INTEGER NOT NULL,            -- time of its newest change
	PRIMARY KEY (process, name)
);

-- From here on: filled by `memana load` only.

CREATE TABLE allocation_raw (
	-- Every allocation from birth to death, without the columns of its site. Ask the view allocation.
	id INTEGER PRIMARY KEY,           -- in order of death; memory that was never freed is at the end of its process, in order of birth
	process INTEGER NOT NULL REFERENCES process,
	device INTEGER NOT NULL REFERENCES device, -- the site's
	site INTEGER NOT NULL REFERENCES site,
	memory TEXT NOT NULL,             -- tensor; driver memory: device, async-pool, managed, pinned, array, imported, host
	address INTEGER NOT NULL,         -- or the handle of physical memory without an address
	bytes INTEGER NOT NULL,
	alloc_seq INTEGER NOT NULL,
	alloc_time INTEGER NOT NULL,
	free_seq INTEGER,                 -- null: never freed; ended with its process (process.over_time)
	free_time INTEGER,
	thread INTEGER REFERENCES thread,
	step INTEGER NOT NULL,            -- in which it was allocated
	free_step INTEGER,
	free_node INTEGER REFERENCES stack_node, -- stack that freed it; null: never freed, its free was missed, or no stack was recorded
	tensors_inside INTEGER NOT NULL,  -- 1: driver memory that the framework's allocator has cut into tensors
	at_home INTEGER NOT NULL,         -- 1: freed in the phase and step in which it was allocated
	allocations INTEGER NOT NULL      -- 1; more in a sum of a report: bytes of all, other columns of the first
);

CREATE VIEW allocation AS
	-- Every allocation, with phase and category. Driver memory that tensors live in is a row of its own.
	-- Add up one kind of memory at a time. caching: the allocator of the framework asked for it, to cut it into tensors, whether it
	-- has or not. SQLite leaves the left join out where nothing of the site is asked for, but not of sums. The sign in +site keeps
	-- the site from being the outer one.
	SELECT allocation_raw.id AS id, allocation_raw.process AS process, allocation_raw.device AS device, allocation_raw.memory AS memory, address, bytes,
		alloc_seq, alloc_time, free_seq, free_time, allocation_raw.site AS site, site.node AS node, thread, site.phase AS phase,
		CASE WHEN allocation_raw.tensors_inside THEN 'allocator slack' ELSE site.category END AS category,
		step, free_step, free_node, allocation_raw.tensors_inside AS tensors_inside, at_home, site.tensors_inside AS caching, allocations
	FROM allocation_raw LEFT JOIN site ON site.id = +allocation_raw.site;

CREATE VIEW segment AS
	-- The segments that the caching allocator took from the driver.
	SELECT id, process, device, memory, address, bytes, alloc_seq, alloc_time, free_seq, free_time, site, phase, step
	FROM allocation WHERE tensors_inside;

CREATE TABLE allocation_module (
	-- The modules of allocations of which the census tells: that of the parameter.
	-- An allocation without a row here belongs to the module of its site (site_module). One that holds parameters of several modules
	-- has several rows.
	process INTEGER NOT NULL REFERENCES process,
	alloc_seq INTEGER NOT NULL,       -- allocation_raw.alloc_seq
	submodule INTEGER REFERENCES submodule, -- null: a parameter of no module
	bytes INTEGER NOT NULL
);
CREATE INDEX allocation_module_seq ON allocation_module (process, alloc_seq);

CREATE TABLE mapping (
	-- Physical memory of the GPU, mapped at an address for a while.
	-- Handles of the driver's virtual memory management. The expandable segments of PyTorch are runs of these. Pools that sleep
	-- lose theirs and get them back.
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	address INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	handle INTEGER NOT NULL,          -- the address of the allocation whose memory it is
	map_seq INTEGER NOT NULL,
	map_time INTEGER NOT NULL,
	unmap_seq INTEGER,                -- null: never
	unmap_time INTEGER,
	allocation INTEGER REFERENCES allocation_raw -- allocation behind the handle; null: not recorded. Numbers of handles come again
);

CREATE VIEW reserved_range AS
	-- The ranges that the caching allocator may cut into tensors: segments, and mapped memory.
	-- Mapped memory that never had a tensor is here, too: of another owner, if no neighbour in the same run of mappings had one.
	SELECT site, process, device, address, bytes, 0 AS mapped, 1 AS tensors_inside,
		alloc_seq AS since_seq, alloc_time AS since_time, free_seq AS until_seq, free_time AS until_time
	FROM segment WHERE (process, address) NOT IN (SELECT process, handle FROM mapping)
	UNION ALL
	SELECT handle.site, handle.process, handle.device, mapping.address, mapping.bytes, 1, handle.tensors_inside,
		map_seq, map_time, unmap_seq, unmap_time
	FROM mapping JOIN allocation AS handle ON handle.id = mapping.allocation
	WHERE handle.memory NOT IN ('imported', 'multicast');

CREATE TABLE resident_span (
	-- The resident bytes of tensors over time, for pools that sleep.
	-- Such pools (vLLM's sleep mode, torch_memory_saver) keep their addresses and give the pages away. A tensor has a row for each
	-- span of its life, one after the other. A tensor without rows had all of its bytes all of its life.
	allocation INTEGER NOT NULL REFERENCES allocation_raw,
	since_seq INTEGER NOT NULL,
	since_time INTEGER NOT NULL,
	since_step INTEGER NOT NULL,
	until_seq INTEGER,                -- the next stretch begins, or the tensor is freed; null: never
	until_time INTEGER,
	until_step INTEGER,
	bytes INTEGER NOT NULL,           -- resident bytes; 0: asleep
	PRIMARY KEY (allocation, since_seq)
) WITHOUT ROWID;

CREATE TABLE gpu_sample (
	-- NVML's figures, sample by sample.
	process INTEGER NOT NULL REFERENCES process, -- process of the collector that took the sample
	device INTEGER NOT NULL REFERENCES device,
	time INTEGER NOT NULL,
	used_bytes INTEGER NOT NULL,      -- by everybody
	total_bytes INTEGER NOT NULL,     -- bytes that the GPU has for programs
	process_bytes INTEGER,            -- null: NVML does not tell
	recorded_bytes INTEGER,           -- held by recorded calls; null, like the following ones: memory moved during the sample
	context_bytes INTEGER,            -- these as in gpu_total; older where process_bytes is null
	code_bytes INTEGER,
	graph_bytes INTEGER,
	pool_bytes INTEGER,
	earlier_bytes INTEGER,
	unexplained_bytes INTEGER,
	mixed INTEGER                     -- bit 5 * a + b: some of the a-th of the five may be the b-th
);

CREATE VIEW gpu_unrecorded AS
	-- NVML's bytes beyond the recorded calls: context, code, graphs, pools, unexplained, together.
	SELECT process, device, time, process_bytes - recorded_bytes AS bytes
	FROM gpu_sample WHERE process_bytes IS NOT NULL AND recorded_bytes IS NOT NULL;

CREATE TABLE host_sample (
	-- Host memory, sample by sample.
	process INTEGER NOT NULL REFERENCES process,
	time INTEGER NOT NULL,
	rss_bytes INTEGER,                -- null: the process was gone
	pinned_bytes INTEGER NOT NULL,
	cgroup_bytes INTEGER NOT NULL,
	cgroup_limit_bytes INTEGER,       -- null: none
	available_bytes INTEGER NOT NULL,
	killed INTEGER NOT NULL
);

CREATE TABLE phase_span (
	-- A time in which a process was in one phase of one step.
	id INTEGER PRIMARY KEY,
	process INTEGER NOT NULL REFERENCES process,
	phase TEXT NOT NULL,
	step INTEGER NOT NULL,
	first_seq INTEGER NOT NULL,
	last_seq INTEGER NOT NULL,
	first_time INTEGER NOT NULL,
	last_time INTEGER NOT NULL
);

CREATE TABLE step (
	-- A training step that ended. Its events have a seq after begin_seq and before end_seq.
	process INTEGER NOT NULL REFERENCES process,
	step INTEGER NOT NULL,
	begin_seq INTEGER NOT NULL,
	begin_time INTEGER NOT NULL,
	end_seq INTEGER NOT NULL,
	end_time INTEGER NOT NULL,
	closed_by TEXT NOT NULL
);

CREATE TABLE step_device (
	-- Peak and bytes of each step on each device.
	-- The step that the recording ended in has rows too, with the bytes at the end.
	process INTEGER NOT NULL REFERENCES process,
	step INTEGER NOT NULL,
	device INTEGER NOT NULL REFERENCES device,
	peak_bytes INTEGER NOT NULL,      -- the most that the device held meanwhile, for all processes
	peak_time INTEGER NOT NULL,
	peak_phase TEXT NOT NULL,         -- phase of the process at that moment
	held_bytes INTEGER NOT NULL,      -- at its end, by the process
	slack_bytes INTEGER NOT NULL,     -- the part reserved by the caching allocator, in no tensor
	tensor_bytes INTEGER NOT NULL,    -- at its end: tensors of the process, resident or not
	peak_tensor_bytes INTEGER NOT NULL, -- the part of peak_bytes in tensors
	peak_process INTEGER NOT NULL REFERENCES process, -- after an event of which the peak stood,
	peak_seq INTEGER NOT NULL,        -- and which event
	peak_role TEXT NOT NULL           -- role of that process then
);

CREATE TABLE step_let_go (
	-- Steps with events removed by --keep, from the recorder's notes.
	-- These steps are in no other table.
	process INTEGER NOT NULL REFERENCES process,
	device INTEGER NOT NULL REFERENCES device,
	step INTEGER NOT NULL,            -- the last step of the row
	steps INTEGER NOT NULL,           -- how many there are
	end_time INTEGER NOT NULL,        -- end of the last one
	peak_bytes INTEGER NOT NULL,      -- the most that the process held meanwhile
	peak_phase TEXT NOT NULL,         -- phase of the event that made the peak
	held_bytes INTEGER NOT NULL,      -- by the process, at the end of the last one
	slack_bytes INTEGER NOT NULL,     -- the part reserved by the caching allocator, in no tensor
	tensor_bytes INTEGER NOT NULL     -- tensors of the process then, resident or not
);

CREATE TABLE named_moment (
	-- Instants with a name, such as peak, oom, end, step:3, step:3:end.
	-- Places in the order of all events. Once for each process and device: start (nothing of the recording has happened), step:N:end
	-- (step N has just ended), end. Once for each device: peak, phase:NAME (the peak of that phase), step:N (the peak while a process
	-- was in step N), oom:N (the request of oom N has just failed). oom is the newest of them.
	name TEXT NOT NULL,
	process INTEGER NOT NULL REFERENCES process,
	device INTEGER NOT NULL REFERENCES device,
	time INTEGER NOT NULL,
	seq INTEGER NOT NULL              -- number of the newest event in the process that counts
);

CREATE TABLE timeline (
	-- Every move of bytes in the order of events, in blocks of 65536: for the screen.
	-- Each move has four numbers of seven bits a byte, the lowest first and the highest bit set if more follow; signed ones as n * 2,
	-- or -n * 2 - 1. The numbers: ns since the move before (of the first in a block: since 0), site * 4 + slack * 2 + whether the
	-- next is of the same event, bytes, allocations.
	block INTEGER PRIMARY KEY,
	events INTEGER NOT NULL,
	moves BLOB NOT NULL
);

CREATE TABLE timeline_mark (
	-- The points on the timeline at which a device had its peak, or a request failed.
	-- The number of events at that time that come before.
	device INTEGER NOT NULL REFERENCES device,
	oom INTEGER REFERENCES oom,       -- null: the peak
	changes INTEGER NOT NULL
);

CREATE TABLE place_name (
	-- The places, each once: many stacks have the same one.
	id INTEGER PRIMARY KEY,
	function TEXT NOT NULL,           -- "": unknown
	file TEXT NOT NULL,               -- "": unknown
	line INTEGER NOT NULL,            -- 0: unknown
	place TEXT NOT NULL               -- file name and line, or module and offset
);

CREATE TABLE place_node (
	-- The place of each stack.
	node INTEGER PRIMARY KEY REFERENCES stack_node,
	place_id INTEGER NOT NULL REFERENCES place_name
);

CREATE VIEW place AS
	-- The line of the user's own code at which a stack allocates or frees. Join it by node.
	-- The line is in no helper that everybody calls.
	SELECT node, (SELECT function FROM place_name WHERE id = place_id) AS function,
		(SELECT file FROM place_name WHERE id = place_id) AS file, (SELECT line FROM place_name WHERE id = place_id) AS line,
		(SELECT place FROM place_name WHERE id = place_id) AS place
	FROM place_node;

CREATE VIEW allocation_span AS
	-- Allocations by the spans of time in which their bytes were there.
	-- From since_ on, until before until_ (null: to the end). asleep_bytes were not there. One span, but for the tensors of
	-- resident_span. in_use: memory that counts as in use, as in in_use_span.
	SELECT id, process, device, memory, address,
		coalesce(resident_span.bytes, allocation.bytes) AS bytes,
		allocation.bytes - coalesce(resident_span.bytes, allocation.bytes) AS asleep_bytes,
		coalesce(since_seq, alloc_seq) AS since_seq, coalesce(since_time, alloc_time) AS since_time,
		coalesce(since_step, step) AS since_step,
		CASE WHEN resident_span.allocation IS NULL THEN free_seq ELSE until_seq END AS until_seq,
		CASE WHEN resident_span.allocation IS NULL THEN free_time ELSE until_time END AS until_time,
		CASE WHEN resident_span.allocation IS NULL THEN free_step ELSE until_step END AS until_step,
		alloc_seq, alloc_time, free_seq, free_time, site, node, thread, phase, category, step, free_step, free_node,
		tensors_inside, allocations,
		memory = 'tensor' OR (NOT caching AND memory NOT IN ('pinned', 'host', 'imported', 'multicast')) AS in_use
	FROM allocation LEFT JOIN resident_span ON resident_span.allocation = allocation.id;

CREATE VIEW in_use_span AS
	-- Memory of a device that is in use for something.
	-- Memory that the caching allocator cuts into tensors counts as these tensors. The bytes of a process on a device add up: with
	-- the slack of the allocator they are the bytes that it holds.
	SELECT * FROM allocation_span WHERE in_use;

CREATE VIEW live_at AS
	-- The live set at a moment: with moment = 'peak' AND in_use it adds up to the device's bytes.
	-- All processes are in it. bytes are resident, asleep_bytes are not. moment: a name of named_moment. Ask for one moment, and where
	-- several processes have it, for one at_process.
	SELECT named_moment.name AS moment, named_moment.process AS at_process, named_moment.time AS at_time, allocation.id AS allocation,
		allocation.device, allocation.process, allocation.memory, allocation.tensors_inside, allocation.in_use,
		allocation.bytes, allocation.asleep_bytes, allocation.phase, allocation.category, site.owner,
		allocation.step, allocation.alloc_time, allocation.site, allocation.node, place.function, place.file, place.line, place.place
	FROM named_moment
	JOIN allocation_span AS allocation ON alloc_time <= named_moment.time AND (free_time IS NULL OR free_time >= named_moment.time)
		AND allocation.device = named_moment.device
		AND (since_time, allocation.process, since_seq) <= (named_moment.time, named_moment.process, named_moment.seq)
		AND CASE WHEN until_seq IS NULL THEN ifnull((SELECT (over_time, id, over_seq) > (named_moment.time, named_moment.process,
			named_moment.seq) FROM process AS owner WHERE owner.id = allocation.process), 1)
		ELSE (until_time, allocation.process, until_seq) > (named_moment.time, named_moment.process, named_moment.seq) END
	LEFT JOIN site ON site.id = allocation.site
	LEFT JOIN place ON place.node = allocation.node;

-- The views for people (.tables). device is the number of memana top --device NUMBER.

CREATE VIEW bytes_by_place AS
	-- The bytes at the peak of each device, by place, phase and category, largest first.
	-- Idle memory of the caching allocator is with the place that asked for the segment.
	SELECT device.number AS device, place.place AS place, place.function AS function, part.phase AS phase,
		part.category AS category, sum(part.bytes) AS bytes,
		round(100.0 * sum(part.bytes) / nullif(peak.bytes, 0), 1) AS percent, sum(part.count) AS count
	FROM peak_part AS part
	JOIN device ON device.id = part.device
	JOIN peak ON peak.device = part.device
	JOIN site ON site.id = part.site
	LEFT JOIN place ON place.node = site.node
	GROUP BY part.device, place.function, place.file, place.line, place.place, part.phase, part.category
	ORDER BY device.number, sum(part.bytes) DESC, min(part.site);

CREATE VIEW bytes_by_module AS
	-- The bytes at the peak of each device, by module, phase and category, largest first.
	-- module null: outside any module.
	SELECT device.number AS device, path AS module, type, part.phase AS phase, category, sum(part.bytes) AS bytes,
		round(100.0 * sum(part.bytes) / nullif(peak.bytes, 0), 1) AS percent, sum(part.count) AS count
	FROM peak_module_site AS part
	JOIN device ON device.id = part.device
	JOIN peak ON peak.device = part.device
	GROUP BY part.device, path, type, part.phase, category
	ORDER BY device.number, sum(part.bytes) DESC, path, part.phase, category;

CREATE VIEW bytes_by_step AS
	-- The bytes of each step on each device: the peak of all processes, and the end of the step by process.
	-- The names of the columns are those of step_device.
	SELECT part.step AS step, device.number AS device, process.rank AS rank, process.pid AS pid, peak_bytes, peak_phase,
		peak_tensor_bytes, held_bytes, slack_bytes, tensor_bytes
	FROM step_device AS part
	JOIN device ON device.id = part.device
	JOIN process ON process.id = part.process
	ORDER BY part.step, device.number, process.id;
