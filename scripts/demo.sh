#!/usr/bin/env bash
# From a fresh Debian 12 machine to a checked attention kernel: sets up, builds,
# compiles examples/llama3_prefill.mlir for the CPU and SM80, runs it on random
# input, and prints the error against the double-precision oracle.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh attnc attn-run
if p=$(scripts/find-ptxas.sh); then PATH=$(dirname "$p"):$PATH; fi

set -x
build/bin/attnc examples/llama3_prefill.mlir --target=cpu,sm_80 -o build/llama3.attn
build/bin/attn-run build/llama3.attn --device=cpu --batch='q=5,1,300;kv=7,300,1000' --check
{ set +x; } 2>/dev/null
if ldconfig -p | grep -q 'libcuda\.so\.1' && [ -e /dev/nvidiactl ]; then
  set -x
  build/bin/attn-run build/llama3.attn --device=cuda --batch='q=5,1,300,4096;kv=7,300,1000,4096' --check --bench
  { set +x; } 2>/dev/null
else
  echo "no NVIDIA driver here: the SM80 code was compiled and not run"
fi
