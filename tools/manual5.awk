# manual5.awk - a page of section 5 (mdoc) of a specification in Markdown: awk -v name=memrec-trace -v what="the format of a trace" -f manual5.awk FILE.
# It knows what the specifications use: headings, paragraphs, lists, tables, fences, `code`, *words*, **words** and [links](..).

function out(line) { print line }

# Text of roff: a backslash is one, a line never begins with a dot or a quote.
function escape(text) {
	gsub(/\\/, "\\e", text)
	return text
}

# One span between two marks: fonts change and change back.
function spans(text, mark, font,    made, at, end) {
	made = ""
	while ((at = index(text, mark)) && (end = index(substr(text, at + length(mark)), mark)) > 1) {
		made = made substr(text, 1, at - 1) "\\f" font substr(text, at + length(mark), end - 1) "\\fR"
		text = substr(text, at + length(mark) * 2 + end - 1)
	}
	return made text
}

# Stars and dashes inside of code are code: they are hidden while words are looked for.
function inline(text,    parts, count, i, made, code) {
	text = escape(text)
	while (match(text, /\[[^]]*\]\([^)]*\)/)) {
		code = substr(text, RSTART + 1, RLENGTH - 1)
		sub(/\].*/, "", code)
		text = substr(text, 1, RSTART - 1) code substr(text, RSTART + RLENGTH)
	}
	count = split(text, parts, "`")
	made = ""
	for (i = 1; i <= count; i++) {
		if (i % 2 == 0 && i < count) {
			code = parts[i]
			gsub(/\*/, "\001", code)
			gsub(/-/, "\\-", code)
			made = made "\\fB" code "\\fR"
		} else {
			made = made (i > 1 && i % 2 == 0 ? "`" : "") parts[i]
		}
	}
	made = spans(spans(made, "**", "B"), "*", "I")
	gsub(/\001/, "*", made)
	return made
}

# A sentence begins a line; no line is longer than 78 bytes where it can be broken.
function flow(text,    words, count, i, line) {
	count = split(text, words, /[ \t]+/)
	line = ""
	for (i = 1; i <= count; i++) {
		if (words[i] == "")
			continue
		if (line != "" && (length(line) + length(words[i]) > 77 || line ~ /[^. ][.!?]\)?$/ && words[i] ~ /^[A-Z\\(]/)) {
			put(line)
			line = ""
		}
		line = line (line == "" ? "" : " ") words[i]
	}
	if (line != "")
		put(line)
}
function put(line) { out((line ~ /^[.']/ ? "\\&" : "") line) }

function end_text() {
	if (text != "")
		flow(inline(text))
	text = ""
}
function end_list() {
	end_text()
	if (list)
		out(".El")
	list = ""
}
function end_table(    i, j, cells, count, format) {
	if (!rows)
		return
	count = split(row[1], cells, "\n")
	format = ""  # the last column takes the room that there is
	for (j = 1; j <= count; j++)
		format = format (j > 1 ? " " : "") (j == count ? "lx" : "l")
	if (!after_head)
		out(".Pp")
	out(".TS")
	gsub(/l/, "lb", format)
	out(format)
	gsub(/lb/, "l", format)
	out(format ".")
	for (i = 1; i <= rows; i++) {
		count = split(row[i], cells, "\n")
		for (j = 1; j <= count; j++) {
			out("T{")
			flow(inline(cells[j]) == "" ? "\\&" : inline(cells[j]))
			printf j < count ? "T}\t" : "T}\n"
		}
	}
	out(".TE")
	rows = 0
	after_head = 0
}
# "| a | b \| c |" as cells with newlines between; code may hold "\|".
function add_row(line,    cells) {
	gsub(/\\\|/, "\002", line)
	sub(/^\| */, "", line)
	sub(/ *\|[ \t]*$/, "", line)
	gsub(/ *\| */, "\n", line)
	gsub(/\002/, "|", line)
	row[++rows] = line
}
function paragraph() {
	end_list()
	end_table()
	if (!after_head)
		out(".Pp")
	after_head = 0
}
function heading(macro, words) {
	end_list()
	end_table()
	out(macro " " words)
	after_head = 1
}

BEGIN {
	print "'\\\" t"
	out(".Dd November 1, 2026")
	out(".Dt " toupper(name) " 5")
	out(".Os")
	out(".Sh NAME")
	out(".Nm " name)
	out(".Nd " what)
	heading(".Sh", "DESCRIPTION")
}
fence {
	if (/^```/) {
		out(".Ed")
		fence = 0
	} else {
		line = escape($0)
		gsub(/-/, "\\-", line)
		put(line)
	}
	next
}
/^```/ {
	end_list()
	end_table()
	out(".Bd -literal -offset 2n")
	fence = 1
	after_head = 0
	next
}
/^# / || /^<!--/ { next }
/^## Errors/ { heading(".Sh", "ERRORS OF READERS"); next } # ERRORS is a name for other sections of the manual
/^## / { heading(".Sh", toupper(inline(substr($0, 4)))); next }
/^### / { heading(".Ss", inline(substr($0, 5))); next }
/^\|[-| ]*$/ { next }
/^\|/ {
	if (!rows)
		end_list()
	add_row($0)
	next
}
/^(- |[0-9]+\. )/ {
	end_text()
	end_table()
	kind = /^-/ ? "-bullet" : "-enum"
	if (list != kind) {
		end_list()
		out(".Bl " kind " -compact")
		list = kind
		after_head = 0
	}
	out(".It")
	sub(/^(- |[0-9]+\. )/, "")
	text = $0
	next
}
/^[ \t]*$/ { blank = 1; if (!list) end_text(); else end_text(); end_table(); next }
{
	if (list && /^ /) {
		text = text " " $0
		next
	}
	if (text == "" && (list || blank || rows))
		paragraph()
	blank = 0
	text = text (text == "" ? "" : " ") $0
}
END {
	end_list()
	end_table()
	out(".Sh SEE ALSO")
	out(".Xr memana 1 ,")
	out(".Xr memrec 1")
}
