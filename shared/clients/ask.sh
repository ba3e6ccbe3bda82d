#!/usr/bin/env bash
# One governed turn of an agent, each call decided by a rule. Needs bash and jq, and mh-run on PATH.
#   ask.sh claude|codex --frame FILE -p PROMPT [other options of mh-run]
# stdout is the answer, the exit code is mh-run's. Only what the frame admits is asked about at all.
set -euo pipefail
help() { sed -n '2,4s/^# *//p' "$0"; }
case ${1-} in -h | --help) help && exit 0 ;; claude | codex) vendor=$1 ;; *) help >&2 && exit 2 ;; esac
for needed in mh-run jq; do
    command -v "$needed" >/dev/null || { echo "ask.sh: there is no $needed on PATH; put it there" >&2 && exit 2; }
done
rule='select(.decision_required) | {format: "metaharness.command/1", id: "\(.seq)", command: "tool.decide", call_id,
  decision: (if .name != "Bash" or (.input.command | test("\\A(ls|cat|git (status|diff|log))( [\\w.][\\w./-]*)*\\z") and (test("[.][.]") | not))
    then {decision: "allow"} else {decision: "deny", reason: "the shell is for ls, cat and git status, diff, log of files here"} end)}'
dir=$(mktemp -d) && trap 'rm -r "$dir"' EXIT && mkfifo "$dir/commands" && exec 3>&1
# shellcheck disable=SC2094 # a FIFO: what the loop prints are mh-run's commands
mh-run "$vendor" --decisions ask "${@:2}" <"$dir/commands" | while IFS= read -r line; do
    case $(jq -r .event <<<"$line") in
    tool.requested) jq -c "$rule" <<<"$line" ;;
    tool.decided) jq -r '"\(.call_id): \(.decision.decision) \(.decision.reason // "")"' <<<"$line" >&2 ;;
    session.ended) jq -r '.final_answer.text // empty' <<<"$line" >&3 ;;
    esac
done >"$dir/commands"
