// Head dim 72 and values of 40: products take 80 and 48 columns, memory has 72 and 40.
// RUN: attnc %s --target=sm_80 --emit=frag | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: attnc %s --target=sm_90a --emit=frag | FileCheck %s --check-prefixes=CHECK,SM90

!Q = !attn.tensor<query, bf16, heads = 2, dim = 72, ragged>
!K = !attn.tensor<key, bf16, heads = 1, dim = 72, ragged>
!V = !attn.tensor<value, bf16, heads = 1, dim = 40, ragged>
!O = !attn.tensor<output, bf16, heads = 2, dim = 40, ragged>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, ragged>

attn.variant @v {
}

// Copies fill the rest with zeros: cp.async by itself, a box of a tensor map because it
// reaches past the tensor.  Slots are whole panels: 96 columns of 128 keys are 24576 bytes.
// SM80: frag.smem "q" {{.*}} <128x80xbf16, swizzle = 64, slots = 1>
// SM80: frag.smem "k" {{.*}} <32x80xbf16, swizzle = 64, slots = 2>
// SM80: frag.smem "v" {{.*}} <32x48xbf16, swizzle = 128, slots = 2>
// SM80: frag.cp_async {{.*}} cols 72 : !frag.ptr<bf16>, !frag.ring<128x80xbf16
// SM80: frag.cp_async {{.*}} cols 72 : !frag.ptr<bf16>, !frag.ring<32x80xbf16
// SM80: frag.cp_async {{.*}} cols 40 : !frag.ptr<bf16>, !frag.ring<32x48xbf16
// SM80: frag.mma "mma.m16n8k16" nk {{.*}} !frag.ring<128x80xbf16, {{.*}}>, <32x80xbf16
// SM80: frag.mma "mma.m16n8k16" kn {{.*}} -> <128x48xf32
// SM90: frag.tmap "k" {{.*}} : <32x128x1x1xbf16, swizzle = 64>
// SM90: frag.tmap "v" {{.*}} : <64x128x1x1xbf16, swizzle = 128>
// SM90: frag.smem "k" {{.*}} <128x80xbf16, swizzle = 64, slots = 2>
// SM90: frag.smem "v" {{.*}} <128x48xbf16, swizzle = 128, slots = 2>
// SM90: frag.mbar_expect %{{.*}} bytes 24576
// SM90: frag.wgmma "wgmma.m64n128k16" nk {{.*}} : !frag.view<64x80xbf16, swizzle = 64>
// SM90: frag.wgmma "wgmma.m64n48k16" kn

// Partials have the columns of the output.
// CHECK: frag.store {{.*}} cols 40 : <{{[0-9]+}}x48xf32
// SM90: frag.quad_transpose {{.*}} : <64x48xbf16, {{.*}}> -> <64x64xbf16
// SM90: frag.store {{.*}} cols 40 : <64x64xbf16
// SM80: frag.store {{.*}} cols 40 : <128x64xbf16, #frag.layout<"quad16"

// CHECK-LABEL: frag.kernel @prefill_merge
// CHECK: frag.load {{.*}} cols 40 : <f32>{{.*}} -> <64x64xf32
// CHECK: frag.store {{.*}} cols 40 : <64x64xbf16
attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
