// Rotary positions inside of the kernel, in Llama's form: element i turns with element
// i + d/2, by the angle pos * base^(-2i/d).  Keys lie in the cache as they were
// projected, so positions may still change (a prefix that moves, a base that is tuned).
//
// What it costs: the query is turned once for each tile, the keys again for each block
// of each tile.  A cache of turned keys needs the query hook alone.
//
// Angles are computed here; a table of cosines and sines by position does as well
// (attn.table, attn.read).

!Q = !attn.tensor<query, bf16, heads = 32, dim = 64, ragged>
!K = !attn.tensor<key, bf16, heads = 8, dim = 64, ragged>
!V = !attn.tensor<value, bf16, heads = 8, dim = 64, ragged>
!O = !attn.tensor<output, bf16, heads = 32, dim = 64, ragged>
!L = !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>

attn.variant @rope {
  %base = attn.param "base" : f32 {default = 500000.0 : f32, sample = [10000.0 : f32, 500000.0 : f32]}
  attn.hook mask(%b, %h, %q, %k) {
    %visible = arith.cmpi sge, %q, %k : i32
    attn.yield %visible : i1
  }
  attn.hook query(%x: vector<64xf32>, %b, %h, %pos, %i) {
    %half = arith.constant 32 : i32
    %step = arith.constant -0.03125 : f32           // -2/d
    %pair = arith.remsi %i, %half : i32
    %n = arith.sitofp %pair : i32 to f32
    %octaves = math.log2 %base : f32
    %each = arith.mulf %octaves, %step : f32
    %exponent = arith.mulf %n, %each : f32
    %frequency = math.exp2 %exponent : f32
    %position = arith.sitofp %pos : i32 to f32
    %angle = arith.mulf %position, %frequency : f32
    %cos = math.cos %angle : f32
    %sin = math.sin %angle : f32
    %j = arith.xori %i, %half : i32                 // the other one of the pair
    %own = attn.element %x[%i] : vector<64xf32>
    %other = attn.element %x[%j] : vector<64xf32>
    %first = arith.cmpi slt, %i, %half : i32
    %minus = arith.negf %other : f32
    %turned = arith.select %first, %minus, %other : f32
    %a = arith.mulf %own, %cos : f32
    %c = arith.mulf %turned, %sin : f32
    %y = arith.addf %a, %c : f32
    attn.yield %y : f32
  }
  attn.hook key(%x: vector<64xf32>, %b, %h, %pos, %i) {
    %half = arith.constant 32 : i32
    %step = arith.constant -0.03125 : f32
    %pair = arith.remsi %i, %half : i32
    %n = arith.sitofp %pair : i32 to f32
    %octaves = math.log2 %base : f32
    %each = arith.mulf %octaves, %step : f32
    %exponent = arith.mulf %n, %each : f32
    %frequency = math.exp2 %exponent : f32
    %position = arith.sitofp %pos : i32 to f32
    %angle = arith.mulf %position, %frequency : f32
    %cos = math.cos %angle : f32
    %sin = math.sin %angle : f32
    %j = arith.xori %i, %half : i32
    %own = attn.element %x[%i] : vector<64xf32>
    %other = attn.element %x[%j] : vector<64xf32>
    %first = arith.cmpi slt, %i, %half : i32
    %minus = arith.negf %other : f32
    %turned = arith.select %first, %minus, %other : f32
    %a = arith.mulf %own, %cos : f32
    %c = arith.mulf %turned, %sin : f32
    %y = arith.addf %a, %c : f32
    attn.yield %y : f32
  }
}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@rope) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
