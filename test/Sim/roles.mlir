// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --schedule=roles=all:8,tile_k=64 --lowered=%S/Inputs/prefill-sm90.pipe.mlir --kv-heads=0 --batch='q=5,0,70;kv=9,3,300' | FileCheck %s
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --schedule=roles=all:8,tile_k=64 --lowered=%S/Inputs/prefill-sm90.pipe.mlir --kv-heads=0 --batch='q=5,1;kv=150,0' --fail-check --seeds=20 --schedule=random --schedule=adversarial --schedule=rr | FileCheck %s
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --schedule=roles=all:8,tile_k=64 --lowered=%S/Inputs/prefill-sm90.pipe.mlir --kv-heads=0 --batch='q=5,0,1;kv=9,3,300' --seeds=20 --schedule=random | FileCheck %s
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --schedule=roles=all:8,tile_k=64 --lowered=%S/Inputs/prefill-sm90.pipe.mlir --kv-heads=0 --batch='q=5,0,1;kv=9,3,300' --seeds=20 --schedule=adversarial | FileCheck %s
// RUN: attn-sim %S/Inputs/prefill-sm90.mlir --schedule=roles=all:8,tile_k=64 --lowered=%S/Inputs/prefill-sm90.pipe.mlir --kv-heads=0 --ctas=2 --batch='q=5,0,30,1,1;kv=130,3,400,128,1' --seeds=3 --mutants | FileCheck %s --check-prefix=MUTANTS
// Two roles, two replicas of one of them: every visit and redo agrees with the
// oracle.  With one release less, the report names role, channel, slot and phase
// on each side.
// RUN: grep -v 'pipe.release %%ksF' %S/Inputs/prefill-sm90.pipe.mlir > %t.mlir
// RUN: not attn-sim %S/Inputs/prefill-sm90.mlir --schedule=roles=all:8,tile_k=64 --lowered=%t.mlir --kv-heads=0 --batch='q=5;kv=300' | FileCheck %s --check-prefix=STUCK

// CHECK: prefill {{.*}}pipe {{.*}}ok
// MUTANTS: 124 mutants: 118 caught, 6 equivalent, 0 not found
// STUCK: prefill {{.*}}pipe {{.*}}FAILED {{.*}}no role can go on
// STUCK-SAME: role 'load' waits in pipe.acquire: slot 0 of channel 'k' is held by a consumer but must be free (turn 0, phase 0; held by 'compute'[0], 'compute'[1];
// STUCK-SAME: role 'compute'[0] waits in pipe.wait: slot 0 of channel 'k' is held by a consumer but must be full
// STUCK-SAME: role 'compute'[1] waits in pipe.wait
