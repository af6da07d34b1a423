
/* page.js - what is alive at the cursor, the tables that do not depend on it, and what one can do. */

// ---- what is alive --------------------------------------------------------------------------------------------------

// Rows as in memana top: a line of the code, in one phase and of one category.
function siteRows() {
	const { cells, texts, phases, categories } = page.doc, rows = new Map();

	page.live.bytes.forEach((bytes, at) => {
		const key = [cells.function[at], cells.place[at], cells.phase[at], cells.category[at]].join();
		const row = rows.get(key) ?? { bytes: 0, count: 0, largest: at, phase: phases[cells.phase[at]].name,
			category: categories[cells.category[at]].name, function: texts[cells.function[at]], place: texts[cells.place[at]] };

		if (bytes <= 0)
			return;
		row.bytes += bytes;
		row.count += page.live.count[at];
		row.largest = bytes > page.live.bytes[row.largest] ? at : row.largest;
		rows.set(key, row);
	});
	return [...rows.values()].sort((a, b) => b.bytes - a.bytes);
}

function placeWords(name, place) {
	return name && place && name !== place ? name + " (" + place + ")" : name || place;
}

function frameWords(frame) {
	const { frames, texts } = page.doc;

	return placeWords(texts[frames.function[frame]], texts[frames.place[frame]]);
}

// Innermost first.
function stackOf(at) {
	const { nodes, cells } = page.doc, words = [];

	for (let node = cells.node[at]; node; node = nodes.parent[node - 1])
		words.push(frameWords(nodes.frame[node - 1]));
	return words.length ? words : ["no stack was recorded"];
}

function toggleStack(line, at) {
	const open = line.querySelector(".stack");

	if (open)
		open.remove();
	else
		line.lastChild.append(make("ul", { className: "stack" }, ...stackOf(at).map((words) => make("li", {}, words))));
}

// The line does this when it is clicked, or by the Enter key.
function act(line, does) {
	line.dataset.go = "";
	line.tabIndex = 0;
	line.onclick = does;
	line.onkeydown = (event) => {
		if (event.key === "Enter")
			does();
	};
}

function showSites() {
	const asked = $("search").value.toLowerCase(), whole = page.device.held[page.at];
	const isAsked = (row) => [row.phase, row.category, row.function, row.place].some((text) => text.toLowerCase().includes(asked));
	const rows = siteRows().filter(isAsked), sum = rows.reduce((bytes, row) => bytes + row.bytes, 0);
	const swatch = (at) => make("span", { className: "swatch", style: "background: " + page.layers.list[page.layers.of[at]].colour });

	fillTable("sites", [["bytes", "number", (row) => row.bytes], ["share", "number wide", (row) => percent(row.bytes, whole)],
		["count", "number wide", (row) => number(row.count)], ["phase", "wide", (row) => row.phase], ["category", "", (row) => row.category],
		["place", "free", (row) => [swatch(row.largest), placeWords(row.function, row.place) || "unknown"]],
	], rows.slice(0, page.rows), (line, row) => {
		Object.assign(line.dataset, { bytes: row.bytes, count: row.count });
		act(line, () => toggleStack(line, row.largest));
	});
	$("more").hidden = rows.length <= page.rows;
	$("found").textContent = number(rows.length) + (rows.length === 1 ? " place, " : " places, ") + bytesOf(sum);
	Object.assign($("sites").dataset, { bytes: sum, rows: rows.length });
}

// ---- stacks ---------------------------------------------------------------------------------------------------------

// Bytes of each node with all below it, and the layer that has most of them.
function flameTree() {
	const { nodes, cells } = page.doc, size = nodes.parent.length + 1, bytes = new Float64Array(size), most = new Float64Array(size);
	const layer = new Uint8Array(size), child = Array.from({ length: size }, () => []);

	page.live.bytes.forEach((value, at) => {
		for (let node = value > 0 ? cells.node[at] : -1; node >= 0; node = node ? nodes.parent[node - 1] : -1) {
			bytes[node] += value;
			if (value > most[node]) {
				most[node] = value;
				layer[node] = page.layers.of[at];
			}
		}
	});
	nodes.parent.forEach((parent, at) => bytes[at + 1] > 0 && child[parent].push(at + 1));
	child.forEach((list) => list.sort((a, b) => bytes[b] - bytes[a]));
	return { bytes, layer, child };
}

