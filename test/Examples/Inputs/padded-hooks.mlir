// Hooks of vectors whose tiles have more columns than the tensor: each element takes
// its right neighbour in, the last one itself.
!Q = !attn.tensor<query, bf16, heads = 4, dim = 72, ragged>
!K = !attn.tensor<key, bf16, heads = 2, dim = 72, ragged>
!V = !attn.tensor<value, bf16, heads = 2, dim = 40, ragged>
!O = !attn.tensor<output, bf16, heads = 4, dim = 40, ragged>
!L = !attn.tensor<lse, f32, heads = 4, dim = 1, ragged>

attn.variant @neighbours {
  attn.hook query(%x: vector<72xf32>, %b, %h, %pos, %i) {
    %one = arith.constant 1 : i32
    %j = arith.addi %i, %one : i32
    %own = attn.element %x[%i] : vector<72xf32>
    %next = attn.element %x[%j] : vector<72xf32>
    %y = arith.addf %own, %next : f32
    attn.yield %y : f32
  }
  attn.hook key(%x: vector<72xf32>, %b, %h, %pos, %i) {
    // Not 0 for elements that are 0.
    %one = arith.constant 1 : i32
    %third = arith.constant 0.3 : f32
    %j = arith.addi %i, %one : i32
    %next = attn.element %x[%j] : vector<72xf32>
    %y = arith.addf %next, %third : f32
    attn.yield %y : f32
  }
  attn.hook value(%x: vector<40xf32>, %b, %h, %pos, %i) {
    %one = arith.constant 1 : i32
    %j = arith.addi %i, %one : i32
    %next = attn.element %x[%j] : vector<40xf32>
    attn.yield %next : f32
  }
  attn.hook output(%x: vector<40xf32>, %b, %h, %pos, %i) {
    %one = arith.constant 1 : i32
    %j = arith.addi %i, %one : i32
    %own = attn.element %x[%i] : vector<40xf32>
    %next = attn.element %x[%j] : vector<40xf32>
    %y = arith.subf %own, %next : f32
    attn.yield %y : f32
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@neighbours) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
