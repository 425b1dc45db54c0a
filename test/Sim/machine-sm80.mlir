// One role, cp.async: every level under 20 schedules of each kind.
// RUN: attn-sim %S/Inputs/causal.mlir --target=sm_80 --kv-heads=1 --batch='q=5,0,70;kv=9,3,70' --split=64 --seeds=20 --schedule=random | FileCheck %s
// RUN: attn-sim %S/Inputs/causal.mlir --target=sm_80 --kv-heads=1 --batch='q=5,0,70;kv=9,3,270' --seeds=20 --schedule=adversarial | FileCheck %s
// RUN: attn-sim %S/Inputs/causal.mlir --target=sm_80 --kv-heads=1 --batch='q=5,0,70;kv=9,3,70' --ctas=1 --seeds=2 --schedule=rr | FileCheck %s
// CHECK: k {{.*}}pipe {{.*}}ok {{.*}} schedules
// CHECK: k {{.*}}frag {{.*}}ok {{.*}} schedules
