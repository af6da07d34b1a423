
/* page_time.js - the timeline: areas, axes, marks, phases, and the cursor. */

// ---- the timeline ---------------------------------------------------------------------------------------------------

const AXIS = { left: 0, top: 16, strip: 14, bottom: 18 };

function fit(canvas, width, height) {
	const ratio = Math.min(window.devicePixelRatio || 1, 2);

	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
	}
	const context = canvas.getContext("2d");

	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
	return context;
}

// Rows of phases: one for each process of the device, as far as there is room.
function stripes() {
	return page.spans.map((spans, process) => process).filter((process) => page.onDevice.has(process) && page.spans[process].length).slice(0, 8);
}

function measure() {
	page.box = $("chart").getBoundingClientRect();
}

function plot() {
	const box = page.box, rows = Math.max(1, page.stripes.length);
	const row = rows > 2 ? 6 : AXIS.strip, foot = rows * (row + 1) + AXIS.bottom;

	return { width: Math.max(1, Math.floor(box.width)), height: Math.floor(box.height), top: AXIS.top, bottom: Math.floor(box.height) - foot, row };
}

function limit() {
	const { row, top } = page.device;

	return row.total_bytes && row.total_bytes < top * 1.6 ? Math.max(row.total_bytes, top) * 1.02 : top * 1.08 || 1;
}

function drawAreas() {
	const { width, height, top, bottom } = plot(), canvas = $("areas"), context = fit(canvas, width, height);
	const ratio = canvas.width / width, wide = canvas.width, tall = Math.max(1, Math.round((bottom - top) * ratio));
	const columns = page.layers.columns(page.from, page.to, wide), count = page.layers.count, scale = tall / limit();
	const image = context.createImageData(wide, tall), pixel = new Uint32Array(image.data.buffer);
	const line = document.documentElement.dataset.theme === "dark" ? 0xc0ffffff : 0xc0000000;

	for (let x = 0; x < wide; x++) {
		let sum = 0, y = tall;

		for (let layer = 0; layer < count; layer++) {
			sum += columns.layer[x * count + layer];
			for (const end = Math.max(0, tall - Math.round(sum * scale)), colour = page.layers.pixel[layer]; y > end;)
				pixel[--y * wide + x] = colour;
		}
		if (columns.least[x] < columns.most[x])
			pixel[Math.min(tall - 1, Math.max(0, tall - Math.round(columns.least[x] * scale))) * wide + x] = line;
	}
	context.clearRect(0, 0, width, height);
	context.putImageData(image, 0, Math.round(top * ratio));
	drawStripes(context, width, bottom);
}

// How many phases of a process began until a time.
function spansUntil(process, time) {
	return bisect(0, page.spans[process].length, (at) => page.spans[process][at].first <= time);
}

function drawStripes(context, width, bottom) {
	const { row } = plot(), scale = width / (page.to - page.from);

	page.stripes.forEach((process, number) => {
		const y = bottom + 1 + number * (row + 1);
		let end = -1;

		for (let i = Math.max(0, spansUntil(process, page.from) - 1); i < page.spans[process].length; i++) {
			const span = page.spans[process][i];
			const left = Math.max(0, (span.first - page.from) * scale), right = Math.min(width, Math.max((span.last - page.from) * scale, left + 1));

			if (span.first > page.to)
				break;
			if (span.last < page.from || right <= end + 0.5)
				continue;
			context.fillStyle = page.doc.phases[span.phase].colour;
			context.fillRect(left, y, right - left, row);
			end = right;
			if (right - left > 60 && row > 10) {
				context.fillStyle = "#000";
				context.fillText(page.doc.phases[span.phase].name, left + 4, y + 11, right - left - 6);
			}
		}
	});
}

// Distances of round numbers.
function roundStep(range, pieces) {
	const rough = range / pieces, power = 10 ** Math.floor(Math.log10(rough));

	return [1, 2, 5, 10].find((times) => times * power >= rough) * power;
}

