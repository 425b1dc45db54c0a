// Clocks of the worked Hopper prefill.  The model is a function of the text, so
// that the numbers are exact; docs/simulator.md compares them with a device.
// 2048 clocks of a visit are tensor work of both warpgroups.
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%S/Inputs/prefill-sm90.frag.mlir --kv-heads=1 --ctas=1 --split=1000000 --batch='q=32;kv=16384' --timing | FileCheck %s
// CHECK: prefill on sm_90a: 27{{[0-9]+}}.{{[0-9]}} clocks, 1 CTAs, tensor 0.96{{[0-9]}}, of visible pairs 0.96
// CHECK-NEXT: loop prefill-sm90.frag.mlir:{{[0-9]+}}:{{[0-9]+}}: 20{{4[89]|50}}.{{[0-9]}} clocks a visit, 125 visits
// CHECK: cta 0 compute[0]: {{.*}}mufu result {{.*}}wait k.full
// CHECK: cta 0 compute[1]:
// CHECK: cta 0 load: {{.*}}wait v.empty

// The online loop: a chain that leaves the tensor unit idle.
// RUN: sed 's/arith.select %%exact, %%n2, %%e2/arith.select %%exact, %%n2, %%n2/' %S/Inputs/prefill-sm90.frag.mlir > %t.exact.mlir
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%t.exact.mlir --kv-heads=1 --ctas=1 --split=1000000 --batch='q=32;kv=4096' --timing | FileCheck %s --check-prefix=EXACT
// EXACT: loop {{.*}}: 22{{[0-9]+}}.{{[0-9]}} clocks a visit, 29 visits

// A lazy loop in which no row moves, and one in which some row of each warp always does.
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_90a --schedule=softmax=lazy --kv-heads=1 --ctas=1 --split=1000000 --batch='q=32;kv=4096' --timing | FileCheck %s --check-prefix=LAZY
// LAZY: loop {{.*}}: 21{{[0-9]+}}.{{[0-9]}} clocks a visit
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_90a --schedule=softmax=lazy --kv-heads=1 --ctas=1 --split=1000000 --batch='q=32;kv=4096' --timing --fail-check | FileCheck %s --check-prefix=MOVED
// MOVED: loop {{.*}}: 22{{[0-9]+}}.{{[0-9]}} clocks a visit

// A run with values is the same run: same clocks, right outputs.
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%S/Inputs/prefill-sm90.frag.mlir --kv-heads=1 --ctas=2 --batch='q=5,40,0,70;kv=256,40,7,400' --timing --json > %t.blank.json
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%S/Inputs/prefill-sm90.frag.mlir --kv-heads=1 --ctas=2 --batch='q=5,40,0,70;kv=256,40,7,400' --timing --json --values > %t.values.json
// RUN: diff %t.blank.json %t.values.json

// RUN: sed 's/%%log2e = arith.constant 1.44269502/%%log2e = arith.constant 1.5/' %S/Inputs/prefill-sm90.frag.mlir > %t.wrong.mlir
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%t.wrong.mlir --kv-heads=1 --ctas=1 --split=1000000 --batch='q=5;kv=256' --timing --values 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: timed run has wrong values:

// Votes say yes: each tile is done again.
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%S/Inputs/prefill-sm90.frag.mlir --kv-heads=1 --ctas=1 --split=1000000 --batch='q=32;kv=2048' --timing --fail-check --json | FileCheck %s --check-prefix=REDO
// REDO-DAG: "iterations": 12
// REDO-DAG: "iterations": 13

// The timeline.
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%S/Inputs/prefill-sm90.frag.mlir --kv-heads=1 --ctas=1 --batch='q=32;kv=1024' --timing --timeline=%t.json
// RUN: %python -m json.tool %t.json | FileCheck %s --check-prefix=LINE
// LINE-DAG: "name": "role 'compute'[1] warp 8"
// LINE-DAG: "name": "tensor of quadrant 0"
// LINE-DAG: "name": "copies of 'k'"
// LINE-DAG: "name": "map with exp2"
// LINE-DAG: "name": "nk by role 'compute'[0] warp 4"

// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --lowered=%S/Inputs/prefill-sm90.frag.mlir --timing --device=cpu 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: target 'cpu' has no timing (known: sm_80, sm_90a)
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --lowered=%S/Inputs/prefill-sm90.pipe.mlir --timing 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: error: module has no frag.kernel @prefill
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --timing --ctas-per-sm=0 2>&1 | FileCheck %s --check-prefix=SHARE
// SHARE: error: --ctas-per-sm is 0 but needs at least 1
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --timing --batch='q=5;kv=9' --batch='q=5;kv=9' 2>&1 | FileCheck %s --check-prefix=BATCH
// BATCH: error: --timing takes one --batch but got 2
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%S/Inputs/prefill-sm90.frag.mlir --ctas=1 --timing --timeline=%t.none/x.json 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: cannot write '{{.*}}x.json':

// A deadlock is one here too.
// RUN: sed '0,/frag.mbar_arrive %%ve.%%vq/{/frag.mbar_arrive %%ve.%%vq/d}' %S/Inputs/prefill-sm90.frag.mlir > %t.release.mlir
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%t.release.mlir --kv-heads=1 --batch='q=70;kv=700' --ctas=1 --timing 2>&1 | FileCheck %s --check-prefix=STUCK
// STUCK: error: timed run: deadlock: role 'load' warp 0 waits for phase 0 of slot {{[01]}} of bars 'v.empty'
