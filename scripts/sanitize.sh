#!/usr/bin/env bash
# Runs tests in a build that looks after every access to memory, or after every access by two threads.
#
#   scripts/sanitize.sh memory           column, row sets and formulas under AddressSanitizer
#   scripts/sanitize.sh python           the extension under AddressSanitizer, the Python tests without Spark
#   scripts/sanitize.sh threads          column writes beside readers, attach, queues under ThreadSanitizer
#   scripts/sanitize.sh memory FILTER    the tests whose names hold FILTER; for Python, an expression of names
#
# The stable compiler has the passes behind RUSTC_BOOTSTRAP; each kind has a target folder of its own.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:?memory, python or threads}
shift
host=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/sanitize-$kind
export RUSTC_BOOTSTRAP=1 CARGO_TERM_QUIET=true RUST_BACKTRACE=1
# Frames that are looked after are many times as large: types nested 64 deep need the room.
export RUST_MIN_STACK=$((64 << 20))
# A file of symbols would be as large as the rest of the target folder.
export CARGO_PROFILE_CI_DEBUG=none CARGO_PROFILE_CI_INCREMENTAL=false

case $kind in
memory)
    export RUSTFLAGS=-Zsanitizer=address ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
    cargo test --locked --profile ci --target "$host" --lib -p tickframe-memory -p tickframe-column -p tickframe-rowset \
        -p tickframe-formula -- "$@"
    ;;
python)
    # The extension is a library: the sanitizer's own has to be there before Python starts.
    export RUSTFLAGS="-Zsanitizer=address -Zexternal-clangrt" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
    runtime=$(cc -print-file-name=libasan.so)
    [ -e "$runtime" ] || { echo "AddressSanitizer's library is missing; on Debian: apt-get install libgcc-12-dev" >&2; exit 1; }
    cargo build --locked --profile ci --target "$host" --lib -p tickframe-native --features extension-module,testing
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    cp -r python/tickframe python/pyspark_tickframe "$scratch/"
    cp "$CARGO_TARGET_DIR/$host/ci/lib_native.so" "$scratch/tickframe/_native.abi3.so"
    # Python's own allocator hides objects from the sanitizer. JAX-like libraries bring their own; they stay out.
    PYTHONPATH=$scratch PYTHONMALLOC=malloc LD_PRELOAD=$(realpath "$runtime") RUSTFLAGS='' \
        "${TICKFRAME_VENV:-$PWD/.venv}/bin/python" -m pytest -q -p no:cacheprovider tests/python \
        -m 'not spark and not example' ${1:+-k "$1"}
    ;;
threads)
    export RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" TSAN_OPTIONS="halt_on_error=1 suppressions=$PWD/scripts/tsan.supp"
    if [ $# -gt 0 ]; then
        cargo test --locked --profile ci --target "$host" --lib -p tickframe-column -p tickframe-engine -- "$@"
    else
        cargo test --locked --profile ci --target "$host" --lib -p tickframe-column -- tests::storage concurrent readers
        cargo test --locked --profile ci --target "$host" --lib -p tickframe-engine -- sources coalesce late par
        # Laws over whole graphs wait at locks of std, which is not instrumented where it waits: each wait looks like a race.
    fi
    ;;
*)
    echo "memory, python or threads, not $kind" >&2
    exit 2
    ;;
esac