function drawAxes(context, { width, height, top, bottom }) {
	const most = limit(), unit = 1024 ** Math.floor(Math.log2(Math.max(2, most)) / 10), step = roundStep(most / unit, 5) * unit;
	const from = nsOf(page.from), to = nsOf(page.to), tick = roundStep(Math.max(1e-3, to - from), Math.max(2, width / 130));

	context.fillStyle = css("--dim");
	context.strokeStyle = css("--line");
	context.lineWidth = 1;
	for (let bytes = step; bytes < most; bytes += step) {
		const y = Math.round(bottom - bytes / most * (bottom - top)) + 0.5;

		context.globalAlpha = 0.5;
		context.strokeRect(0, y, width, 0);
		context.globalAlpha = 1;
		outlined(context, bytesOf(bytes), 3, y - 3);
	}
	context.fillStyle = css("--dim");
	for (let ns = Math.ceil(from / tick) * tick; ns < to; ns += tick) {
		const x = (ns - from) / (to - from) * width;

		context.fillRect(x, height - AXIS.bottom, 1, 4);
		if (x < width - 60)
			context.fillText(timeOf(ns, tick), x + 3, height - 5);
	}
}

// Words that are legible on every colour.
function outlined(context, words, x, y) {
	context.save();
	context.strokeStyle = css("--back");
	context.lineWidth = 3;
	context.lineJoin = "round";
	context.strokeText(words, x, y);
	context.fillStyle = css("--text");
	context.fillText(words, x, y);
	context.restore();
}

function xOf(changes, width) {
	const { device } = page, time = changes ? device.time[Math.min(changes, device.changes) - 1] : device.time[0];

	return (time - page.from) / (page.to - page.from) * width;
}

// A line with words at its top; `row` keeps the words of several apart.
function flag(context, x, { width, top, bottom }, words, colour, row = 0) {
	const room = context.measureText(words).width + 6;

	if (x < 0 || x > width)
		return;
	context.fillStyle = colour;
	context.fillRect(Math.round(x), top - 14, 1.5, bottom - top + 14);
	outlined(context, words, x + room > width ? x - room : x + 4, top - 4 + row * 14);
}

function drawMarks() {
	const area = plot(), { device } = page, canvas = $("marks"), context = fit(canvas, area.width, area.height);

	context.clearRect(0, 0, area.width, area.height);
	drawAxes(context, area);
	if (device.row.total_bytes && device.row.total_bytes < limit()) {
		const y = Math.round(area.bottom - device.row.total_bytes / limit() * (area.bottom - area.top));

		context.fillStyle = css("--bad");
		context.fillRect(0, y, area.width, 1);
		outlined(context, "all of the " + (device.row.kind === "cpu" ? "machine" : "GPU"), area.width - 90, y + 13);
	}
	if (device.row.peak_changes)
		flag(context, xOf(device.peak, area.width), area, "peak", css("--text"));
	for (const oom of device.row.ooms)
		flag(context, xOf(oom.changes, area.width), area, oom.had ? "refused" : "out of memory", css("--bad"), 1);
	const x = page.atTime === null ? xOf(page.at, area.width) : (page.atTime - page.from) / (page.to - page.from) * area.width;

	if (x >= 0 && x <= area.width) {
		context.fillStyle = css("--accent");
		context.fillRect(Math.round(x) - 1, area.top, 2, area.height - area.top - AXIS.bottom);
	}
	if (page.hover !== null && page.hover !== undefined) {
		context.globalAlpha = 0.4;
		context.fillRect(Math.round(page.hover), area.top, 1, area.height - area.top - AXIS.bottom);
		context.globalAlpha = 1;
	}
}

function draw() {
	drawAreas();
	drawMarks();
}

// Once for all that happens before the next frame.
function later() {
	if (!page.waiting)
		page.waiting = requestAnimationFrame(() => {
			page.waiting = 0;
			draw();
		});
}