const nodeWords = (node) => node ? frameWords(page.doc.nodes.frame[node - 1]) : "all that is held";

// Boxes of the tree below the node that is enlarged, the callers of it above.
function flameBoxes(tree, width) {
	const boxes = [], path = [], parents = page.doc.nodes.parent;
	let deepest = 0;
	const place = (node, depth, x, scale) => {
		const wide = tree.bytes[node] * scale;

		boxes.push({ node, depth, x, wide });
		deepest = Math.max(deepest, depth);
		for (const next of wide > 1 && depth < 200 ? tree.child[node] : []) {
			if (tree.bytes[next] * scale >= 0.5)
				place(next, depth + 1, x, scale);
			x += tree.bytes[next] * scale;
		}
	};

	if (!tree.bytes[page.root])
		page.root = 0;
	for (let node = page.root; node; node = parents[node - 1])
		path.unshift(parents[node - 1]);
	path.forEach((node, depth) => boxes.push({ node, depth, x: 0, wide: width }));
	place(page.root, path.length, 0, tree.bytes[page.root] ? width / tree.bytes[page.root] : 0);
	return { boxes, rows: deepest + 1 };
}

function drawFlame() {
	const canvas = $("flame"), width = Math.max(1, $("flame-box").clientWidth), tree = flameTree(), { boxes, rows } = flameBoxes(tree, width);

	canvas.style.height = rows * 19 + "px";
	const context = fit(canvas, width, rows * 19);

	context.clearRect(0, 0, width, rows * 19);
	for (const box of boxes) {
		context.fillStyle = box.node ? page.layers.list[tree.layer[box.node]].colour : css("--line");
		context.globalAlpha = box.depth % 2 ? 0.86 : 1;
		context.fillRect(box.x, box.depth * 19, Math.max(0.5, box.wide - 1), 18);
		context.globalAlpha = 1;
		if (box.wide > 36)
			inside(context, box, nodeWords(box.node) + "  " + bytesOf(tree.bytes[box.node]));
	}
	page.flame = { tree, boxes };
	canvas.dataset.bytes = tree.bytes[0];
}

// As much of the words as there is room for.
function inside(context, { node, x, depth, wide }, words) {
	context.fillStyle = node ? "#000" : css("--text");
	context.save();
	context.beginPath();
	context.rect(x + 4, depth * 19, wide - 8, 19);
	context.clip();
	context.fillText(words.slice(0, Math.ceil(wide / 3)), x + 4, depth * 19 + 13);
	context.restore();
}

function boxAt(event) {
	const box = $("flame").getBoundingClientRect(), x = event.clientX - box.left, depth = Math.floor((event.clientY - box.top) / 19);

	return page.flame.boxes.find((it) => it.depth === depth && x >= it.x && x < it.x + it.wide);
}

function tip(event, words) {
	const element = $("tip");

	element.hidden = !words;
	element.textContent = words || "";
	if (!words)
		return;
	const { width, height } = element.getBoundingClientRect();

	element.style.left = Math.max(4, Math.min(event.clientX + 12, window.innerWidth - width - 8)) + "px";
	element.style.top = (event.clientY + 16 + height > window.innerHeight ? event.clientY - height - 8 : event.clientY + 16) + "px";
}

// ---- tables that do not depend on the cursor ------------------------------------------------------------------------

