# The completions of bash, zsh and fish are words that the programs accept. Each installed shell is asked for its
# offers, and --help must have them. tools/completion.sh makes the files, and make install copies them to the folders
# of the shells.
. "$SRC/tests/cli/lib.sh"

for name in memrec memana; do
	for shell in bash zsh fish; do
		check "$name for $shell is made" eval '"$SRC/tools/completion.sh" "$BUILD/$name" $shell >$name.$shell 2>err && [ ! -s err ]'
	done
done
refused() { status 2 "$SRC/tools/completion.sh" "$memana" csh && one_line err 'csh: not one of bash, zsh, fish'; }
check "another shell is refused" refused

# options PROGRAM [COMMAND]: what its help has, one a line.
options() {
	"$BUILD/$1" $2 --help | sed -nE 's/^  (-[a-zA-Z])(, (--[a-z-]+))?.*/\1 \3/p; s/^      (--[a-z-]+).*/\1/p' | tr ' ' '\n' | grep . | sort
}
commands() {
	if [ "$1" = memrec ]; then
		echo env
		grep -oE 'X\([a-z]+, "' "$SRC/recorder/launch/words.h" | tr -cd 'a-z\n'
	else
		sed -nE 's/^\tX\(([a-z]+),.*/\1/p' "$SRC/analyzer/report/command.h"
	fi
}
# same FILE FILE: as sets
same() { diff <(sort -u "$1") <(sort -u "$2"); }

# The program takes every option of its help.
taken() {
	local option
	for option in $(options memana "$1"); do
		if "$memana" "$1" "$option" 2>&1 </dev/null | grep -q 'no such option'; then
			echo "$1 $option"
			return 1
		fi
	done
}
for command in $(commands memana); do
	check "memana $command takes what it says" taken "$command"
done

# ---- bash ----
# bash_offers WORD...: for the last of them; the first is the program.
bash_offers() {
	bash --norc --noprofile -c '
		. "./$1.bash"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		"_$1"
		printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}
all_in_bash() { # PROGRAM [COMMAND]
	bash_offers $1 $2 - >offered
	options $1 $2 >wanted
	[ -s wanted ] && same wanted offered
}
offers() { # WORDS... gives OFFERS...
	local words=()
	while [ "$1" != gives ]; do words+=("$1") && shift; done
	shift
	bash_offers "${words[@]}" >offered
	printf '%s\n' "$@" >wanted
	same wanted offered
}
for name in memrec memana; do
	check "bash: $name: its options" all_in_bash $name
	for command in $(commands $name); do
		check "bash: $name $command: its options" all_in_bash $name $command
	done
done
missing() { # a completion that lacks one is noticed
	sed -i.whole 's/ --why / /' memana.bash
	! all_in_bash memana top >/dev/null && mv memana.bash.whole memana.bash && all_in_bash memana top
}
check "bash: an option that is missing would be seen" missing
bash_offers memana '' | sed -n "1,$(commands memana | wc -l)p" >offered
commands memana >wanted
check "bash: commands" same wanted offered
check "bash: their beginning" offers memana ve gives verify
check "bash: what a value may be" offers memana top --by '' gives phase category owner process place parameter module
check "bash: after --by=" offers memana top --by = p gives phase process place parameter
check "bash: phases" offers memana retained --from re gives ref
check "bash: what stands for something is not offered" offers memana frag --at s gives step:
check "bash: frameworks" offers memana knobs v gives verl vllm
check "bash: launchers" offers memrec env --steps 3 t gives torchrun trl
check "bash: a number is nobody's to guess" offers memana top -n '' gives ''
touch a.zst b.zst
check "bash: traces" offers memana top a gives a.zst
check "bash: a file for --rules" offers memana top --rules b.z gives b.zst
check "bash: options after a trace" offers memana a.zst --wh gives --why
check "bash: nothing after --" offers memana top -- --wh gives ''
check "bash: not the command's own options" offers memrec --steps 3 -- ls --st gives ''
check "bash: but its files" offers memrec --steps 3 ls a gives a.zst
check "bash: the command" eval 'bash_offers memrec -- pri | grep -qx printf'

