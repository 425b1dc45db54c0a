#!/usr/bin/env bash
# Builds and runs every test.  The last line is "N passed, N failed, N skipped".
# ATTN_REQUIRE_PTXAS=1: a machine without ptxas is a failure, not a skip.
set -uo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }

status=0
if p=$(scripts/find-ptxas.sh); then
  PATH=$(dirname "$p"):$PATH
elif [ "${ATTN_REQUIRE_PTXAS:-0}" = 1 ]; then
  echo "test: error: ptxas is required here and was not found" >&2
  status=1
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
/usr/lib/llvm-22/bin/lit -sv --no-progress-bar "$@" build/test 2>&1 | tee "$log"
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
