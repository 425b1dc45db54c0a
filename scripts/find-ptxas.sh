#!/usr/bin/env bash
# Prints the path of ptxas: $ATTN_PTXAS, the copy that setup.sh fetched, PATH, a
# CUDA toolkit.  Exit status 1 if there is none.
cd "$(dirname "$0")/.."
for p in "${ATTN_PTXAS:-}" "$PWD/.cache/ptxas/ptxas" "$(command -v ptxas)" \
         "${CUDA_HOME:-/usr/local/cuda}/bin/ptxas"; do
  [ -n "$p" ] && [ -x "$p" ] && { echo "$p"; exit 0; }
done
exit 1