function showModules() {
	const lines = page.doc.modules[page.devices.indexOf(page.device)] ?? [], open = new Set(), parents = new Set(lines.map(({ parent }) => parent));
	const depth = ({ parent }) => parent ? 1 + depth(lines[parent - 1]) : 0;
	const isShown = ({ parent }) => !parent || (open.has(parent) && isShown(lines[parent - 1]));
	const buttons = lines.map((line, at) => parents.has(at + 1) && make("button", { className: "toggle", ariaLabel: "what is inside",
		onclick: () => { open.delete(at + 1) || open.add(at + 1); refresh(); } }));
	const rows = fillTable("tree", [["bytes", "number", (line) => line.bytes],
		["share", "number wide", (line) => percent(line.bytes, page.device.row.peak_bytes)],
		...page.doc.module_columns.map((word, at) => [word, "number wide", (line) => line.columns[at] || "-"]),
		["module", "free", (line, at) => [make("span", { style: "padding-left: " + depth(line) * 16 + "px" }), buttons[at] || "", clean(line.path) + " ",
			make("span", { className: "dim" }, clean(line.type) + (line.count > 1 ? " \u00d7 " + line.count : ""))]],
	], lines, (row, { bytes, parent }) => Object.assign(row.dataset, { bytes, parent }));
	const refresh = () => lines.forEach((line, at) => {
		rows[at].hidden = !isShown(line);
		Object.assign(buttons[at], { textContent: open.has(at + 1) ? "\u2212" : "+", ariaExpanded: open.has(at + 1) });
	});

	$("modules").hidden = !lines.length;
	lines.forEach(({ parent }, at) => parent || open.add(at + 1)); // the outermost lines are open
	refresh();
}

function showSteps() {
	const { processes, steps } = page.doc, rows = steps.filter(([number]) => number === page.device.row.number);
	const several = new Set(rows.map(([, process]) => process)).size > 1;

	$("steps").hidden = !rows.length;
	$("more-steps").hidden = rows.length <= page.stepRows;
	fillTable("table-steps", [["step", "number", (row) => String(row[2])], ...several ? [["process", "", (row) => processes[row[1]].name]] : [],
		["took", "number wide", ([, , , begin, end]) => end === null ? "-" : timeOf(end - begin, (end - begin) / 500)],
		["peak", "number", (row) => row[5]], ["in", "", (row) => row[8]], ["held at its end", "number", (row) => row[6]],
		["in tensors", "number wide", (row) => row[7]],
	], rows.slice(0, page.stepRows), (line, [, , step, begin, end, peak, held]) => {
		Object.assign(line.dataset, { step, peak, held });
		if (end !== null)
			act(line, () => lookAtStep(begin, end));
	});
}

// The step fills the view, and the cursor stands at its peak.
function lookAtStep(begin, end) {
	const { device, layers } = page, from = ticksOf(begin), to = ticksOf(end), first = device.before(from), last = device.upTo(to);

	look(from - (to - from) * 0.05, to + (to - from) * 0.05);
	cursorTo(first < last ? layers.extremes(first + 1, last)[0] : first);
	$("timeline").scrollIntoView({ block: "nearest" });
}

function causeLine(cause) {
	const place = cause.place ? placeWords(clean(cause.place.function), clean(cause.place.place)) + ": " : "";
	const line = make("li", {}, make("b", {}, place + bytesOf(cause.bytes) + " of " + cause.category),
		", made in " + cause.phase + (cause.fits ? "; without it the request fits" : "") + ". ", clean(cause.action ?? ""));

	Object.assign(line.dataset, { cause: cause.id, bytes: cause.bytes });
	return line;
}

function range({ low, high }) {
	return low === high ? bytesOf(low) : bytesOf(low) + " to " + bytesOf(high);
}

// What to write where, below the name of the setting.
function settingName({ key, paste }) {
	const lines = (paste ?? "").split("\n").map(clean).join("\n");

	return lines ? [key, make("details", {}, make("summary", {}, "lines to paste"), make("pre", {}, lines))] : key;
}

function showAdvice() {
	const { advice, has_lives } = page.doc;

	$("why").hidden = false;
	if (!advice) {
		$("causes").append(make("p", { className: "note" }, has_lives ? "The recording has no history to find causes in."
			: "The run is long: memana oom and memana advise tell its causes and settings, and so does this page when it is written with --full."));
		return;
	}
	$("causes").append(make("ol", {}, ...advice.causes.filter((cause) => cause.bytes > 0).slice(0, 5).map(causeLine)));
	$("settings").hidden = !advice.knobs.length;
	fillTable("settings", [["setting", "free", settingName], ["now", "wide", ({ now }) => clean(now ?? "not known")],
		["try", "", ({ proposed }) => clean(proposed)], ["saves", "number", ({ saved_bytes: saved }) => range(saved)],
		["costs", "wide", ({ cost }) => cost],
	], advice.knobs, (line, { key }) => Object.assign(line.dataset, { key }));
}

