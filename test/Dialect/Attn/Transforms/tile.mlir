// RUN: attn-opt %s --attn-tile | FileCheck %s

!Q = !attn.tensor<query, bf16, heads = 8, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 8, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 8, dim = 1, ragged>
#causal = #attn.block_map<closed, classes = [full, partial], bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>]>
#dense = #attn.block_map<closed, classes = [full, partial]>
#packed = #attn.schedule<tile_q = 64, tile_k = 32, pack = 4, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>
#single = #attn.schedule<tile_q = 64, tile_k = 32, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = false, p_type = f32, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>

// Packed: the item's head is the KV head.  The scale is a factor of the exponent,
// so there is no apply_score.

// CHECK-LABEL: attn.kernel @packed(
// CHECK-SAME:    %[[Q:.*]]: !attn.tensor<query, {{[^:]*}}>, %[[K:.*]]: !attn.tensor<key, {{[^:]*}}>, %[[V:.*]]: !attn.tensor<value,
// CHECK-SAME:    %[[SCALE:.*]]: f32, %[[O:.*]]: !attn.tensor<output, {{[^:]*}}>, %[[LSE:.*]]: !attn.tensor<lse, {{[^:]*}}>, %[[PLAN:.*]]: !attn.plan)
// CHECK:         %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK:         %[[C:.*]] = arith.mulf %[[SCALE]], %[[LOG2E]] : f32
// CHECK:         attn.for_work %[[PLAN]] (%[[REQ:.*]], %[[HEAD:.*]], %[[ROW0:.*]], %[[NROWS:.*]], %[[KV0:.*]], %[[KV1:.*]], %{{.*}}, %{{.*}}) {
// CHECK:           %[[QB:.*]], %[[QL:.*]], %[[KB:.*]], %[[KL:.*]] = attn.request %[[PLAN]][%[[REQ]]]
// CHECK:           %[[ROWS:.*]] = attn.row_map request %[[REQ]] head %[[HEAD]] row0 %[[ROW0]] rows %[[NROWS]] q_begin %[[QB]] q_len %[[QL]] kv_len %[[KL]] pack 4 : !attn.rows<64>
// CHECK:           %[[B:.*]]:3 = attn.segments %[[ROWS]], %[[KV0]], %[[KV1]] flags %{{.*}} map {{.*}} tile_k 32
// CHECK:           %[[QT:.*]] = attn.load_query %[[Q]], %[[ROWS]] : {{.*}} -> !attn.tile<64x64xbf16>
// CHECK:           %[[S0:.*]] = attn.state_init : !attn.state<64x64, softmax>
// CHECK:           %[[ST:.*]] = attn.for_kv partial descending tile_k 32 from %[[B]]#0 to %[[B]]#2 base %[[KV0]] (%{{.*}}, %[[K0:.*]]) carry (%[[OLD:.*]] = %[[S0]] : {{.*}}) {
// CHECK:             %[[KT:.*]] = attn.load_kv %[[K]] request %[[REQ]] kv_head %[[HEAD]] kv_begin %[[KB]] k0 %[[K0]] kv1 %[[KV1]] : {{.*}} -> !attn.tile<32x64xbf16>
// CHECK:             %[[VT:.*]] = attn.load_kv %[[V]] request %[[REQ]] kv_head %[[HEAD]] kv_begin %[[KB]] k0 %[[K0]] kv1 %[[KV1]] : {{.*}} -> !attn.tile<32x64xbf16>
// CHECK:             %[[S:.*]] = attn.qk %[[QT]], %[[KT]]
// CHECK-NOT:         attn.apply_score
// CHECK:             %[[SM:.*]] = attn.apply_mask neg_inf %[[S]], %[[ROWS]], %[[K0]], %[[KV1]]
// CHECK:             %[[NEW:.*]] = attn.state_step exact %[[OLD]], %[[SM]], %[[VT]], %[[C]]
// CHECK:             attn.yield %[[NEW]]
// CHECK:           %[[T:.*]], %[[R:.*]] = attn.state_finish %[[ST]], %[[C]]
// CHECK:           attn.store %[[T]] lse %[[R]], %[[ROWS]] to %[[O]] lse %[[LSE]]
// CHECK:         attn.return{{$}}

