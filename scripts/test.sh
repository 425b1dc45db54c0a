#!/usr/bin/env bash
# Builds and runs every test.  The last line is "N passed, N failed, N skipped".
# Arguments go to lit.
#
#   --sanitize    first: ASan and UBSan, in build-sanitize/; the unit tests and the part of
#                 the suite that reads and rewrites text, under the rules below
#   ATTN_REQUIRE_PTXAS=1    a machine without ptxas is a failure, not a skip
set -uo pipefail
cd "$(dirname "$0")/.."

build=build
if [ "${1:-}" = --sanitize ]; then
  shift
  build=build-sanitize
  # The packaged MLIR and LLVM are not instrumented.  Their headers poison the free part of
  # an allocator's slab in our objects, their archives take from it without a word: what
  # is allocated there must not count as poisoned.  LLVM keeps what it registers to the end.
  export ASAN_OPTIONS=allow_user_poisoning=0:detect_leaks=0:abort_on_error=0:strict_string_checks=1
  export UBSAN_OPTIONS=print_stacktrace=1
  # Left out: what counts instructions and seconds (schedules, plans, mutants, surveys), and
  # what loads the library into a program without the sanitizer (python, the C program).
  set -- --filter-out ' (Examples|Schedule|Survey|Random|Sim|Docs|Lint|python)/|levels|numerics|runtime-alone|Tools/(bench|tune|plan-pic)' "$@"
  scripts/setup.sh libclang-rt-22-dev &&
    { [ -f $build/build.ninja ] || cmake --preset sanitize >/dev/null; } &&
    cmake --build $build -- tests-attn
else
  scripts/build.sh
fi || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }

status=0
if p=$(scripts/find-ptxas.sh); then
  PATH=$(dirname "$p"):$PATH
elif [ "${ATTN_REQUIRE_PTXAS:-0}" = 1 ]; then
  echo "test: error: ptxas is required here and was not found" >&2
  status=1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
/usr/lib/llvm-22/bin/lit -sv --no-progress-bar "$@" $build/test 2>&1 | tee "$log"
[ "${PIPESTATUS[0]}" = 0 ] || status=1

# Sum of the lines of lit's summary that are named so.
count() {
  awk -F: -v name="^ *($1) *$" '$1 ~ name {n += $2} END {print n + 0}' "$log"
}
passed=$(count 'Passed|Expectedly Failed')
failed=$(count 'Failed|Unresolved|Timed Out|Unexpectedly Passed')
skipped=$(count 'Unsupported|Skipped')
[ "$passed" -gt 0 ] || status=1
[ $status = 0 ] || [ "$failed" -gt 0 ] || failed=1
echo "$passed passed, $failed failed, $skipped skipped"
exit $status
