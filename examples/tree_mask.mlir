// Speculative decoding over a tree of drafts: the last tokens of a request are the
// nodes of a tree; `ancestor[position of q][position of k in the tree]` is 1 where k lies on the path to q.
// Keys before the tree are visible to all nodes.

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>

attn.variant @tree {
  %ancestor = attn.table "ancestor" : !attn.table<i32, [free, free]> {sample = [0 : i32, 1 : i32]}
  attn.hook mask(%b, %h, %q, %k) {
    %kv_len = attn.length kv
    %q_len = attn.length q
    %root = arith.subi %kv_len, %q_len : i32
    %one = arith.constant 1 : i32
    %i = arith.subi %q, %root : i32
    %j = arith.subi %k, %root : i32
    %context = arith.cmpi slt, %k, %root : i32
    %bit = attn.read %ancestor[%i, %j] : !attn.table<i32, [free, free]>
    %path = arith.cmpi eq, %bit, %one : i32
    %self = arith.cmpi eq, %q, %k : i32
    %seen = arith.ori %path, %self : i1
    %visible = arith.ori %context, %seen : i1
    attn.yield %visible : i1
  }
}

attn.kernel @verify(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@tree) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