// The merge kernel: the first partial, then the rest in slot order.

// CHECK-LABEL: attn.kernel @packed_merge(
// CHECK-SAME:    %[[SCALE:.*]]: f32, %[[O:.*]]: !attn.tensor<output, {{[^:]*}}>, %[[LSE:.*]]: !attn.tensor<lse, {{[^:]*}}>, %[[PLAN:.*]]: !attn.plan)
// CHECK-SAME:    merge_of = @packed
// The variant stays for its parameters; its hooks act before the merge.
// CHECK:         attn.variant @causal
// CHECK-NOT:     attn.hook
// The factor of the kernel's exponents.
// CHECK:         %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK:         %[[C:.*]] = arith.mulf %[[SCALE]], %[[LOG2E]]
// CHECK:         attn.for_merge %[[PLAN]] (%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[FIRST:.*]], %[[COUNT:.*]]) {
// CHECK:           %[[ROWS:.*]] = attn.row_map
// CHECK:           %[[ONE:.*]] = arith.constant 1 : i32
// CHECK:           %[[P0:.*]]:3 = attn.load_partial %[[ROWS]], %[[PLAN]] slot %[[FIRST]]
// CHECK:           %[[SECOND:.*]] = arith.addi %[[FIRST]], %[[ONE]]
// CHECK:           %[[END:.*]] = arith.addi %[[FIRST]], %[[COUNT]]
// CHECK:           %[[ALL:.*]]:3 = scf.for %[[SLOT:.*]] = %[[SECOND]] to %[[END]] step %[[ONE]] iter_args(%[[OA:.*]] = %[[P0]]#0, %[[MA:.*]] = %[[P0]]#1, %[[LA:.*]] = %[[P0]]#2)
// CHECK:             %[[B:.*]]:3 = attn.load_partial %[[ROWS]], %[[PLAN]] slot %[[SLOT]]
// CHECK:             %[[OM:.*]], %[[MM:.*]], %[[LM:.*]] = attn.merge_state(%[[OA]], %[[MA]], %[[LA]]), (%[[B]]#0, %[[B]]#1, %[[B]]#2), %[[C]]
// CHECK:             scf.yield %[[OM]], %[[MM]], %[[LM]]
// CHECK:           %[[T:.*]], %[[R:.*]] = attn.finish %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2, %[[C]] :
// CHECK:           attn.store %[[T]] lse %[[R]], %[[ROWS]] to %[[O]] lse %[[LSE]]
attn.kernel @packed(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu", schedule = #packed, block_map = #causal} {
  attn.variant @causal {
    attn.hook mask(%b, %h, %qp, %kp) {
      %r = arith.cmpi sge, %qp, %kp : i32
      attn.yield %r : i1
    }
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// Not packed: the KV head is derived.  All hooks; V has the element p_type, Q and
// K that of the rewritten tiles.

// CHECK-LABEL: attn.kernel @hooks(
// CHECK:         %[[C:.*]] = arith.constant 1.44269502 : f32
// CHECK-NOT:     arith.mulf
// CHECK:         attn.for_work
// CHECK:           %[[GROUP:.*]] = arith.constant 4 : i32
// CHECK:           %[[KVH:.*]] = arith.divsi %{{.*}}, %[[GROUP]] : i32
// CHECK:           %[[QT:.*]] = attn.load_query {{.*}} -> !attn.tile<64x64xf32>
// CHECK:           %[[QX:.*]] = attn.transform_rows query %[[QT]]
// CHECK:           attn.for_kv
// CHECK:             %[[KT:.*]] = attn.load_kv {{.*}} kv_head %[[KVH]] {{.*}} -> !attn.tile<32x64xf32>
// CHECK:             %[[KX:.*]] = attn.transform_keys key %[[KT]] {{.*}} kv_head %[[KVH]]
// CHECK:             %[[VT:.*]] = attn.load_kv {{.*}} -> !attn.tile<32x64xf32>
// CHECK:             %[[VX:.*]] = attn.transform_keys value %[[VT]]
// CHECK:             %[[S:.*]] = attn.qk %[[QX]], %[[KX]]
// CHECK:             %[[S1:.*]] = attn.apply_score %[[S]]
// CHECK:             %[[S2:.*]] = attn.apply_mask neg_inf %[[S1]]
// CHECK:             attn.state_step exact %{{.*}}, %[[S2]], %[[VX]], %[[C]]
// CHECK:           %[[Z:.*]] = attn.apply_sink
// CHECK:           %[[T:.*]], %[[R:.*]] = attn.state_finish %{{.*}}, %[[C]] sink %[[Z]]
// CHECK:           %[[TX:.*]] = attn.transform_rows output %[[T]]
// CHECK:           attn.store %[[TX]] lse %[[R]]

// Sink and output hook act once on the merged row; the others are gone.

// CHECK-LABEL: attn.kernel @hooks_merge(
// CHECK:         attn.variant @all
// CHECK:           attn.param "cap"
// CHECK:           attn.hook sink
// CHECK:           attn.hook output
// CHECK-NOT:       attn.hook
// With a score hook the scale is in the scores.
// CHECK:           %[[C:.*]] = arith.constant 1.44269502 : f32
// CHECK-NOT:       arith.mulf
// CHECK:           %[[ALL:.*]]:3 = scf.for
// CHECK:           %[[Z:.*]] = attn.apply_sink
// CHECK:           %[[TS:.*]], %[[LS:.*]] = attn.finish %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2, %[[C]] sink %[[Z]]
// CHECK:           %[[TX:.*]] = attn.transform_rows output %[[TS]]
// CHECK:           attn.store %[[TX]] lse %[[LS]]
attn.kernel @hooks(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu", schedule = #single, block_map = #dense} {
  attn.variant @all {
    %cap = attn.param "cap" : f32
    attn.hook score(%s, %b, %h, %qp, %kp) {
      %r = arith.mulf %s, %cap : f32
      attn.yield %r : f32
    }
    attn.hook sink(%b, %h) {
      attn.yield %cap : f32
    }
    attn.hook query(%x: vector<64xf32>, %b, %h, %pos, %i) {
      %y = attn.element %x[%i] : vector<64xf32>
      attn.yield %y : f32
    }
    attn.hook key(%x: vector<64xf32>, %b, %h, %pos, %i) {
      %y = attn.element %x[%i] : vector<64xf32>
      attn.yield %y : f32
    }
    attn.hook value(%x: vector<64xf32>, %b, %h, %pos, %i) {
      %y = attn.element %x[%i] : vector<64xf32>
      attn.yield %y : f32
    }
    attn.hook output(%x: vector<64xf32>, %b, %h, %pos, %i) {
      %y = attn.element %x[%i] : vector<64xf32>
      attn.yield %y : f32
    }
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@all) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// Without normaliser masked weights are 0 and there is no LSE.

// CHECK-LABEL: attn.kernel @weights(
// CHECK-NOT:     !attn.tensor<lse
// CHECK:             attn.apply_score
// CHECK:             attn.apply_mask zero
// CHECK:           %[[T:.*]] = attn.state_finish
// CHECK:           attn.store %[[T]], %{{.*}} to %{{.*}} :
// CHECK-LABEL: attn.kernel @weights_merge(
// CHECK:             attn.add_tile
attn.kernel @weights(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu", schedule = #single, block_map = #dense} {
  attn.variant @none normaliser(none) {
  }
  %o = attn.attention %q, %k, %v, %scale variant(@none) : (!Q, !K, !V) -> (!O)
  attn.return %o : !O
}
