// Modules that a simulated launch refuses, each a worked kernel with one edit.

// The map of V lies over the last bytes of the map of Q and the first of the map of
// K, so that the base of K is overwritten.
// RUN: sed 's/frag.tmap "v" at 512/frag.tmap "v" at 320/' %S/Inputs/prefill-sm90.frag.mlir > %t.tmap.mlir
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%t.tmap.mlir --kv-heads=0 --batch='q=5;kv=9' --ctas=1 --seeds=1 | FileCheck %s --check-prefix=TMAP
// TMAP: FAILED not run (random schedule, seed 0)
// TMAP-NEXT: frag.tma_load: goes through a tensor map that was not filled

// Rows in front of the slot.
// RUN: attnc %S/Inputs/query-hook.mlir --target=sm_80 --emit=frag | sed 's/\(frag.rewrite_rows.* from\) %[^ ]* to/\1 %%c-1_i32 to/' > %t.rows.mlir
// RUN: not attn-sim %S/Inputs/query-hook.mlir --target=sm_80 --lowered=%t.rows.mlir --kv-heads=1 --batch='q=5;kv=9' --ctas=1 --seeds=1 | FileCheck %s --check-prefix=ROWS
// ROWS: frag.rewrite_rows: rewrites rows -1 to 10 of 128

// Mutants of a kernel that is broken itself would tell nothing.
// RUN: sed '/frag.fence/d' %S/Inputs/prefill-sm90.frag.mlir > %t.fence.mlir
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --target=sm_80 --schedule=roles=all:8,tile_k=128 --lowered=%t.fence.mlir --kv-heads=0 --batch='q=5;kv=9' --ctas=1 --seeds=1 --mutants 2>&1 | FileCheck %s --check-prefix=BROKEN
// BROKEN: error: kernel prefill at frag is not correct before it is broken: frag.wgmma: {{.*}} without a proxy fence
// BROKEN-NOT: mutants:
