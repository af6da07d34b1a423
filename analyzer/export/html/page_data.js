
/*
 * page_data.js - the data of the page: every change of what a device held, and sums of bytes in colours for any stretch of time.
 *
 *     load       data of the page ──> document and columns
 *     Device     every change of a device; its bytes after any number of changes
 *     Layers     bytes in colours, for any stretch of time at any zoom
 *
 * page_time.js draws the timeline, page.js the rest. The three are one script. A moment is a number of changes: those that have
 * happened. Texts of the run reach the page as text and never as markup.
 */
"use strict";
const LEAF_MOVES = 128; // moves between two sums of layers
const LAYERS_MAX = 16;
const ROWS = 40; // of a table, before "More rows"
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DIMENSIONS = { phase: "phases", category: "categories", owner: "owners", process: "processes" }; // lists of the document
const BY = Object.keys(DIMENSIONS);

const page = { doc: null, devices: [], device: null, by: "phase", layers: null, from: 0, to: 1, at: 0, live: null, rows: ROWS, stepRows: ROWS,
	root: 0, colours: {} };

// ---- words ----------------------------------------------------------------------------------------------------------

const $ = (id) => document.getElementById(id);

function make(tag, properties, ...children) {
	const element = Object.assign(document.createElement(tag), properties);

	element.append(...children);
	return element;
}

// Rows under headings. A column: its heading, classes, and what a row has there, where a number is bytes. `finish` has each line.
function fillTable(id, columns, rows, finish) {
	const head = columns.map(([name, className]) => make("th", { className, scope: "col" }, name));
	const lines = rows.map((row, at) => {
		const cells = columns.map(([, className, of]) => {
			const value = of(row, at);

			return typeof value === "number" ? make("td", { className, title: exact(value) }, bytesOf(value)) : make("td", { className }, ...[value].flat());
		});
		const line = make("tr", {}, ...cells);

		finish(line, row);
		return line;
	});

	$(id).replaceChildren(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...lines));
	return lines;
}

// Characters that a name of unknown origin could turn the words around it with.
function clean(text) {
	return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "?");
}

function bytesOf(bytes) {
	let unit = 0, value = Math.abs(bytes);

	for (; value >= 1023.95 && unit + 1 < UNITS.length; unit++) // 1023.95 would be 1024.0
		value /= 1024;
	return (bytes < 0 ? "-" : "") + (unit ? value.toFixed(1) : value) + " " + UNITS[unit];
}

const grouped = new Intl.NumberFormat("en");
const number = (value) => grouped.format(value);
const exact = (bytes) => number(bytes) + " bytes";

// A time of the run in ns; `step` is the distance to the next one that is shown.
function timeOf(ns, step) {
	const digits = step ? Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / 1e9)))) : 3;

	if (!page.doc.has_times)
		return "event " + number(Math.round(ns));
	if (Math.abs(ns) >= 1e9 || digits <= 1)
		return (ns / 1e9).toFixed(Math.max(1, digits)) + " s";
	if (Math.abs(ns) >= 1e6 || digits <= 4)
		return (ns / 1e6).toFixed(Math.max(1, digits - 3)) + " ms";
	return (ns / 1e3).toFixed(Math.max(0, digits - 6)) + " \u00b5s";
}

const nsOf = (ticks) => page.doc.first_ns + ticks * page.doc.tick_ns;
const ticksOf = (ns) => (ns - page.doc.first_ns) / page.doc.tick_ns;
const percent = (part, whole) => whole ? (100 * part / whole).toFixed(part * 10 < whole && part ? 1 : 0) + "%" : "";

// Colours of the theme, asked for once: to ask costs more than to draw with them.
function css(name) {
	return page.colours[name] ??= getComputedStyle(document.documentElement).getPropertyValue(name);
}

// ---- the data of the page -------------------------------------------------------------------------------------------

