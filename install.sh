#!/bin/sh
# Install the programs and try them. Without --from they are built here, which needs a Rust toolchain and, the first
# time, a network for the crates. A release needs only tar and sha256sum or shasum.
set -eu

usage() {
    cat <<END
usage: ./install.sh               build, install, and say what to do next
       ./install.sh --frame FILE  the same for this frame, which has to verify
       ./install.sh --try         build, and see a sealed frame admit and refuse recorded calls
       ./install.sh --uninstall   remove what was installed

       --from TARBALL             with any of the first three: take the programs of a release
                                  instead of building; its sum has to be in SHA256SUMS beside it
       --sha256 HEX               the sum that TARBALL must have; SHA256SUMS is then not asked

Building needs Rust $(needed) or newer and, the first time, a network for the crates; it takes a
minute or two. --from TARBALL needs neither.

Programs go to \${PREFIX:-\$HOME/.local}/bin, frames to start from to
\${PREFIX:-\$HOME/.local}/share/metaharness/frames.

exit codes: 0 done; 1 something is not as it has to be, and nothing was changed; 2 usage
END
}

programs='mh-hook-claude mh-hook-codex mh-frame-seal mh-frame-verify mh-setup mh-run'

# the script's real place: it may have been started through a link
self=$0
while [ -L "$self" ]; do
    link=$(readlink "$self")
    case $link in
        /*) self=$link ;;
        *) self=$(dirname -- "$self")/$link ;;
    esac
done
here=$(CDPATH='' cd -- "$(dirname -- "$self")" && pwd)

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

# The command line is wrong. The exit code is the programs' own for that.
misused() {
    echo "install.sh: $*; see --help" >&2
    exit 2
}

# The Rust release that the source needs.
needed() {
    sed -n 's/^rust-version = "\(.*\)"/\1/p' "$here/Cargo.toml" 2>/dev/null | grep . || echo 1.89
}

scratch=
stage=
# folders of an installation that did not end
made=
tidy() {
    rm -rf ${scratch:+"$scratch"} ${stage:+"$stage"}
    remove_folders "$made"
}

# Remove those of these folders, one a line, that are empty; the deepest first.
remove_folders() {
    printf '%s' "$1" | sort -r | while IFS= read -r folder; do rmdir "$folder" 2>/dev/null || :; done
}
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Provide the programs by one of the builds below, or from a release. Sets $built, the folder of the programs, and
# $root, the folder of their frames and payloads.
provide() {
    scratch=$(mktemp -d)
    if [ -n "$from" ]; then unpack; else "$1"; fi
}

# Build for --try, without the parts that only mh-setup and mh-run need, so that it is soon done.
build_to_try() {
    [ -f "$here/Cargo.toml" ] || fail "there is no source beside this script; --from TARBALL tries a release"
    toolchain
    place_target
    echo 'building, which takes half a minute the first time, and then a network for the crates' >&2
    programs='mh-hook-claude mh-hook-codex mh-frame-seal mh-frame-verify'
    # by name, since cargo's configuration may name another target
    host=$(rustc -vV | sed -n 's/^host: //p')
    (cd "$here" && cargo build --profile try --no-default-features --bins --locked --target "$host" \
        --target-dir "$target") >&2 || unbuilt
    built=$target/$host/try
    root=$here
}

# Refuse a toolchain that is missing or too old before anything is fetched.
toolchain() {
    needs="Rust $(needed) or newer is needed (rustup installs it), or --from TARBALL, which needs none"
    command -v cargo >/dev/null 2>&1 || fail "there is no cargo here: $needs"
    has=$(rustc --version 2>/dev/null | sed -n 's/^rustc \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    [ -n "$has" ] || fail "there is no rustc beside cargo here: $needs"
    wants=$(needed | tr . ' ')
    # shellcheck disable=SC2086 # two numbers each
    if ! newer $has $wants; then fail "this is $(rustc --version): $needs"; fi
}

newer() {
    [ "$1" -gt "$3" ] || { [ "$1" -eq "$3" ] && [ "$2" -ge "$4" ]; }
}

unbuilt() {
    fail "it could not be built, and cargo says above why; nothing was changed. Crates that could not be fetched need a network this once"
}

# Sets $target, the folder for the build: outside the checkout if that cannot be written to.
place_target() {
    target=$here/target
    if ! mkdir -p "$target" 2>/dev/null || [ ! -w "$target" ]; then target=$scratch/target; fi
}

build() {
    [ -x "$here/tests/release/build" ] || fail "there is no source beside this script; --from TARBALL installs a release"
    toolchain
    place_target
    echo 'building, which takes a minute or two the first time, and then a network for the crates' >&2
    built=$("$here/tests/release/build" --target-dir "$target" --bins) || unbuilt
    pages=$built/manual
    root=$here
}

sum() {
    if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi <"$1" | cut -d ' ' -f 1
}

# The sum of a file in a list of sums.
sum_in() {
    while read -r hex name; do
        case $name in "$2" | "*$2") echo "$hex" ;; esac
    done <"$1" | tr A-F a-f | sort -u
}

# The kind of a file by its first bytes: a program, of how many bits, for which machine.
kind() {
    od -An -tx1 -N20 "$1" | tr -d ' \n' | cut -c 1-12,37-40
}

# Check a release, sum first, and unpack it into a fresh folder.
unpack() {
    command -v sha256sum >/dev/null 2>&1 || command -v shasum >/dev/null 2>&1 ||
        fail 'there is neither sha256sum nor shasum here, so no sum can be checked'
    [ -f "$from" ] || fail "there is no file $from"
    # check the same bytes that are unpacked
    cp "$from" "$scratch/tarball"

    says='--sha256'
    must=$pin
    if [ -z "$pin" ]; then
        says=$(dirname "$from")/SHA256SUMS
        [ -f "$says" ] || fail "there is no $says to check $from by: fetch it from where the tarball is from, or give --sha256 HEX"
        must=$(sum_in "$says" "${from##*/}")
        [ -n "$must" ] || fail "$says has no line for ${from##*/}: fetch the one that belongs to it, or give --sha256 HEX"
    fi
    is=$(sum "$scratch/tarball")
    [ "$is" = "$must" ] ||
        fail "$from has the sum $is, and $says says $must: it is cut short, or not what was released; fetch it again"

    if ! tar -tzf "$scratch/tarball" >"$scratch/names" 2>/dev/null || ! tar -tzvf "$scratch/tarball" >"$scratch/kinds" 2>/dev/null; then
        fail "$from cannot be unpacked: it is cut short, or no release"
    fi
    # nothing above its own folder, nothing hidden, no link: neither absolute paths nor .. match this
    if odd=$(grep -vE '^metaharness-hooks-[A-Za-z0-9._+-]+(/[A-Za-z0-9][A-Za-z0-9._+-]*)*/?$' "$scratch/names"); then
        fail "$from is no release, and was not unpacked: a file in it is named $(echo "$odd" | sed -n 1p)"
    fi
    if odd=$(grep -v '^[-d]' "$scratch/kinds"); then
        fail "$from is no release, and was not unpacked: there is a link in it, or worse: $(echo "$odd" | sed -n 1p)"
    fi
    top=$(cut -d / -f 1 "$scratch/names" | sort -u)
    case $top in *"
