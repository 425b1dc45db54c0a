// Multi-item scoring: a shared prefix, then items that see the prefix and themselves
// but not each other.  `item` is 0 for the prefix and ascends from item to item.

!Q = !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>

attn.variant @multi_item {
  %item = attn.table "item" : !attn.table<i32, [batch, position]> {sample = [0 : i32, 3 : i32], sorted}
  attn.hook mask(%b, %h, %q, %k) {
    %iq = attn.read %item[%b, %q] : !attn.table<i32, [batch, position]>
    %ik = attn.read %item[%b, %k] : !attn.table<i32, [batch, position]>
    %zero = arith.constant 0 : i32
    %shared = arith.cmpi eq, %ik, %zero : i32
    %same = arith.cmpi eq, %iq, %ik : i32
    %seen = arith.ori %shared, %same : i1
    %past = arith.cmpi sge, %q, %k : i32
    %visible = arith.andi %past, %seen : i1
    attn.yield %visible : i1
  }
}

attn.kernel @score(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@multi_item) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