function reader(bytes) {
	let at = 0;
	const next = () => {
		let byte = bytes[at++], value = byte & 127;

		for (let weight = 128; byte > 127; weight *= 128) {
			byte = bytes[at++];
			value += (byte & 127) * weight;
		}
		return value;
	};

	return { next, signed: () => { const value = next(); return value % 2 ? -(value + 1) / 2 : value / 2; } };
}

async function load() {
	const text = atob($("data").textContent), packed = new Uint8Array(text.length);

	for (let i = 0; i < text.length; i++)
		packed[i] = text.charCodeAt(i);
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
	const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
	let at = 4 + new DataView(bytes.buffer).getUint32(0, true);
	const doc = page.doc = JSON.parse(new TextDecoder().decode(bytes.subarray(4, at))), take = (length) => reader(bytes.subarray(at, at += length));

	$("data").remove();
	doc.texts = doc.texts.map(clean);
	doc.owners = doc.owners.map(clean);
	page.devices = doc.devices.map((row) => new Device(row, row.lengths.map(take)));
	readSpans(take(doc.spans.length));
}

function readSpans(column) {
	let step = 0, first = 0;

	page.spans = page.doc.processes.map(() => []);
	for (let i = 0; i < page.doc.spans.count; i++) {
		const process = column.next(), phase = column.next();

		step += column.signed();
		first += column.signed();
		page.spans[process]?.push({ phase, step, first, last: first + column.next() });
	}
}