"* | '') fail "$from is no release: it is not one folder" ;; esac
    mkdir "$scratch/unpacked"
    tar -xzf "$scratch/tarball" -C "$scratch/unpacked"
    root=$scratch/unpacked/$top
    built=$root/bin
    pages=$root

    [ -f "$root/SHA256SUMS" ] || fail "$from is no release: there is no SHA256SUMS in it"
    (cd "$root" && find . -type f ! -path ./SHA256SUMS) | sed 's,^\./,,' | sort >"$scratch/names"
    sed 's/^[0-9a-f]*  //' "$root/SHA256SUMS" | sort | cmp -s - "$scratch/names" ||
        fail "$from is no release: the SHA256SUMS in it does not name just what is in it"
    while read -r name; do
        [ "$(sum "$root/$name")" = "$(sum_in "$root/SHA256SUMS" "$name")" ] ||
            fail "$name in $from is not what the SHA256SUMS in it says"
    done <"$scratch/names"
    for program in $programs; do
        [ -f "$built/$program" ] || fail "$from has no $program: it is another version's, take the install.sh that is in it"
        # a shell would read a program for another machine as a script
        [ "$(uname -s)" != Linux ] || [ "$(kind "$built/$program")" = "$(kind /bin/sh)" ] ||
            fail "$program in $from is not for this machine ($(uname -sm)): it is of $top"
    done
}

# Whether every program in this folder starts and prints its version.
all_start() {
    for program in $programs; do
        said=$("$1/$program" --version 2>&1 </dev/null) || said="exit $? $said"
        case $said in
            "$program "*) ;;
            *) fail "$program does not start in $1 ($said); nothing was changed" ;;
        esac
    done
}

