// The tile ops of L1 in custom syntax: one loop with a state, the expanded form
// with a speculation, and a merge kernel.
// RUN: attn-opt --verify-roundtrip %s | FileCheck %s

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
!St = !attn.state<128x128, softmax>
!T = !attn.tile<128x128xf32>
!R = !attn.rowvec<128xf32>
!S = !attn.tile<128x64xf32>
!rows = !attn.rows<128>
// CHECK-LABEL: attn.kernel @k
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) {
  %zero = arith.constant 0 : i32
  // CHECK: attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    // CHECK-NEXT: %[[qb:.*]], %[[ql:.*]], %[[kvb:.*]], %[[kvl:.*]] = attn.request %plan[%req]
    %qb, %ql, %kvb, %kvl = attn.request %plan[%req]
    // CHECK: %[[rows:.*]] = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %[[qb]] q_len %[[ql]] kv_len %[[kvl]] pack 4 : !attn.rows<128>
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kvl pack 4 : !rows
    // CHECK: %[[b:.*]]:3 = attn.segments %[[rows]], %kv0, %kv1 map <closed, classes = [full, partial], bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>]> tile_k 64 : !attn.rows<128> -> i32, i32, i32
    %b:3 = attn.segments %rows, %kv0, %kv1 map #attn.block_map<closed, classes = [full, partial], bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>]> tile_k 64 : !rows -> i32, i32, i32
    %qt = attn.load_query %q, %rows : !Q, !rows -> !attn.tile<128x128xbf16>
    %s0 = attn.state_init : !St
    // CHECK: %[[s0:.*]] = attn.state_init : !attn.state<128x128, softmax>
    // CHECK-NEXT: %[[s2:.*]] = attn.for_kv partial descending tile_k 64 from %[[b]]#1 to %[[b]]#2 base %kv0 (%j, %k0) carry (%[[s:.*]] = %[[s0]] : !attn.state<128x128, softmax>) {
    %r = attn.for_kv partial descending tile_k 64 from %b#1 to %b#2 base %kv0 (%j, %k0) carry (%s = %s0 : !St) {
      // CHECK: attn.load_kv %k request %req kv_head %head kv_begin %[[kvb]] k0 %k0 kv1 %kv1 : !attn.tensor<key, bf16, heads = 8, dim = 128, ragged> -> !attn.tile<64x128xbf16>
      %kt = attn.load_kv %k request %req kv_head %head kv_begin %kvb k0 %k0 kv1 %kv1 : !K -> !attn.tile<64x128xbf16>
      %vt = attn.load_kv %v request %req kv_head %head kv_begin %kvb k0 %k0 kv1 %kv1 : !V -> !attn.tile<64x128xbf16>
      %x = attn.qk %qt, %kt : !attn.tile<128x128xbf16>, !attn.tile<64x128xbf16> -> !S
      // CHECK: attn.apply_score %{{.*}}, %scale, %[[rows]], %k0, %kv1 : !attn.tile<128x64xf32>, !attn.rows<128>
      %y = attn.apply_score %x, %scale, %rows, %k0, %kv1 : !S, !rows
      // CHECK: attn.apply_mask neg_inf %{{.*}}, %[[rows]], %k0, %kv1
      %z = attn.apply_mask neg_inf %y, %rows, %k0, %kv1 : !S, !rows
      // CHECK: attn.state_step exact %[[s]], %{{.*}}, %{{.*}}, %scale :
      %s1 = attn.state_step exact %s, %z, %vt, %scale : !St, !S, !attn.tile<64x128xbf16>
      attn.yield %s1 : !St
    }
    %split = arith.cmpi sge, %slot, %zero : i32
    scf.if %split {
      // CHECK: attn.store_partial %[[s2]] by %scale in %[[rows]], %plan slot %slot :
      attn.store_partial %r by %scale in %rows, %plan slot %slot : !St in !rows
    } else {
      // CHECK: attn.state_finish %[[s2]], %scale : !attn.state<128x128, softmax> -> !attn.tile<128x128xf32>, !attn.rowvec<128xf32>
      %f, %fl = attn.state_finish %r, %scale : !St -> !T, !R
      // CHECK: attn.store %{{.*}} lse %{{.*}}, %[[rows]] to %o lse %lse :
      attn.store %f lse %fl, %rows to %o lse %lse : !T lse !R, !rows to !O lse !L
    }
  }
  attn.return
}
// CHECK-LABEL: attn.kernel @expanded
attn.kernel @expanded(%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kvb, %kvl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kvl pack 4 : !rows
    %qt = attn.load_query %q, %rows : !Q, !rows -> !attn.tile<128x128xbf16>
    %s0:3 = attn.state_init : !T, !R, !R
    // CHECK: %[[sp:.*]]:3 = attn.speculate : !attn.tile<128x128xf32>, !attn.rowvec<128xf32>, !attn.rowvec<128xf32> {
    // CHECK-NEXT: ^bb0(%[[exact:.*]]: i1):
    // CHECK-NEXT: attn.exact_prefix {{.*}}, %[[exact]] : !attn.rowvec<128xf32>, !attn.rows<128>
    // CHECK: attn.for_kv full frozen descending
    %sp:3 = attn.speculate : !T, !R, !R {
    ^bb0(%exact: i1):
      %e = attn.exact_prefix %s0#1, %rows, %scale, %kv0, %kv1, %exact : !R, !rows
      %r:3 = attn.for_kv full frozen descending tile_k 64 from %kv0 to %kv1 base %kv0 (%j, %k0) carry (%O = %s0#0 : !T, %m = %s0#1 : !R, %l = %s0#2 : !R) {
        %kt = attn.load_kv %k request %req kv_head %head kv_begin %kvb k0 %k0 kv1 %kv1 : !K -> !attn.tile<64x128xbf16>
        %x = attn.qk %qt, %kt : !attn.tile<128x128xbf16>, !attn.tile<64x128xbf16> -> !S
        %m0 = attn.row_max %x, %m : !S, !R
        // CHECK: attn.lazy_max %{{.*}}, %{{.*}}, %{{.*}} by 8 : !attn.tile<128x64xf32>, !attn.rowvec<128xf32>
        %m1 = attn.lazy_max %x, %m0, %scale by 8 : !S, !R
        %al = attn.alpha %m, %m1, %scale : !R
        %p = attn.exp exact %x, %m1, %scale : !S, !R
        // CHECK: attn.row_sum %{{.*}}, %{{.*}} scaled %{{.*}} : !attn.tile<128x64xf32>, !attn.rowvec<128xf32> scaled !attn.rowvec<128xf32>
        %l1 = attn.row_sum %p, %l scaled %al : !S, !R scaled !R
        %pb = attn.pack %p : !S -> !attn.tile<128x64xbf16>
        // CHECK: attn.rescale %{{.*}}, %{{.*}} : !attn.tile<128x128xf32>, !attn.rowvec<128xf32>
        // CHECK: attn.rescale rare %{{.*}}, %{{.*}} : !attn.tile<128x128xf32>, !attn.rowvec<128xf32>
        %O0 = attn.rescale %O, %al : !T, !R
        %O1 = attn.rescale rare %O0, %al : !T, !R
        %vt = attn.load_kv %v request %req kv_head %head kv_begin %kvb k0 %k0 kv1 %kv1 : !V -> !attn.tile<64x128xbf16>
        %O2 = attn.pv %pb, %vt, %O1 : !attn.tile<128x64xbf16>, !attn.tile<64x128xbf16>, !T
        attn.yield %O2, %m1, %l1 : !T, !R, !R
      }
      attn.yield %r#0, %r#1, %r#2 : !T, !R, !R
    // CHECK: } check {
    // CHECK: attn.check %{{.*}}, %{{.*}}, %{{.*}} limit 64 :
    } check {
    ^bb0(%O: !T, %m: !R, %l: !R):
      %ok = attn.check %O, %l, %rows limit 64 : !T, !R, !rows
      // CHECK: attn.check_sums %{{.*}}, %{{.*}} limit 15 : !attn.rowvec
      %sums = attn.check_sums %l, %rows limit 15 : !R, !rows
      // CHECK: attn.check %{{.*}}, %{{.*}}, %{{.*}} limit 64 settled :
      %own = attn.check %O, %l, %rows limit 64 settled : !T, !R, !rows
      attn.yield %ok : i1
    }
    %snk = attn.apply_sink %rows : !rows -> !R
    // CHECK: attn.finish %[[sp]]#0, %[[sp]]#1, %[[sp]]#2, %scale sink %{{.*}} : !attn.tile<128x128xf32>, !attn.rowvec<128xf32> sink !attn.rowvec<128xf32>
    %f, %fl = attn.finish %sp#0, %sp#1, %sp#2, %scale sink %snk : !T, !R sink !R
    attn.store %f lse %fl, %rows to %o lse %lse : !T lse !R, !rows to !O lse !L
  }
  attn.return
}
// CHECK-LABEL: attn.kernel @merge(%scale: f32, %o: {{.*}}, %lse: {{.*}}, %plan: !attn.plan) attributes {merge_of = @k}
attn.kernel @merge(%scale: f32, %o: !O, %lse: !L, %plan: !attn.plan) attributes {merge_of = @k} {
  %c1 = arith.constant 1 : i32
  // CHECK: attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
  // CHECK-NEXT: attn.load_item %plan[%req] : i32, i32, i32, i32, i32, i32
  // CHECK: attn.load_partial {{.*}} -> !attn.tile<128x128xf32>, !attn.rowvec<128xf32>, !attn.rowvec<128xf32>
  // CHECK: attn.merge_state(%{{.*}}, %{{.*}}, %{{.*}}), (%{{.*}}, %{{.*}}, %{{.*}}), %scale : !attn.tile<128x128xf32>, !attn.rowvec<128xf32>
  // CHECK: attn.store_partial %{{.*}}, %{{.*}}, %{{.*}} by %scale in %{{.*}}, %plan slot %{{.*}} : !attn.tile
  // CHECK: attn.add_tile
  // CHECK: attn.transform_rows output
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    %it:6 = attn.load_item %plan[%req] : i32, i32, i32, i32, i32, i32
    %qb, %ql, %kvb, %kvl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kvl pack 4 : !rows
    %p:3 = attn.load_partial %rows, %plan slot %first : !rows -> !T, !R, !R
    %a:3 = attn.merge_state (%p#0, %p#1, %p#2), (%p#0, %p#1, %p#2), %scale : !T, !R
    attn.store_partial %a#0, %a#1, %a#2 by %scale in %rows, %plan slot %first : !T, !R, !R in !rows
    %c, %cl = attn.finish %a#0, %a#1, %a#2, %scale : !T, !R
    %d = attn.add_tile %a#0, %c : !T
    %h = attn.transform_rows output %d, %rows : !T, !rows -> !T
    attn.store %h lse %cl, %rows to %o lse %lse : !T lse !R, !rows to !O lse !L
  }
  attn.return
}

