#!/usr/bin/env bash
# On a machine with a GPU: checks every bundle of a folder against the oracle at
# the lengths of the test suite plus 4096, then times prefill shapes beside
# PyTorch's kernels in the same run.
#
# usage: device.sh BIN BUNDLES OUT
#   BIN      folder with attn-run (and libtbb.so.12 if the machine has none)
#   BUNDLES  folder with NAME.attn
#   OUT      folder for checks.json, bench.json, peers.json
set -uo pipefail
bin=$1 bundles=$2 out=$3
here=$(dirname "$0")
export LD_LIBRARY_PATH=$bin:${LD_LIBRARY_PATH:-}
lengths='q=0,1,17,128,300,5,40;kv=7,1,33,128,1000,0,13'
long='q=0,1,17,128,300,5,40,4096;kv=7,1,33,128,1000,0,13,4096'
mkdir -p "$out"
: >"$out/checks.json"
status=0

run() { # label, arguments
  local label=$1; shift
  local text
  text=$(timeout 120 "$bin/attn-run" "$@" --device=cuda --json 2>&1) || { status=1; echo "FAILED $label: $text"; }
  echo "$text" | grep '^{"kernel"' | sed "s/^{/{\"case\":\"$label\",/" | tee -a "$out/checks.json" |
    python3 -c 'import json,sys
for l in sys.stdin:
    d = json.loads(l); print(d["case"], d.get("code"), "ok" if d["ok"] else "WRONG", d.get("tensor_error"), d.get("lse_error"), d.get("error", ""))'
}

for b in "$bundles"/*.attn; do
  name=$(basename "$b" .attn)
  run "$name" "$b" --batch="$lengths" --check
  run "$name split 32" "$b" --batch="$lengths" --check --split=32
  run "$name 4096" "$b" --batch="$long" --check --seed=3
done

: >"$out/bench.json"
bench() { # label, bundle, arguments
  local label=$1 b=$2; shift 2
  timeout 120 "$bin/attn-run" "$bundles/$b.attn" --device=cuda --bench --defaults --json "$@" |
    grep '^{"kernel"' | sed "s/^{/{\"case\":\"$label\",/" | tee -a "$out/bench.json"
}
bench "llama3 causal 4096x4" llama3_prefill --batch='q=4096x4;kv=4096x4'
bench "llama3 causal 16384" llama3_prefill --batch='q=16384;kv=16384'
bench "mistral window 4096, 16384" mistral_window --batch='q=16384;kv=16384'
bench "softcap causal 4096x4" softcap --batch='q=4096x4;kv=4096x4'
bench "sigmoid d64 causal 4096x4" sigmoid --batch='q=4096x4;kv=4096x4'
bench "gpt-oss d64 window 128, 16384" gpt_oss_sink --batch='q=16384;kv=16384'
python3 "$here/peers.py" >"$out/peers.json" 2>"$out/peers.log" || echo "peers failed: $(tail -n 2 "$out/peers.log")"
cat "$out/peers.json"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.draw --format=csv,noheader | tee "$out/gpu.txt"
exit $status
