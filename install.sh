#!/bin/sh
# Build the programs, install them, try them. Needs a Rust toolchain and nothing else.
set -eu

usage() {
    cat <<'END'
usage: ./install.sh               build, install, and print the entries for both vendors
       ./install.sh --frame FILE  the same, with the entries for this frame
       ./install.sh --try         build, and see a sealed frame admit and refuse recorded calls
       ./install.sh --uninstall   remove what was installed

Programs go to ${PREFIX:-$HOME/.local}/bin, frames to start from to
${PREFIX:-$HOME/.local}/share/metaharness/frames.
END
}

programs='mh-hook-claude mh-hook-codex mh-frame-seal mh-frame-verify mh-setup mh-run'

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

# Sets $built. On Linux the programs are static: a hook then starts in the time of /bin/true and
# no LD_PRELOAD gets into it. The flags stand on the build line, with --target: from a cargo
# configuration they would break procedural macros, and a RUSTFLAGS of the caller's would undo
# them without a word.
build() {
    command -v cargo >/dev/null 2>&1 || fail 'there is no cargo here; install Rust first (rustup)'
    host=$(rustc -vV | sed -n 's/^host: //p')
    case $host in
        *-linux-gnu | *-linux-musl)
            (
                unset CARGO_ENCODED_RUSTFLAGS
                cd "$here"
                RUSTFLAGS='-C target-feature=+crt-static -C relocation-model=static' \
                    cargo build --release --locked --quiet --target "$host" --target-dir target --bins
            )
            built=$here/target/$host/release
            ;;
        *)
            (cd "$here" && cargo build --release --locked --quiet --target-dir target --bins)
            built=$here/target/release
            ;;
    esac
}

show() {
    echo "\$ $1"
    shift
    # a hook that blocks ends with 2, which is what is to be seen here; its stderr must be
    # heard somewhere, or the answer to Codex has to do without exit 2
    if out=$("$@" 2>"$scratch/stderr"); then code=0; else code=$?; fi
    printf '%s\n' "${out:-(nothing on standard output)}"
    echo "[exit $code]"
    echo
}

fire() {
    "$1" --frame "$2" <"$3"
}

# shellcheck disable=SC2016 # what is shown is for the reader's own shell
try() {
    build
    PATH=$built:$PATH
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT INT TERM
    frame=$scratch/step.json
    payloads=$here/fixtures/payloads

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

install_all() {
    build
    mkdir -p "$bin" "$share"
    for program in $programs; do
        # beside and renamed: a hook that runs right now is not disturbed
        cp "$built/$program" "$bin/.$program.new"
        chmod 755 "$bin/.$program.new"
        mv -f "$bin/.$program.new" "$bin/$program"
    done
    for file in "$here"/fixtures/frames/*.json; do
        kept=$share/${file##*/}
        if [ -e "$kept" ] && ! cmp -s "$file" "$kept"; then
            echo "note: $kept is not what it was made as, and stays"
        else
            cp "$file" "$kept"
        fi
    done
    frame=${frame:-$share/read-only.json}

    echo "installed in $bin: $programs"
    echo "frames to start from: $share"
    case :$PATH: in *:"$bin":*) ;; *) echo "note: $bin is not on your PATH" ;; esac
    cat <<END

To put the hook in, and to see whether it is on:

  mh-setup claude --project . --frame FILE     mh-setup codex --frame FILE     mh-setup doctor

or by hand. Claude Code: these entries go into .claude/settings.json of a project, or
~/.claude/settings.json. The policy is deny-only: what the frame admits is left to your own
permission rules.

END
    "$bin/mh-setup" claude --print --frame "$frame"
    cat <<END

Claude Code before 2.1.295 knows no onFailure; there, a command that cannot start blocks only in
this form:  $bin/mh-setup claude --print --shell --frame FILE

Codex: these entries go into ${CODEX_HOME:-~/.codex}/config.toml, not into hooks.json, which is
read anew for every sub-agent.

END
    if [ -z "${CODEX_HOME:-${HOME-}}" ]; then
        echo '(neither CODEX_HOME nor HOME is set, so it cannot be told where that is)'
        return
    fi
    "$bin/mh-setup" codex --print --frame "$frame"
    cat <<'END'

Codex skips an entry that it does not trust, without a word. The hashes above are the trust for
exactly these bytes in exactly that file, as the first hook of its event: change any byte, and
print the entries again, or review them with /hooks in an interactive session.

The next step is the same with the next frame.
END
}

uninstall() {
    for program in $programs; do
        rm -f "$bin/$program"
    done
    for file in "$here"/fixtures/frames/*.json; do
        if cmp -s "$file" "$share/${file##*/}"; then rm -f "$share/${file##*/}"; fi
    done
    rmdir "$share" "${share%/frames}" 2>/dev/null || :
    echo "removed from $bin: $programs"
    for file in "${CLAUDE_CONFIG_DIR:-${HOME-}/.claude}/settings.json" "${CODEX_HOME:-${HOME-}/.codex}/config.toml"; do
        if grep -qs "$bin/mh-hook-" "$file"; then
            echo "note: $file still runs the hook, so every call there is blocked until that entry is taken out"
        fi
    done
    echo 'entries in the settings of projects are not looked for'
}

action=install_all
frame=
while [ $# -gt 0 ]; do
    case $1 in
        --try) action=try ;;
        --uninstall) action=uninstall ;;
        --frame)
            [ $# -ge 2 ] || fail '--frame takes a file; see --help'
            frame=$2
            shift
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        *) fail "there is no argument $1; see --help" ;;
    esac
    shift
done

if [ "$action" != try ]; then
    prefix=${PREFIX:-${HOME:?neither PREFIX nor HOME is set}/.local}
    bin=$prefix/bin
    share=$prefix/share/metaharness/frames
fi
$action