function look(from, to) {
	const first = Math.min(...page.devices.map((device) => device.time[0]));
	const last = Math.max(...page.devices.map((device) => device.time[device.changes - 1]));
	const whole = Math.max(1, last - first), width = Math.min(whole, Math.max(to - from, Math.min(whole, 4)));

	from = Math.min(Math.max(from, first), first + whole - width);
	page.from = from;
	page.to = from + width;
	$("chart").dataset.from = page.from;
	$("chart").dataset.to = page.to;
	if (page.device)
		later();
}

function zoom(factor, x) {
	const at = page.from + (page.to - page.from) * x;

	look(at - (at - page.from) * factor, at + (page.to - at) * factor);
}

// ---- the cursor -----------------------------------------------------------------------------------------------------

const spanAt = (process, time) => page.spans[process][spansUntil(process, time) - 1];

// `changes` changes have happened; `time` where the cursor stands for a time, null: at the newest of them.
function moveCursor(changes, time = null) {
	page.at = Math.max(0, Math.min(changes, page.device.changes));
	page.atTime = time;
	page.live = page.device.liveAt(page.at);
	page.rows = ROWS;
}

function showLive() {
	showCursor();
	showLegend();
	showSites();
	drawFlame();
	later();
}

function cursorTo(changes, time) {
	moveCursor(changes, time);
	showLive();
}

const cursorToTime = (time) => cursorTo(page.device.upTo(time), time);
const cursorTime = () => page.atTime ?? (page.at ? page.device.time[page.at - 1] : page.device.time[0]);

function showCursor() {
	const { device } = page, { cells, categories } = page.doc, held = device.held[page.at], time = cursorTime();
	const isSlack = (cell) => categories[cells.category[cell]].name === "allocator slack";
	const slack = page.live.bytes.reduce((sum, bytes, cell) => sum + (isSlack(cell) ? bytes : 0), 0);
	const what = page.stripes.map((process) => [page.doc.processes[process].name, spanAt(process, time)]).filter(([, span]) => span);
	const phases = what.slice(0, 4).map(([name, { phase, step }]) =>
		(what.length > 1 ? name + " " : "") + page.doc.phases[phase].name + " of step " + step);
	const isPeak = page.at === device.row.peak_changes && page.atTime === null;
	const oom = device.row.ooms.find((it) => it.changes === page.at && page.atTime === null);
	const words = [isPeak ? "Peak" : oom ? "Out of memory: " + bytesOf(oom.requested_bytes) + " asked for" : "Cursor",
		"at " + timeOf(nsOf(time), page.doc.tick_ns * Math.max(1, (page.to - page.from) / 2000)) + ":", bytesOf(held), "held"];

	if (slack > 0)
		words.push("(" + bytesOf(held - slack) + " in use, " + bytesOf(slack) + " allocator slack)");
	if (device.row.total_bytes)
		words.push("of " + bytesOf(device.row.total_bytes) + " (" + percent(held, device.row.total_bytes) + ")");
	if (phases.length)
		words.push("\u2013 in " + phases.join(", "));
	$("cursor").textContent = words.join(" ");
	$("cursor").title = exact(held);
	Object.assign($("cursor").dataset, { bytes: held, slack, changes: page.at });
}

function showLegend() {
	const sums = new Float64Array(LAYERS_MAX), whole = page.device.held[page.at];

	page.layers.at(page.at, sums, 0);
	$("legend").replaceChildren(...page.layers.list.map(({ name, colour }, at) => {
		const item = make("li", { title: exact(sums[at]) }, make("i", { style: "background: " + colour }), clean(name) + " ",
			make("b", {}, bytesOf(sums[at])), " ", make("span", { className: "dim" }, percent(sums[at], whole)));

		Object.assign(item.dataset, { name, bytes: sums[at] });
		return item;
	}).filter((item) => item.dataset.bytes > 0).reverse());
}
