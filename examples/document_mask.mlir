// Packed training sequences: a token sees the earlier tokens of its own document.
// `doc` holds the document number of each position.  The planner reads the
// table's host copy and narrows each tile's keys to the documents it touches.

!Q = !attn.tensor<query, bf16, heads = 8, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 8, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 8, dim = 1, ragged>

attn.variant @documents {
  %doc = attn.table "doc" : !attn.table<i32, [position]> {sample = [0 : i32, 5 : i32], sorted}
  attn.hook mask(%b, %h, %q, %k) {
    %dq = attn.read %doc[%q] : !attn.table<i32, [position]>
    %dk = attn.read %doc[%k] : !attn.table<i32, [position]>
    %same = arith.cmpi eq, %dq, %dk : i32
    %past = arith.cmpi sge, %q, %k : i32
    %visible = arith.andi %same, %past : i1
    attn.yield %visible : i1
  }
}

attn.kernel @train(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@documents) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
