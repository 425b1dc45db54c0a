// Neighbourhood attention (Hassani et al., 2023) on an image of `width` columns: a token
// sees those at most `radius` rows and columns away.

!Q = !attn.tensor<query, bf16, heads = 8, dim = 64, dense>
!K = !attn.tensor<key, bf16, heads = 8, dim = 64, dense>
!V = !attn.tensor<value, bf16, heads = 8, dim = 64, dense>
!O = !attn.tensor<output, bf16, heads = 8, dim = 64, dense>
!L = !attn.tensor<lse, f32, heads = 8, dim = 1, dense>

attn.variant @neighborhood {
  %width = attn.param "width" : i32 {default = 64 : i32, sample = [7 : i32, 40 : i32]}
  %radius = attn.param "radius" : i32 {default = 6 : i32, sample = [1 : i32, 5 : i32]}
  attn.hook mask(%b, %h, %q, %k) {
    %qy = arith.floordivsi %q, %width : i32
    %ky = arith.floordivsi %k, %width : i32
    %row0 = arith.muli %qy, %width : i32
    %row1 = arith.muli %ky, %width : i32
    %qx = arith.subi %q, %row0 : i32
    %kx = arith.subi %k, %row1 : i32
    %dy = arith.subi %qy, %ky : i32
    %dx = arith.subi %qx, %kx : i32
    %zero = arith.constant 0 : i32
    %ny = arith.subi %zero, %dy : i32
    %nx = arith.subi %zero, %dx : i32
    %ay = arith.maxsi %dy, %ny : i32
    %ax = arith.maxsi %dx, %nx : i32
    %in_y = arith.cmpi sle, %ay, %radius : i32
    %in_x = arith.cmpi sle, %ax, %radius : i32
    %visible = arith.andi %in_y, %in_x : i1
    attn.yield %visible : i1
  }
}

attn.kernel @encode(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@neighborhood) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