show() {
    echo "\$ $1"
    shift
    # a hook that blocks ends with 2, which this has to show. Its stderr must be a pipe with a reader, as the vendors'
    # are, or the answer to Codex has to do without exit 2
    out=$({ { "$@" 2>&1 >&3 3>&- && echo 0 >"$scratch/code" || echo $? >"$scratch/code"; } | cat >/dev/null; } 3>&1)
    code=$(cat "$scratch/code")
    printf '%s\n' "${out:-(nothing on standard output)}"
    echo "[exit $code]"
    echo
}

fire() {
    "$1" --frame "$2" <"$3"
}

# shellcheck disable=SC2016 # what is shown is for the reader's own shell
try() {
    provide build_to_try
    all_start "$built"
    PATH=$built:$PATH
    frame=$scratch/step.json
    payloads=$root/fixtures/payloads

    show 'mh-frame-seal --new --workflow demo --version 1 --state review --step 1 --admit file.read search shell --handoff-none -o step.json' \
        mh-frame-seal --new --workflow demo --version 1 --state review --step 1 \
        --admit file.read search shell --handoff-none -o "$frame"
    (cd "$scratch" && show 'mh-frame-verify step.json' mh-frame-verify step.json)
    show 'mh-hook-claude --frame "$PWD/step.json" < fixtures/payloads/claude/Read.json' fire mh-hook-claude "$frame" "$payloads/claude/Read.json"
    show 'mh-hook-claude --frame "$PWD/step.json" < fixtures/payloads/claude/Write.json' fire mh-hook-claude "$frame" "$payloads/claude/Write.json"
    show 'mh-hook-codex --frame "$PWD/step.json" < fixtures/payloads/codex/PreToolUse.Bash.json' \
        fire mh-hook-codex "$frame" "$payloads/codex/PreToolUse.Bash.json"
    show 'mh-hook-codex --frame "$PWD/step.json" < fixtures/payloads/codex/PreToolUse.apply_patch.json' \
        fire mh-hook-codex "$frame" "$payloads/codex/PreToolUse.apply_patch.json"
    echo 'Read and the shell are admitted: Claude Code hears "allow", Codex hears nothing, which is its'
    echo '"go on". Writing is not: both hear why, and exit code 2 keeps the call from running.'
}

# Make a folder, and record the new ones, so that they can be removed again.
make() {
    missing=$1
    while [ ! -d "$missing" ] && [ "$missing" != / ] && [ "$missing" != . ]; do
        made="$missing
$made"
        missing=$(dirname -- "$missing")
    done
    mkdir -p "$1"
}

install_all() {
    provide build
    make "$bin"
    make "$share"
    # copy every program beside its place, try it there, and then rename it: this does not disturb a hook that runs
    stage=$(mktemp -d "$bin/.mh-new.XXXXXX")
    for program in $programs; do
        cp "$built/$program" "$stage/$program"
        chmod 755 "$stage/$program"
    done
    all_start "$stage"
    verified
    for program in $programs; do
        mv -f "$stage/$program" "$bin/$program"
    done
    for file in "$root"/fixtures/frames/*.json; do
        kept=$share/${file##*/}
        if [ -e "$kept" ] && ! cmp -s "$file" "$kept"; then
            echo "note: $kept is not what it was made as, and stays"
        else
            cp "$file" "$kept"
        fi
    done
    manual put_page
    [ -z "$made" ] || printf '%s' "$made" >>"${share%/frames}/folders"
    made=

    echo "installed in $bin: $programs"
    echo "frames to start from: $share"
    setup=mh-setup
    case :$PATH: in *:"$bin":*) ;; *)
        echo "note: $bin is not on your PATH"
        setup=$bin/mh-setup
        ;;
    esac
    name=${frame:-$share/read-only.json}
    case $name in *[!A-Za-z0-9/._-]*) name=$(printf '%s' "$name" | sed "s/'/'\\\\''/g; s/^/'/; s/\$/'/") ;; esac
    cat <<END

Next, in the folder of a project:

  $setup claude --project . --frame $name
  $setup codex --frame $name
  $setup doctor

The first two put the hook into a vendor's configuration, and the last says whether it is on. What
they would write, without writing it: $setup VENDOR --print --frame FILE
END
}

# Check that the frame for the next commands is one.
verified() {
    [ -z "$frame" ] || why=$("$stage/mh-frame-verify" --quiet "$frame" 2>/dev/null) || fail "$why; nothing was changed"
}

# The man pages and completions, each with its reader's place below share.
manual() {
    for program in $programs; do
        "$1" "man/$program.1" "$prefix/share/man/man1/$program.1"
        "$1" "completions/$program.bash" "$prefix/share/bash-completion/completions/$program"
        "$1" "completions/$program.zsh" "$prefix/share/zsh/site-functions/_$program"
        "$1" "completions/$program.fish" "$prefix/share/fish/vendor_completions.d/$program.fish"
    done
}

