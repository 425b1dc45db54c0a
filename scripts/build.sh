#!/usr/bin/env bash
# Sets up, configures and builds everything into build/.  Arguments are targets.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
# ccache cannot hash a precompiled header that carries time stamps.
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
[ -f build/build.ninja ] || cmake --preset default >build-configure.log 2>&1 || {
  cat build-configure.log >&2
  exit 1
}
rm -f build-configure.log
cmake --build build -- "$@"
