// RUN: attn-sim %s --target=sm_80 --kv-heads=1 --batch='q=5,0,70;kv=9,3,70' --split=64 | FileCheck %s
// RUN: not attn-sim %s --batch='q=1;kv' 2>&1 | FileCheck %s --check-prefix=BATCH
// Every level of one small kernel agrees with the oracle.
// RUN: attnc %s --target=sm_80 --emit=pipe -o %t.mlir
// RUN: attn-sim %s --lowered=%t.mlir --kv-heads=0 --batch='q=5;kv=9' | FileCheck %s --check-prefix=PIPE
// A schedule with one release less is named.
// RUN: grep -v "pipe.release" %t.mlir > %t.broken.mlir
// RUN: not attn-sim %s --lowered=%t.broken.mlir --kv-heads=0 --batch='q=5;kv=70' | FileCheck %s --check-prefix=BROKEN

// CHECK: k {{.*}}tiles {{.*}}ok
// CHECK: k {{.*}}pipe {{.*}}ok
// CHECK: k {{.*}}frag {{.*}}ok
// BATCH: attn-sim: error:
// PIPE: k {{.*}}pipe {{.*}}ok
// BROKEN: k {{.*}}pipe {{.*}}FAILED {{.*}}slot 0 of channel '{{[qkv]}}'

!Q = !attn.tensor<query, bf16, heads = 2, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 1, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 1, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 2, dim = 64, ragged>
!LSE = !attn.tensor<lse, f32, heads = 2, dim = 1, ragged>
attn.variant @causal {
  attn.hook mask(%b, %h, %q, %k) {
    %r = arith.cmpi sge, %q, %k : i32
    attn.yield %r : i1
  }
}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal) : (!Q, !K, !V) -> (!O, !LSE)
  attn.return %o, %lse : !O, !LSE
}