// ---- segments -------------------------------------------------------------------------------------------------------

const SEGMENT_ROWS = 400, SEGMENT_ROW = 11;
const mapOf = (device) => page.doc.maps[page.devices.indexOf(device)]?.segments ?? [];

function drawSegments() {
	const segments = mapOf(page.device), rows = segments.slice(0, SEGMENT_ROWS), canvas = $("map");

	$("segments").hidden = !segments.length;
	if (!segments.length)
		return;
	const width = Math.max(1, $("segments").clientWidth - 26), scale = width / segments[0].bytes;

	canvas.style.height = rows.length * SEGMENT_ROW + "px";
	const context = fit(canvas, width, rows.length * SEGMENT_ROW);

	rows.forEach(({ bytes, parts }, row) => {
		context.fillStyle = css("--hole");
		context.fillRect(0, row * SEGMENT_ROW, Math.max(1, bytes * scale), SEGMENT_ROW - 2);
		for (let i = 0; i < parts.length; i += 3) {
			context.fillStyle = page.layers.list[page.layers.of[parts[i + 2]]].colour;
			context.fillRect(parts[i] * scale, row * SEGMENT_ROW, Math.max(0.5, parts[i + 1] * scale), SEGMENT_ROW - 2);
		}
	});
	showSegmentSums(segments, segments.length - rows.length + page.doc.maps[page.devices.indexOf(page.device)].left_out);
}

function showSegmentSums(segments, hidden) {
	const [total, used] = ["bytes", "used"].map((name) => segments.reduce((sum, it) => sum + it[name], 0));

	$("segment-note").textContent = segments.length + " segments, " + bytesOf(total) + "; " + bytesOf(total - used) +
		" of it in no tensor (grey)." + (hidden ? " The smallest " + hidden + " are not shown." : "");
	Object.assign($("map").dataset, { bytes: total, used, segments: segments.length });
}

function segmentTip(event) {
	const box = $("map").getBoundingClientRect(), segments = mapOf(page.device), { cells, texts, categories } = page.doc;
	const segment = segments[Math.floor((event.clientY - box.top) / SEGMENT_ROW)], offset = (event.clientX - box.left) / box.width * segments[0].bytes;

	if (!segment)
		return tip(event, "");
	for (let i = 0; i < segment.parts.length; i += 3) {
		const [from, bytes, at] = segment.parts.slice(i, i + 3);

		if (offset >= from && offset < from + bytes)
			return tip(event, bytesOf(bytes) + " of " + categories[cells.category[at]].name + "\n" +
				placeWords(texts[cells.function[at]], texts[cells.place[at]]));
	}
	return tip(event, "segment of " + bytesOf(segment.bytes) + ", " + bytesOf(segment.bytes - segment.used) + " free");
}

// ---- what one can do ------------------------------------------------------------------------------------------------

function redraw() {
	measure();
	draw();
	drawFlame();
	drawSegments();
}

function setTheme(theme) {
	document.documentElement.dataset.theme = theme;
	page.colours = {};
	if (page.device)
		redraw();
}

function setBy(by) {
	page.by = by;
	page.layers = new Layers(page.device, by);
	for (const button of $("by").children)
		button.setAttribute("aria-pressed", String(button.dataset.by === by));
	drawSegments();
	showLive();
}

function setDevice(number) {
	page.device = page.devices[number];
	page.root = 0;
	page.onDevice = new Set();
	page.device.cell.forEach((cell) => page.onDevice.add(page.doc.cells.process[cell]));
	page.stripes = stripes();
	moveCursor(page.device.peak);
	setBy(page.by);
	showVerdict();
	showModules();
	showSteps();
	showNotes();
}

function deviceName({ kind, number, name }) {
	return kind === "cpu" ? "CPU" : "GPU " + number + (name ? " (" + clean(name) + ")" : "");
}

