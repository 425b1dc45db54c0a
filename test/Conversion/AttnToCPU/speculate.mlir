// RUN: attn-opt %s --attn-to-cpu | FileCheck %s
// RUN: attn-opt %s --attn-to-cpu=force-exact=true | FileCheck %s --check-prefix=EXACT
// RUN: attn-opt %s --attn-to-cpu=fail-check=true | FileCheck %s --check-prefix=FAIL

// One copy of the body: a loop that runs again with exact = true if the check
// says no.

!O = !attn.tensor<output, f32, heads = 2, dim = 16, ragged>
!T = !attn.tile<16x16xf32>
!R = !attn.rowvec<16xf32>

// CHECK-LABEL: llvm.func @s(
// CHECK: %[[FALSE:.*]] = arith.constant false
// CHECK: scf.while (%[[EXACT:.*]] = %[[FALSE]]) : (i1) -> i1
// The prefix: all blocks if exact.
// CHECK: arith.select %[[EXACT]]
// CHECK: %[[DONE:.*]] = arith.ori %{{.*}}, %[[EXACT]] : i1
// CHECK: %[[AGAIN:.*]] = arith.xori %[[DONE]]
// CHECK: scf.condition(%[[AGAIN]]) %{{.*}} : i1
// EXACT: %[[TRUE:.*]] = arith.constant true
// EXACT: scf.while (%{{.*}} = %[[TRUE]]) : (i1) -> i1
// FAIL: %[[NO:.*]] = arith.constant false
// FAIL: arith.ori %[[NO]], %{{.*}} : i1
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
