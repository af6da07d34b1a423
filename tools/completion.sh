#!/usr/bin/env bash
# completion.sh PROGRAM bash|zsh|fish - what a shell completes after memrec or memana, to stdout. It is made of what the program
# itself says (--help of it and of its commands), which is made of its tables: nothing is listed here.
#
# Input:   Usage: memana NAME [options] ARGUMENTS     a command
#                         -o, --output FILE  what it does          an option: blanks, letter, word, value, help
#                         PHASE: init rollout step:N               what a value may be; capitals stand for something
set -eu
program=$1
shell=$2
name=${program##*/}
export COLUMNS=200 LC_ALL=C

# commands: one a line
commands() {
	"$program" --help | sed -nE "s/^ +$name ([a-z]+) .*/\1/p; s/^  ([a-z]+) +[[A-Z].*/\1/p" | sort -u
}

# Fields of all commands, "" first, with tabs between:
#   command COMMAND SUMMARY     option COMMAND LETTER WORD VALUE WORDS HELP     arguments COMMAND WORDS
# WORDS: what it may be, blanks between; "<files>"; "" for anything.
facts() {
	local command
	for command in '' $(commands); do
		{ "$program" --help | grep "^ *$name $command " || :; "$program" $command --help; } | awk -v command="$command" -v name="$name" '
		function first(help) { # the first thing that is said
			sub(/^ +/, "", help); sub(/ +$/, "", help)
			if (match(help, /[;:(.]( |$)| \(/)) help = substr(help, 1, RSTART - 1)
			return help
		}
		function typed(list,   word, i, n, out, seen) { # what one can type of what stands for something
			n = split(list, word, / +/)
			for (i = 1; i <= n; i++) {
				sub(/[A-Z].*/, "", word[i])
				if (word[i] != "" && !seen[word[i]]++) out = out (out == "" ? "" : " ") word[i]
			}
			return out
		}
		function take(words) {
			if (words ~ /^ *$/) return ""
			if (words in may) return may[words]
			return words ~ /^(FILE|DB|TRACE|SNAPSHOT|DIR)$/ ? "<files>" : ""
		}
		/^[Uu]sage: / && usage == "" { usage = $0; next }
		usage != "" && !said && command != "" && name == "memana" && /^  [a-z]/ { summary = $0; sub(/^ +/, "", summary); said = 1; next }
		command != "" && match($0, "^ +" name " " command " ") { # memrec has all in one text
			usage = substr($0, RLENGTH + 1); summary = usage
			sub(/   .*/, "", usage); sub(/^.*   +/, "", summary)
			next
		}
		/^  [A-Z]+: / { key = $1; sub(/:/, "", key); line = $0; sub(/^ *[A-Z]+: */, "", line); may[key] = typed(line); next }
		/^  (-[A-Za-z]|    --[a-z])/ {
			rest = $0; letter = word = value = ""
			sub(/^ +/, "", rest)
			if (match(rest, /^-[A-Za-z]/)) { letter = substr(rest, 1, 2); rest = substr(rest, 3); sub(/^, /, "", rest) }
			if (match(rest, /^--[a-z][a-z-]*/)) { word = substr(rest, 1, RLENGTH); rest = substr(rest, RLENGTH + 1) }
			if (match(rest, /^ [A-Z][A-Z=]*/)) { value = substr(rest, 2, RLENGTH - 1); rest = substr(rest, RLENGTH + 1) }
			n++; L[n] = letter; W[n] = word; V[n] = value; H[n] = rest; next
		}
		n && /^          / { H[n] = H[n] " " $0; gsub(/ +/, " ", H[n]) }
		END {
			for (i = 1; i <= n; i++)
				print "option\t" command "\t" L[i] "\t" W[i] "\t" V[i] "\t" take(V[i]) "\t" first(H[i])
			sub(/^.*\[options\] */, "", usage)
			gsub(/[^A-Z]+/, "", usage)
			print "command\t" command "\t" first(summary)
			print "arguments\t" command "\t" (usage in may ? may[usage] : "<files>")
		}'
	done
}

# Functions that the shells share with awk: quoting for them, and their texts.
emit() { facts | awk -F '\t' -v name="$name" -v q="'" "$1"; }

to_bash() {
	cat <<-END
		# The completions of bash after $name. Made by tools/completion.sh of its help.
	END
	emit '
	$1 == "command" { commands = commands " " $2; order[++n] = $2 }
	$1 == "option" {
		all[$2] = all[$2] ($3 == "" ? "" : " " $3) ($4 == "" ? "" : " " $4)
		if ($5 == "") next
		pattern = ($3 == "" ? "" : "\"" $2 " " $3 "\"") ($3 == "" || $4 == "" ? "" : " | ") ($4 == "" ? "" : "\"" $2 " " $4 "\"")
		values = values "\t" pattern ") echo " q $6 q " ;;\n"
	}
	$1 == "arguments" && $3 != "<files>" { words = words "\t" $2 ") echo " q $3 q " ;;\n" }
	END {
		print "_" name "_commands=" q substr(commands, 3) q
		print "_" name "_options() { # COMMAND\n\tcase $1 in"
		for (i = 1; i <= n; i++) print "\t" q order[i] q ") echo " q substr(all[order[i]], 2) q " ;;"
		print "\tesac\n}\n_" name "_values() { # COMMAND OPTION: what it may be; status 1: it takes no value\n\tcase \"$1 $2\" in"
		printf "%s", values
		print "\t*) return 1 ;;\n\tesac\n}\n_" name "_arguments() { # COMMAND\n\tcase $1 in"
		printf "%s", words
		print "\t*) echo " q "<files>" q " ;;\n\tesac\n}"
	}'
	sed "s/@NAME@/$name/g" <<'END'
# Offers what may come: WORDS, or files.
_@NAME@_offer() {
	local word
	if [ "$1" = '<files>' ]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$2")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
	for word in "${COMPREPLY[@]}"; do
		[ "${word%:}" = "$word" ] || compopt -o nospace 2>/dev/null
	done
}
# Whoever is run by it completes as without it.
_@NAME@_other() {
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [ "$1" = "$COMP_CWORD" ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
	else
		_@NAME@_offer '<files>' "${COMP_WORDS[COMP_CWORD]}"
	fi
}
_@NAME@() {
	local at=1 command= ended= operand= takes= word may
	COMPREPLY=()
	while ((at < COMP_CWORD)); do
		word=${COMP_WORDS[at]}
		if [ "$takes" ]; then
			[ "$word" = = ] || takes=
		elif [ "$word" = -- ]; then
			ended=1
		elif [[ $word == -* && ! $ended ]]; then
			! may=$(_@NAME@_values "$command" "$word") || takes=$word
		elif [ ! "$operand" ]; then
			operand=$at
			[[ $ended || " $_@NAME@_commands " != *" $word "* ]] || command=$word
		fi
		at=$((at + 1))
	done
	word=${COMP_WORDS[COMP_CWORD]}
	[ "$word" != = ] || word=
	if [ "$takes" ]; then
		_@NAME@_offer "$(_@NAME@_values "$command" "$takes")" "$word"
	elif [[ $operand && ! $command && @NAME@ == memrec ]]; then
		_@NAME@_other "$operand"
	elif [[ $word == -* && ! $ended ]]; then
		[[ ! $operand || $command ]] || command=top
		_@NAME@_offer "$(_@NAME@_options "$command")" "$word"
	elif [[ $operand || ( $ended && @NAME@ != memrec ) ]]; then
		_@NAME@_offer "$(_@NAME@_arguments "$command")" "$word"
	elif [[ @NAME@ == memrec ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$word"; [ "$ended" ] || compgen -W "$_@NAME@_commands" -- "$word")
	else
		_@NAME@_offer '<files>' "$word"
		mapfile -t COMPREPLY < <(compgen -W "$_@NAME@_commands" -- "$word"; printf '%s\n' "${COMPREPLY[@]}" | grep .)
	fi
}
complete -F _@NAME@ @NAME@
END
}

to_zsh() {
	cat <<-END
		#compdef $name
		# What zsh completes after $name. Made by tools/completion.sh of its help.
	END
	emit '
	function plain(text) { gsub(/[\]\[:\\]/, "\\\\&", text); gsub(q, q "\\" q q, text); return text }
	function words(may) { return may == "<files>" ? "_files" : may == "" ? " " : "(" may ")" }
	$1 == "command" { if ($2 != "") commands = commands "\t\t" q plain($2) ":" plain($3) q "\n" }
	$1 == "option" {
		value = $5 == "" ? "" : ":" plain($5) ":" plain_words($6)
		help = "[" plain($7) "]" value
		if ($3 != "" && $4 != "")
			spec = q "(" $3 " " $4 ")" q "{" $3 ($5 == "" ? "" : "+") "," $4 ($5 == "" ? "" : "=") "}" q help q
		else
			spec = q "*" ($4 == "" ? $3 ($5 == "" ? "" : "+") : $4 ($5 == "" ? "" : "=")) help q
		specs[$2] = specs[$2] " \\\n\t\t\t" spec
	}
	function plain_words(may) { return words(may == "<files>" || may == "" ? may : plain(may)) }
	$1 == "arguments" { rest[$2] = q "*:" ($3 == "<files>" ? "file:_files" : "name:" plain_words($3)) q; order[++n] = $2 }
	END {
		print "_" name "_commands() {\n\tlocal -a all\n\tall=(\n" commands "\t)\n\t_describe command all\n}"
		print "_" name "_of() { # COMMAND\n\tcase $1 in"
		for (i = 1; i <= n; i++)
			if (order[i] != "") print "\t" order[i] ") _arguments -s" specs[order[i]] " \\\n\t\t\t" rest[order[i]] " ;;"
		print "\t*) return 1 ;;\n\tesac\n}"
		print "_" name "_alone() {"
		if (name == "memrec")
			print "\tlocal curcontext=$curcontext state\n\t_arguments -s -S -A " q "-*" q " -C" specs[""] " \\\n\t\t\t" q "(-)1:command:->first" q " " q "*::arguments:->rest" q
		else
			print "\t_arguments -s" specs[""]
	}'
	if [ "$name" = memrec ]; then
		sed "s/@COMMANDS@/$(commands | paste -sd '|')/" <<'END'
	case $state in
	first)
		_memrec_commands
		_command_names -e
		;;
	rest)
		case $words[1] in
		@COMMANDS@) _memrec_of $words[1] ;;
		*) _normal ;;
		esac
		;;
	esac
}
_memrec_alone "$@"
END
	else
		cat <<'END'
}
_memana() {
	if ((CURRENT == 2)) && [[ $words[2] == -* ]]; then
		_memana_alone
	elif ((CURRENT == 2)); then
		_memana_commands
		_files
	else
		local command=$words[2]
		shift words
		((CURRENT--))
		_memana_of $command || _memana_of top
	fi
}
_memana "$@"
END
	fi
}

