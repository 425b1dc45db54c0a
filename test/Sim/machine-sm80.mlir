// One role, cp.async: every level under 20 schedules of each kind.
// RUN: attn-sim %s --target=sm_80 --kv-heads=1 --batch='q=5,0,70;kv=9,3,70' --split=64 --seeds=20 --schedule=random | FileCheck %s
// RUN: attn-sim %s --target=sm_80 --kv-heads=1 --batch='q=5,0,70;kv=9,3,270' --seeds=20 --schedule=adversarial | FileCheck %s
// RUN: attn-sim %s --target=sm_80 --kv-heads=1 --batch='q=5,0,70;kv=9,3,70' --ctas=1 --seeds=2 --schedule=rr | FileCheck %s
// CHECK: k {{.*}}pipe {{.*}}ok {{.*}} schedules
// CHECK: k {{.*}}frag {{.*}}ok {{.*}} schedules

// Mutants of both levels.  Those that live are legal kernels: the groups of K and V
// are always waited for together, and a visit's barrier orders the next item too.
// RUN: not attn-sim %s --target=sm_80 --kv-heads=1 --batch='q=150,5;kv=400,37' --ctas=1 --schedule=softmax=exact --seeds=3 --mutants --explore=1 | FileCheck %s --check-prefix=MUTANTS
// MUTANTS-COUNT-6: NOT FOUND
// MUTANTS: {{^}}100 mutants: 94 caught, 0 equivalent, 6 not found

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