function showVerdict() {
	const { row } = page.device, { doc } = page, of = row.total_bytes;
	const words = [deviceName(row) + ": peak " + bytesOf(row.peak_bytes), of ? " of " + bytesOf(of) + " (" + percent(row.peak_bytes, of) + ")" : "",
		row.peak_time_ns === null ? "" : " at " + timeOf(row.peak_time_ns), ", in " + row.peak_phase,
		row.peak_step ? " of step " + row.peak_step : "", ". ", clean(doc.advice?.answer ?? "")];

	$("title").textContent = document.title = doc.title ? clean(doc.title) + " \u2013 memana" : "memana";
	$("verdict").textContent = words.join("");
}

function showNotes() {
	const { row } = page.device, { doc } = page, notes = [];

	if (row.stretch_ns)
		notes.push(number(row.changes) + " of " + number(row.told) + " changes are here: of each " + timeOf(row.stretch_ns, 1e3) +
			" those with the most and the fewest bytes, and the peak. Bytes are exact at each of them.");
	if (doc.tick_ns > 1 && doc.has_times)
		notes.push("Times are rounded to " + timeOf(doc.tick_ns, doc.tick_ns) + ".");
	if (!doc.has_times)
		notes.push("The recording has no times: the axis has the order of events.");
	if (doc.spans.left_out)
		notes.push(number(doc.spans.left_out) + " short phases are not shown.");
	if (doc.step_stride > 1)
		notes.push("Of the steps each " + doc.step_stride + "th is in the table.");
	doc.processes.filter((process) => process.lost || !process.complete).forEach((process) =>
		notes.push(process.name + ": " + (process.lost ? number(process.lost) + " events are missing." : "the recording ends early.")));
	$("notes").textContent = notes.join(" ");
}

function key(event) {
	const { device } = page, shift = (page.to - page.from) / 10, pixel = (page.to - page.from) / plot().width;
	const side = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
	const acts = {
		"+": () => zoom(0.6, 0.5),
		"=": () => zoom(0.6, 0.5),
		"-": () => zoom(1 / 0.6, 0.5),
		0: () => look(-Infinity, Infinity),
		p: () => cursorTo(device.peak),
		c: () => setBy(BY[(BY.indexOf(page.by) + 1) % BY.length]),
		t: () => $("theme").click(),
		"?": () => $("help").click(),
		"/": () => $("search").focus(),
		o: () => {
			const next = device.row.ooms.find((oom) => oom.changes > page.at) ?? device.row.ooms[0];

			if (next)
				cursorTo(next.changes);
		},
		Escape: () => { page.root = 0; drawFlame(); },
	};

	if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || event.altKey || event.metaKey)
		return;
	if (side && document.activeElement === $("chart")) {
		if (event.ctrlKey)
			cursorTo(page.at + side);
		else if (event.shiftKey)
			look(page.from + side * shift, page.to + side * shift);
		else
			cursorToTime(cursorTime() + side * pixel * 4);
	} else if (!event.ctrlKey && acts[event.key]) {
		acts[event.key]();
	} else {
		return;
	}
	event.preventDefault();
}

// Fingers and the mouse: a tap sets the cursor, a drag moves the view, two fingers zoom.
function listenToChart() {
	const chart = $("chart"), down = new Map(), share = (event) => (event.clientX - chart.getBoundingClientRect().left) / chart.clientWidth;
	const fingers = () => {
		const [one, other = one + 1] = down.values();

		return { centre: down.size > 1 ? (one + other) / 2 : one, apart: Math.max(0.02, Math.abs(one - other)) };
	};
	let moved = 0; // pixels

	chart.onpointerdown = (event) => {
		down.set(event.pointerId, share(event));
		chart.setPointerCapture(event.pointerId);
		moved = down.size > 1 ? Infinity : 0;
	};
	chart.onpointermove = (event) => {
		const x = share(event), width = page.to - page.from;

		page.hover = event.pointerType === "mouse" ? x * chart.clientWidth : null;
		if (down.has(event.pointerId)) {
			const before = fingers(), time = page.from + before.centre * width;

			moved += Math.abs(x - down.get(event.pointerId)) * chart.clientWidth;
			down.set(event.pointerId, x);
			const { centre, apart } = fingers(), wide = width * before.apart / apart;

			if (moved > 4)
				look(time - centre * wide, time + (1 - centre) * wide);
		} else if (page.hover !== null) {
			const time = page.from + x * width;

			tip(event, timeOf(nsOf(time), width * page.doc.tick_ns / 2000) + "\n" + bytesOf(page.device.held[page.device.upTo(time)]));
		}
		drawMarks();
	};
	chart.onpointerup = (event) => {
		if (down.delete(event.pointerId) && moved <= 4)
			cursorToTime(page.from + share(event) * (page.to - page.from));
		chart.focus({ preventScroll: true });
	};
	chart.onpointercancel = (event) => down.delete(event.pointerId);
	chart.onpointerleave = (event) => {
		page.hover = null;
		tip(event, "");
		drawMarks();
	};
	chart.addEventListener("wheel", (event) => {
		if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
			look(page.from + event.deltaX / 1000 * (page.to - page.from), page.to + event.deltaX / 1000 * (page.to - page.from));
		else
			zoom(1.002 ** event.deltaY, share(event));
		event.preventDefault();
	}, { passive: false });
}

