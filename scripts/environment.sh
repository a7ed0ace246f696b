#!/usr/bin/env bash
# Makes the virtual environment in TICKFRAME_VENV with all that demo, tests and benches need.
# Checks the tools first: a missing one is named with the way to get it.
# A second run finds the stamp of the same pyproject.toml and does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${TICKFRAME_VENV:-$PWD/.venv}
python=${PYTHON:-python3}

missing() {
    printf 'tickframe: %s\n' "$@" >&2
    exit 1
}

# at_least HAVE WANT: both dotted numbers
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

on_debian_as_root() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1
}

check_rust() {
    command -v cargo >/dev/null 2>&1 || missing \
        "Rust is missing (1.90 or newer is needed)." \
        "Get it with rustup, the Rust project's own installer: rustup toolchain install stable"
    local have
    have=$(rustc --version | awk '{print $2}')
    at_least "${have%%-*}" 1.90 || missing \
        "Rust $have is too old (1.90 or newer is needed)." "Get a newer one with: rustup update stable"
    command -v cc >/dev/null 2>&1 || missing \
        "A C compiler (cc) is missing; Rust links with it." "On Debian: apt-get install gcc"
}

check_python() {
    local candidate
    for candidate in "$python" python3.14 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            python=$candidate
            break
        fi
        candidate=
    done
    [ -n "$candidate" ] || missing \
        "Python 3.11 or newer is missing." "On Debian 12 or newer: apt-get install python3 python3-venv" \
        "Another interpreter is named with: make PYTHON=/path/to/python ..."
    "$python" -c 'import ensurepip, venv' 2>/dev/null || missing \
        "$python cannot make virtual environments." "On Debian: apt-get install python3-venv"
}

java_major() {
    local java=java
    [ -z "${JAVA_HOME:-}" ] || java=$JAVA_HOME/bin/java
    "$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

check_java() {
    local have
    have=$(java_major || true)
    [ -z "$have" ] || [ "$have" -lt 17 ] || return 0
    if on_debian_as_root; then
        echo "tickframe: installing a JDK 17 (found: ${have:-none})" >&2
        apt-get update -qq >&2
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openjdk-17-jdk-headless >/dev/null
        have=$(java_major || true)
        [ -z "$have" ] || [ "$have" -lt 17 ] || return 0
    fi
    missing "Spark needs a JDK 17 or newer (found: ${have:-none})." \
        "On Debian: apt-get install openjdk-17-jdk-headless" "If one is there, set JAVA_HOME to it."
}

check_rust
check_python
check_java

wanted=$("$python" scripts/requirements.py demo test dev)
stamp=$venv/.tickframe-requirements
identity="$("$python" -c 'import sys; print(sys.version, sys.base_prefix)')
$wanted"
if [ -x "$venv/bin/python" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$identity" ]; then
    exit 0
fi

echo "tickframe: making $venv" >&2
[ -x "$venv/bin/python" ] && [ "$(head -n 1 "$stamp" 2>/dev/null)" = "$(head -n 1 <<<"$identity")" ] ||
    "$python" -m venv --clear "$venv"
rm -f "$stamp"
# shellcheck disable=SC2086 # one requirement a line, none holds a space
xargs -d '\n' "$venv/bin/python" -m pip install --quiet --disable-pip-version-check <<<"$wanted"
printf '%s\n' "$identity" >"$stamp"
