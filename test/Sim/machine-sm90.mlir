// The worked Hopper prefill with the concurrency of the device: roles, mbarriers,
// TMA and wgmma as agents.  Trip counts 0, 1, 2 and many; a scale of 4 makes the
// frozen reference fail, so that items are redone.
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%S/Inputs/prefill-sm90.frag.mlir --kv-heads=0 --batch='q=5,40,0,70,1;kv=300,40,7,700,0' --ctas=2 --seeds=20 --schedule=random | FileCheck %s
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%S/Inputs/prefill-sm90.frag.mlir --kv-heads=0 --batch='q=5,40,70;kv=256,40,700' --ctas=1 --seeds=20 --schedule=adversarial | FileCheck %s
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%S/Inputs/prefill-sm90.frag.mlir --kv-heads=0 --batch='q=5,70;kv=256,700' --batch='q=40,1;kv=400,9' --scale=4 --ctas=2 --seeds=20 --schedule=random --schedule=adversarial --schedule=rr | FileCheck %s
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%S/Inputs/prefill-sm90.frag.mlir --kv-heads=0 --batch='q=5,1,0,2;kv=300,700,7,0' --split=128 --ctas=2 --seeds=20 --schedule=random --schedule=adversarial --schedule=rr | FileCheck %s
// CHECK: prefill {{.*}}frag {{.*}}ok {{.*}} schedules

// A release is missing: who waits for what, on both sides.
// RUN: sed '0,/frag.mbar_arrive %%ve.%%vq/{/frag.mbar_arrive %%ve.%%vq/d}' %S/Inputs/prefill-sm90.frag.mlir > %t.release.mlir
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%t.release.mlir --kv-heads=0 --batch='q=70;kv=700' --ctas=1 --seeds=1 | FileCheck %s --check-prefix=DEADLOCK
// DEADLOCK: FAILED deadlock (random schedule, seed 0)
// DEADLOCK: role 'load' warp 0 waits for phase 0 of slot {{[01]}} of bars 'v.empty', where phase 0 runs with 0 of 8 arrivals
// DEADLOCK: role 'compute'[0] warp 4 waits for phase {{.*}} of bars {{.*}} (and 3 more of its warps)

// Rows of V are zeroed by plain stores and read by wgmma.
// RUN: sed '/frag.fence/d' %S/Inputs/prefill-sm90.frag.mlir > %t.fence.mlir
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%t.fence.mlir --kv-heads=0 --batch='q=5;kv=9' --ctas=1 --seeds=1 | FileCheck %s --check-prefix=FENCE
// FENCE: race {{.*}}frag.wgmma: {{.*}} has the async proxy touch slot 0 of ring 'v' without a proxy fence behind frag.zero_rows by role 'load' warp 0

// The accumulator is taken one product too early.
// RUN: sed 's/wgmma_wait pending 0/wgmma_wait pending 1/' %S/Inputs/prefill-sm90.frag.mlir > %t.wait.mlir
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%t.wait.mlir --kv-heads=0 --batch='q=5;kv=9' --ctas=1 --seeds=1 | FileCheck %s --check-prefix=WAIT
// WAIT: race {{.*}}frag.wgmma_wait: {{.*}} takes the accumulator of a product that the wait leaves under way

// Half of the bytes are expected.
// RUN: sed 's/bytes 32768/bytes 16384/' %S/Inputs/prefill-sm90.frag.mlir > %t.bytes.mlir
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%t.bytes.mlir --kv-heads=0 --batch='q=5;kv=9' --ctas=1 --seeds=1 | FileCheck %s --check-prefix=BYTES
// BYTES: resource error {{.*}}frag.tma_load: {{.*}}{{gets 16384 bytes more than phase|lands in phase}}

// A copy that nobody waits for, into a slot that is not in use.
// RUN: sed '/frag.tma_load %%tk(.*into %%kr\[%%kp\] on/{p;s/into %%kr\[%%kp\] on %%kf\[%%kp\]/into %%kr[%%kx] on %%tl[%%tp]/;s/!bars2/!bars1/;s/^/%%kx = frag.next %%kp : !pos2\nfrag.mbar_expect %%tl[%%tp] bytes 32768 : !bars1\n/}' %S/Inputs/prefill-sm90.frag.mlir > %t.copy.mlir
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%t.copy.mlir --kv-heads=0 --batch='q=1;kv=128' --ctas=2 --seeds=1 --schedule=rr | FileCheck %s --check-prefix=COPY
// COPY: race {{.*}}frag.tma_load: copy is not waited for before its CTA ends

// One replica takes both verdicts' words: who waits at which named barrier.
// RUN: sed '0,/frag.any %%nd scope warpgroup barrier 1/{s/barrier 1 + %%rank/barrier 1/}' %S/Inputs/prefill-sm90.frag.mlir > %t.any.mlir
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%t.any.mlir --kv-heads=0 --batch='q=40;kv=256' --ctas=1 --seeds=1 --schedule=random --first-seed=3 | FileCheck %s --check-prefix=ANY
// ANY: {{(race|resource error).*}}frag.any: role 'compute'[{{[01]}}] warp {{[0-9]+}} comes to barrier 1

// Nobody comes to an end: the report says where each warp is.
// RUN: sed 's/frag.mbar_wait %%we\[%%wp\] : !bars2/frag.mbar_wait %%we[%%wp] : !bars2/;s/%%go = arith.cmpi ne, %%word, %%END : i32/%%go = arith.constant true/;s/%%last = arith.andi %%none_left, %%closed : i1/%%last = arith.constant false/' %S/Inputs/prefill-sm90.frag.mlir > %t.end.mlir
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%t.end.mlir --kv-heads=0 --batch='q=1;kv=1' --ctas=1 --seeds=1 --max-steps=3000 | FileCheck %s --check-prefix=END
// END: no end {{.*}}not done after 3001 steps, the limit: role 'load' warp 0

// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --schedule=often 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: attn-sim: error: unknown schedule 'often' (known: rr, random, adversarial, or field=value)
