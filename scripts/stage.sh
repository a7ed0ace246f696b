#!/usr/bin/env bash
# stage.sh NAME COMMAND...   runs one stage, says how long it took, notes it in TICKFRAME_STAGES if that is set
# stage.sh --within SECONDS NAME COMMAND...
#                            the same, but not where the run that TICKFRAME_STARTED names is older: it says so and stops
# stage.sh --summary         prints the noted stages
set -uo pipefail

if [ "${1:-}" = --summary ]; then
    [ -z "${TICKFRAME_STAGES:-}" ] || cat "$TICKFRAME_STAGES"
    exit 0
fi

note() {
    printf '== %s\n' "$1"
    [ -z "${TICKFRAME_STAGES:-}" ] || printf '%s\n' "$1" >>"$TICKFRAME_STAGES"
}

within=
if [ "${1:-}" = --within ]; then
    within=$2
    shift 2
fi
name=$1
shift
if [ -n "$within" ] && [ -n "${TICKFRAME_STARTED:-}" ] && [ $(($(date +%s) - TICKFRAME_STARTED)) -gt "$within" ]; then
    printf '\n'
    note "$(printf '%8s    %s: left to a run with more time; this one is older than %d min' - "$name" $((within / 60)))"
    exit 0
fi
printf '\n== %s\n' "$name"
start=$(date +%s.%N)
"$@"
code=$?
line=$(awk -v a="$start" -v b="$(date +%s.%N)" -v n="$name" -v c="$code" \
    'BEGIN { printf "%8.1f s  %s%s", b - a, n, c ? "  FAILED (" c ")" : "" }')
note "$line"
exit "$code"
