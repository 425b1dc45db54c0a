// RUN: attn-opt %s --attn-select-schedule='override=tile=3' -verify-diagnostics

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
// expected-error@+1 {{'attn.kernel' op unknown schedule field 'tile' (fields: tile_q, tile_k, pack, kv_order, softmax, limit, redo, exp2_fma, fold_scale, p_type, v_tail, merge, epilogue)}}
attn.kernel @k(%q: !Q, %k: !K, %v: !V, %scale: f32) attributes {target = "cpu"} {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