to_fish() {
	cat <<-END
		# The completions of fish after $name. Made by tools/completion.sh of its help.
	END
	emit '
	function quoted(text) { gsub(/\\/, "\\\\", text); gsub(q, "\\" q, text); return q text q }
	$1 == "command" && $2 != "" {
		all = all " " $2
		lines = lines "complete -c " name " -n __fish_" name "_first -f -a " $2 ($3 == "" ? "" : " -d " quoted($3)) "\n"
	}
	$1 == "option" {
		when = $2 == "" ? "__fish_" name "_none" : "__fish_" name "_is " $2
		line = "complete -c " name " -n " quoted(when)
		if ($3 != "") line = line " -s " substr($3, 2)
		if ($4 != "") line = line " -l " substr($4, 3)
		if ($2 == "" && $5 != "") valued = valued ($3 == "" ? "" : " " $3) ($4 == "" ? "" : " " $4)
		if ($5 != "") line = line ($6 == "<files>" ? " -r -F" : $6 == "" ? " -x" : " -x -a " quoted($6))
		lines = lines line " -d " quoted($7) "\n"
	}
	$1 == "arguments" && $3 != "<files>" && $2 != "" { lines = lines "complete -c " name " -f -n " quoted("__fish_" name "_is " $2) " -a " quoted($3) "\n" }
	END {
		print "set -g __fish_" name "_commands" all
		print "set -g __fish_" name "_valued" valued
		printf "%s", lines
	}' >"$scratch"
	head -n 2 "$scratch"
	sed "s/@NAME@/$name/g" <<'END'
# The words before the cursor that are no options: its command is the first, where it is one of ours.
function __fish_@NAME@_command
    set -l words (commandline -opc)
    test (count $words) -gt 1; or return 1
    contains -- $words[2] $__fish_@NAME@_commands; and echo $words[2]
end
function __fish_@NAME@_first
    test (count (commandline -opc)) -eq 1
end
function __fish_@NAME@_none
    not __fish_@NAME@_command >/dev/null
end
function __fish_@NAME@_is
    test (__fish_@NAME@_command; or echo none) = $argv[1]
end
END
	sed 1,2d "$scratch"
	[ "$name" != memrec ] || echo "complete -c memrec -n 'not __fish_memrec_first; and __fish_memrec_none' -x -a '(__fish_complete_subcommand \$__fish_memrec_valued)'"
}

scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
case $shell in
bash | zsh | fish) "to_$shell" ;;
*) echo "completion.sh: $shell: not one of bash, zsh, fish" >&2; exit 2 ;;
esac
