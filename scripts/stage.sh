#!/usr/bin/env bash
# stage.sh NAME COMMAND...   runs one stage, says how long it took, notes it in TICKFRAME_STAGES if that is set
# stage.sh --summary         prints the noted stages
set -uo pipefail

if [ "${1:-}" = --summary ]; then
    [ -z "${TICKFRAME_STAGES:-}" ] || cat "$TICKFRAME_STAGES"
    exit 0
fi

name=$1
shift
printf '\n== %s\n' "$name"
start=$(date +%s.%N)
"$@"
code=$?
line=$(awk -v a="$start" -v b="$(date +%s.%N)" -v n="$name" -v c="$code" \
    'BEGIN { printf "%8.1f s  %s%s", b - a, n, c ? "  FAILED (" c ")" : "" }')
printf '== %s\n' "$line"
[ -z "${TICKFRAME_STAGES:-}" ] || printf '%s\n' "$line" >>"$TICKFRAME_STAGES"
exit "$code"