// The first number from `low` to `high` that is not before.
function bisect(low, high, isBefore) {
	while (low < high) {
		const middle = (low + high) >> 1;

		if (isBefore(middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

class Device {
	constructor(row, [times, kinds, moves]) {
		const cell = [], bytes = [], count = [], start = [0], sum = [];
		const newKind = () => {
			let total = 0;

			for (let left = moves.next(); left > 0; left--) {
				cell.push(moves.next());
				bytes.push(moves.signed());
				count.push(moves.signed());
				total += bytes[bytes.length - 1];
			}
			start.push(cell.length);
			return sum.push(total);
		};

		this.row = row;
		this.changes = row.changes;
		this.time = new Float64Array(this.changes);
		this.kind = new Uint32Array(this.changes); // which of the different changes
		this.held = new Float64Array(this.changes + 1);
		for (let i = 0, now = 0; i < this.changes; i++) {
			now += times.next();
			this.time[i] = now;
			this.kind[i] = (kinds.next() || newKind()) - 1;
			this.held[i + 1] = this.held[i] + sum[this.kind[i]];
		}
		this.start = Uint32Array.from(start);
		this.cell = Uint32Array.from(cell);
		this.bytes = Float64Array.from(bytes);
		this.count = Float64Array.from(count);
		this.top = this.held.reduce((most, held) => Math.max(most, held), 0);
		this.peak = row.peak_changes || this.held.indexOf(this.top);
	}

	// How many changes happened before `time`, or up to it.
	before(time, low = 0) {
		return bisect(low, this.changes, (at) => this.time[at] < time);
	}

	upTo(time) {
		return bisect(0, this.changes, (at) => this.time[at] <= time);
	}

	// Adds the moves of the changes from..to to the bytes, and the allocations to the counts, of `slot[cell]`; backwards it takes them away.
	walk(from, to, bytes, count, slot) {
		const sign = to < from ? -1 : 1, end = Math.max(from, to);

		for (let i = Math.min(from, to); i < end; i++)
			for (let j = this.start[this.kind[i]]; j < this.start[this.kind[i] + 1]; j++) {
				const at = slot ? slot[this.cell[j]] : this.cell[j];

				bytes[at] += sign * this.bytes[j];
				if (count)
					count[at] += sign * this.count[j];
			}
	}

	// Bytes and allocations of each cell after `changes` changes; from the newest answer it is the shortest way.
	liveAt(changes) {
		const cells = page.doc.cells.phase.length, live = this.live ??= { at: 0, bytes: new Float64Array(cells), count: new Float64Array(cells) };

		this.walk(live.at, changes, live.bytes, live.count);
		live.at = changes;
		return { bytes: live.bytes.slice(), count: live.count.slice() };
	}
}

// ---- bytes in colours -----------------------------------------------------------------------------------------------

class Layers {
	constructor(device, by) {
		const column = page.doc.cells[by], names = page.doc[DIMENSIONS[by]];
		const weight = names.map(() => 0), live = device.liveAt(device.peak), used = new Set();

		live.bytes.forEach((bytes, cell) => { weight[column[cell]] += bytes; });
		device.cell.forEach((cell) => used.add(column[cell]));
		const order = [...used].sort((a, b) => weight[b] - weight[a]);
		const shown = order.slice(0, order.length > LAYERS_MAX ? LAYERS_MAX - 1 : LAYERS_MAX).sort((a, b) => a - b);
		const place = new Map(shown.map((value, at) => [value, at]));

		this.device = device;
		this.list = shown.map((value, at) =>
			({ name: names[value].name ?? names[value], colour: names[value].colour ?? page.doc.categories[(at + 1) % 12].colour }));
		if (order.length > LAYERS_MAX)
			this.list.push({ name: "other", colour: page.doc.phases[0].colour });
		this.count = this.list.length;
		this.of = Uint8Array.from(column, (value) => place.get(value) ?? this.count - 1);
		this.pixel = this.list.map((layer) => {
			const value = parseInt(layer.colour.slice(1), 16);

			return 0xff000000 | (value & 0xff) << 16 | (value & 0xff00) | value >> 16;
		});
		this.leaf = Math.max(4, Math.min(LEAF_MOVES, Math.round(LEAF_MOVES * device.changes / device.row.moves))); // changes
		this.sums = new Float64Array((Math.floor(device.changes / this.leaf) + 1) * this.count);
		for (let leaf = 0, now = new Float64Array(this.count); leaf * this.leaf <= device.changes; leaf++) {
			this.sums.set(now, leaf * this.count);
			device.walk(leaf * this.leaf, Math.min((leaf + 1) * this.leaf, device.changes), now, null, this.of);
		}
	}

	// The layers after `changes` changes, into `sums` from `at` on.
	at(changes, sums, at) {
		const leaf = Math.floor(changes / this.leaf), now = this.now ??= new Float64Array(LAYERS_MAX);

		now.set(this.sums.subarray(leaf * this.count, (leaf + 1) * this.count));
		this.device.walk(leaf * this.leaf, changes, now, null, this.of);
		for (let i = 0; i < this.count; i++)
			sums[at + i] = now[i];
	}

	// Among the moments after first..last changes those with the most and the least held.
	extremes(first, last) {
		const { held } = this.device;
		let most = first, least = first;

		for (let i = first + 1; i <= last; i++) {
			most = held[i] > held[most] ? i : most;
			least = held[i] < held[least] ? i : least;
		}
		return [most, least];
	}

	// `width` columns of equal time: in each the layers when most was held, and the most and the least.
	columns(from, to, width) {
		const { device } = this, out = { layer: new Float64Array(width * this.count), most: new Float64Array(width), least: new Float64Array(width) };
		let last = -1, first = device.before(from);

		for (let column = 0; column < width; column++) {
			const begin = from + (to - from) * column / width, end = from + (to - from) * (column + 1) / width;
			const until = device.before(end, first);
			const carried = until === first || device.time[first] > begin;
			const [most, least] = this.extremes(carried ? first : first + 1, until);

			if (most === last)
				out.layer.copyWithin(column * this.count, (column - 1) * this.count, column * this.count);
			else
				this.at(most, out.layer, column * this.count);
			out.most[column] = device.held[most];
			out.least[column] = device.held[least];
			last = most;
			first = until;
		}
		return out;
	}
}