function listen() {
	const flame = $("flame"), prefers = window.matchMedia("(prefers-color-scheme: dark)");

	listenToChart();
	document.addEventListener("keydown", key);
	$("device").onchange = () => setDevice(Number($("device").value));
	$("peak").onclick = () => cursorTo(page.device.peak);
	$("whole").onclick = () => look(-Infinity, Infinity);
	$("theme").onclick = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
	$("help").onclick = () => {
		$("keys").hidden = !$("keys").hidden;
		$("help").setAttribute("aria-expanded", String(!$("keys").hidden));
	};
	$("search").oninput = showSites;
	$("more").onclick = () => { page.rows *= 4; showSites(); };
	$("more-steps").onclick = () => { page.stepRows *= 4; showSteps(); };
	flame.onclick = (event) => {
		page.root = boxAt(event)?.node ?? page.root;
		drawFlame();
	};
	flame.onpointermove = (event) => {
		const box = boxAt(event), { bytes } = page.flame.tree;

		tip(event, box ? nodeWords(box.node) + "\n" + bytesOf(bytes[box.node]) + ", " + percent(bytes[box.node], bytes[0]) : "");
	};
	flame.onpointerleave = $("map").onpointerleave = (event) => tip(event, "");
	$("map").onpointermove = segmentTip;
	prefers.addEventListener("change", () => setTheme(prefers.matches ? "dark" : "light"));
	window.addEventListener("resize", redraw);
	window.addEventListener("beforeprint", () => { page.theme = document.documentElement.dataset.theme; setTheme("light"); });
	window.addEventListener("afterprint", () => setTheme(page.theme));
}

function begin() {
	const { doc } = page, weight = ({ row }) => (row.kind === "cpu" ? 0 : 2 ** 60) + row.peak_bytes;
	const most = page.devices.reduce((best, device, at) => weight(device) > weight(page.devices[best]) ? at : best, 0);

	$("device").append(...page.devices.map((device, at) => make("option", { value: at, textContent: deviceName(device.row) })));
	$("device").value = most;
	$("device-label").hidden = page.devices.length < 2;
	$("by").append(...BY.filter((by) => by !== "process" || doc.processes.length > 1).map((by) => {
		const button = make("button", { textContent: by, onclick: () => setBy(by) });

		button.dataset.by = by;
		return button;
	}));
	measure();
	look(-Infinity, Infinity);
	setDevice(most);
	if (doc.at === "oom" && page.device.row.ooms.length)
		cursorTo(page.device.row.ooms[page.device.row.ooms.length - 1].changes);
	else if (doc.at_ns !== undefined)
		cursorTo(page.device.row.at_changes, ticksOf(doc.at_ns));
	draw();
	showAdvice();
	listen();
	$("foot").textContent = "Written by memana " + doc.version + ". " + doc.processes.slice(0, 8).map(({ name, file, events }) =>
		name + ": " + (file ? clean(file) + ", " : "") + number(events) + " events").join("; ") +
		(doc.confidential ? ". Paths and names of sources are left out." : ".");
	document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

document.documentElement.dataset.theme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
load().then(begin).catch((error) => {
	$("verdict").textContent = "The page cannot be shown: " + error.message;
	document.documentElement.dataset.ready = "failed";
	throw error;
});