# ---- fish ----
if command -v fish >/dev/null; then
	fish_offers() { HOME=$PWD fish -c "source ./$1.fish; complete -C '$2'" 2>err | cut -f 1; }
	all_in_fish() {
		{ fish_offers $1 "$1 $2 --"; fish_offers $1 "$1 $2 -"; } >offered
		options $1 $2 >wanted
		[ -s wanted ] && same wanted offered && [ ! -s err ]
	}
	for name in memrec memana; do
		check "fish: $name: its options" all_in_fish $name
		for command in $(commands $name); do
			check "fish: $name $command: its options" all_in_fish $name $command
		done
	done
	check "fish: commands" eval 'fish_offers memana "memana ve" | grep -qx verify'
	check "fish: what a value may be" eval '[ "$(fish_offers memana "memana top --by " | sort | paste -sd" ")" = "category module owner parameter phase place process" ]'
	check "fish: launchers" eval '[ "$(fish_offers memrec "memrec env t" | grep -v / | sort | paste -sd" ")" = "torchrun trl" ]'
	check "fish: the command's own" eval 'fish_offers memrec "memrec --steps 3 -- ls --almost" | grep -qx -- --almost-all'
else
	echo "skip fish: it is not here"
fi

# ---- keys: bash and zsh in a terminal ----
command -v tmux >/dev/null || skip "completion at the keyboard: there is no tmux"
. "$SRC/tests/cli/tmux_kit.sh"
start_terminal 140 60 || skip "completion at the keyboard: tmux does not start"
sees 'ready>'
keys 'PATH='"$BUILD"':$PATH; . ./memana.bash; . ./memrec.bash; clear' Enter
sees '^ready>'
keys 'memana top --wh' Tab
check "bash: Tab" sees 'ready> memana top --why $|ready> memana top --why$'
keys C-u 'memana top --by=ow' Tab
check "bash: Tab after =" sees 'memana top --by=owner'
keys C-u 'memana wait --until s' Tab '3'
check "bash: Tab goes on after a colon" sees 'memana wait --until step:3'
keys C-u

command -v zsh >/dev/null || skip "zsh: it is not here"
mkdir -p functions && cp memana.zsh functions/_memana && cp memrec.zsh functions/_memrec
cat >.zshrc <<'END'
PS1='zsh> '
LISTMAX=1000
fpath=($HOME/functions $fpath)
autoload -Uz compinit && compinit -u -D
bindkey -e
END
keys "clear; ZDOTDIR=$PWD HOME=$PWD zsh -d -i" Enter
check "zsh starts" sees '^zsh>'
all_in_zsh() { # PROGRAM [COMMAND]: all of them stand on the screen
	local option
	keys C-u C-l
	sees '^zsh> *$' && keys "$1${2:+ $2} -" Tab || return 1
	for option in $(options $1 $2); do
		sees "(^| )$option( |\$)" || return 1
	done
}
for name in memrec memana; do
	check "zsh: $name: its options" all_in_zsh $name
	for command in $(commands $name); do
		check "zsh: $name $command: its options" all_in_zsh $name $command
	done
done
keys C-u C-l
sees '^zsh> *$'
keys 'memana ver' Tab
check "zsh: commands" sees '^zsh> memana verify'
keys C-u C-l 'memana top --by=ow' Tab
check "zsh: what a value may be" sees '^zsh> memana top --by=owner'
keys C-u C-l 'memrec env sl' Tab
check "zsh: launchers" sees 'slurm +slime|slime +slurm'
keys C-u C-l 'memrec --steps 3 -- ls --almost' Tab
check "zsh: the command's own" sees '^zsh> memrec --steps 3 -- ls --almost-all'
keys C-u exit Enter
no_zsh() { ! child_of_pane '^zsh' >/dev/null; }
check "zsh ends" until_true no_zsh
