// RUN: attn-opt %s --attn-to-cpu | FileCheck %s
// RUN: attn-opt %s --attn-to-cpu=force-exact=true | FileCheck %s --check-prefix=EXACT
// RUN: attn-opt %s --attn-to-cpu=fail-check=true | FileCheck %s --check-prefix=FAIL

// One copy of the body: a loop that runs again with exact = true if the check
// says no.

!O = !attn.tensor<output, f32, heads = 2, dim = 16, ragged>
!T = !attn.tile<16x16xf32>
!R = !attn.rowvec<16xf32>

// CHECK-LABEL: llvm.func @s(
// CHECK: scf.while (%[[ONCE:[a-z0-9_]+]] = %false{{.*}}) : (i1) -> i1
// The prefix: all blocks if exact.
// CHECK: arith.select %[[ONCE]]
// The check: every live row's sum is below 2^64.
// CHECK: arith.constant 1.84467441E+19 : f32
// CHECK: %[[DONE:[0-9]+]] = arith.ori %{{.*}}, %[[ONCE]] : i1
// CHECK: %[[AGAIN:[0-9]+]] = arith.xori %[[DONE]]
// CHECK: scf.condition(%[[AGAIN]]) %{{.*}} : i1

// EXACT: scf.while (%{{[a-z0-9_]+}} = %true{{.*}}) : (i1) -> i1

// FAIL-NOT: 1.84467441E+19
// FAIL: arith.ori %false{{.*}}, %{{.*}} : i1
// FAIL-NOT: 1.84467441E+19
attn.kernel @s(%o: !O, %scale: f32, %plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<16>
    %r:3 = attn.speculate : !T, !R, !R {
    ^bb0(%exact: i1):
      %O, %m, %l = attn.state_init : !T, !R, !R
      %e = attn.exact_prefix %m, %rows, %scale, %kv0, %kv1, %exact : !R, !attn.rows<16>
      attn.yield %O, %m, %l : !T, !R, !R
    } check {
    ^bb0(%O: !T, %m: !R, %l: !R):
      %ok = attn.check %O, %l, %rows limit 64 : !T, !R, !attn.rows<16>
      attn.yield %ok : i1
    }
    attn.store %r#0, %rows to %o : !T, !attn.rows<16> to !O
  }
  attn.return
}