put_page() {
    # an old release has no pages
    [ -f "$pages/$1" ] || return 0
    make "${2%/*}"
    cp "$pages/$1" "$2"
}

take_page() {
    rm -f "$2"
    rmdir "${2%/*}" 2>/dev/null || :
}

uninstall() {
    scratch=$(mktemp -d)
    # it is kept longer than the others, to name the entries that start a program that is gone
    [ ! -x "$bin/mh-setup" ] || cp "$bin/mh-setup" "$scratch/mh-setup"
    for program in $programs; do
        rm -f "$bin/$program"
    done
    manual take_page
    for file in "$here"/fixtures/frames/*.json; do
        if cmp -s "$file" "$share/${file##*/}"; then rm -f "$share/${file##*/}"; fi
    done
    notes=${share%/frames}/folders
    folders=$(cat "$notes" 2>/dev/null || :)
    rm -f "$notes"
    rmdir "$share" "${share%/frames}" 2>/dev/null || :
    remove_folders "$folders
"
    echo "removed from $bin: $programs"
    left
}

# Name the entries that start a program that is gone now.
left() {
    looked="your own files and the projects below ${HOME-.}"
    if [ -x "$scratch/mh-setup" ] && all=$("$scratch/mh-setup" list "${HOME:-.}" || [ $? -eq 1 ]); then
        blocking=$(printf '%s\n' "$all" | awk '
            function told() { if (block ~ /cannot be started, so every call is denied/) printf "%s", block }
            /^[^ ]/ { told(); block = "" }
            { block = block $0 "\n" }
            END { told() }')
        if [ -z "$blocking" ]; then
            echo "no entry is left in $looked"
        else
            echo 'these entries start a program that is gone, so every call and every prompt is blocked where they stand:'
            echo
            printf '%s\n' "$blocking"
            echo
            echo 'take them out by hand; or install again, and say the commands that stand there'
        fi
        return
    fi
    for file in "${CLAUDE_CONFIG_DIR:-${HOME-}/.claude}/settings.json" "${CODEX_HOME:-${HOME-}/.codex}/config.toml"; do
        if grep -qs "$bin/mh-hook-" "$file"; then
            echo "note: $file still runs the hook, so every call there is blocked until that entry is taken out: by hand, or" \
                'install again and say mh-setup VENDOR --remove'
        fi
    done
    echo 'entries in the settings of projects were not looked for'
}

only() {
    [ -z "$action" ] || [ "$action" = "$1" ] || misused '--try and --uninstall do not go together: each is a thing to do of its own'
    action=$1
}

action=
frame=
from=
pin=
while [ $# -gt 0 ]; do
    case $1 in
        --try) only try ;;
        --uninstall) only uninstall ;;
        --frame | --from | --sha256)
            case ${2-} in
                '') misused "$1 takes a value, and none is given" ;;
                -*) misused "$1 takes a value, and behind it stands $2; a file that begins with - is named ./$2" ;;
            esac
            case $1 in
                --frame) frame=$2 ;;
                --from) from=$2 ;;
                --sha256) pin=$(echo "$2" | tr A-F a-f) ;;
            esac
            shift
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        -*) misused "there is no flag $1" ;;
        *) misused "there is no argument \"$1\"" ;;
    esac
    shift
done
action=${action:-install_all}

# an argument that would be ignored is a mistake
[ "$action" != uninstall ] || [ -z "$from$pin$frame" ] || misused '--uninstall takes no other argument'
[ "$action" != try ] || [ -z "$frame" ] || misused '--try and --frame do not go together: it seals a frame of its own'
[ -z "$pin" ] || [ -n "$from" ] || misused '--sha256 goes with --from'
case $pin in *[!0-9a-f]*) misused "--sha256 takes 64 hex digits, not \"$pin\"" ;; esac
[ -z "$pin" ] || [ ${#pin} -eq 64 ] || misused "--sha256 takes 64 hex digits, not \"$pin\""
[ -z "$frame" ] || [ -f "$frame" ] || misused "$frame: no such file"
[ -z "$frame" ] || frame=$(CDPATH='' cd -- "$(dirname -- "$frame")" && pwd)/${frame##*/}

if [ "$action" != try ]; then
    prefix=${PREFIX:-${HOME:?neither PREFIX nor HOME is set}/.local}
    bin=$prefix/bin
    share=$prefix/share/metaharness/frames
fi
$action