// In a kernel's body attn.param reads a parameter by name.
// CHECK-LABEL: attn.kernel @reads_param
attn.kernel @reads_param(%plan: !attn.plan) {
  // CHECK: attn.for_merge
  attn.for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
    // CHECK-NEXT: attn.param "window" : i32
    %w = attn.param "window" : i32
  }
  attn.return
}

!KT = !attn.tile<64x128xbf16>
!N = !attn.state<128x128, none>
// What the kernels above leave out.
// CHECK-LABEL: func.func private @rest
func.func private @rest(%i: i32, %k: !KT, %q: !Q, %kv: !K, %rows: !rows, %n: !N, %c: f32, %slot: !KT) {
  // CHECK: attn.transform_keys value %{{.*}} request %[[i:.*]] kv_head %[[i]] k0 %[[i]] kv1 %[[i]] q_len %[[i]] kv_len %[[i]] : !attn.tile<64x128xbf16> -> !attn.tile<64x128xbf16>
  %t = attn.transform_keys value %k request %i kv_head %i k0 %i kv1 %i q_len %i kv_len %i : !KT -> !KT
  // CHECK: attn.copy_query
  attn.copy_query %slot, %q, %rows : !KT, !Q, !rows
  // CHECK: attn.copy_kv
  attn.copy_kv %slot, %kv request %i kv_head %i kv_begin %i k0 %i kv1 %i : !KT, !K
  // CHECK: attn.zero_rows %{{.*}} from %[[i]] : !attn.tile<64x128xbf16>
  attn.zero_rows %slot from %i : !KT
  // CHECK: attn.rewrite_query %{{.*}}, %{{.*}} : !attn.tile<64x128xbf16>, !attn.rows<128>
  attn.rewrite_query %slot, %rows : !KT, !rows
  // CHECK: attn.rewrite_kv key %{{.*}} request %[[i]] kv_head %[[i]] k0 %[[i]] kv1 %[[i]] q_len %[[i]] kv_len %[[i]] : !attn.tile<64x128xbf16>
  attn.rewrite_kv key %slot request %i kv_head %i k0 %i kv1 %i q_len %i kv_len %i : !KT
  // CHECK: attn.slice_rows %{{.*}}[%[[i]]] of 2 : !attn.rows<128> -> !attn.rows<64>
  %half = attn.slice_rows %rows[%i] of 2 : !rows -> !attn.rows<64>
  // CHECK: attn.slice_tile %{{.*}}[%[[i]]] of 2 : !attn.tile<64x128xbf16> -> !attn.tile<32x128xbf16>
  %part = attn.slice_tile %k[%i] of 2 : !KT -> !attn.tile<32x128xbf16>
  // CHECK: attn.state_finish %{{.*}}, %{{.*}} : !attn.state<128x128, none> -> !attn.tile<128x128xf32>
  %f = attn.state_finish %n, %c : !N -> !T
  // CHECK: attn.for_kv full ascending tile_k 8 from %{{.*}} to %{{.*}} base %{{.*}} (%j, %k0) {
  attn.for_kv full ascending tile_k 8 from %i to %i base %i (%j, %k0) {
    attn.yield
  }
  return
}
