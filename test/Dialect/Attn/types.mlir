// RUN: attn-opt --verify-roundtrip %s | FileCheck %s

// CHECK: !attn.tensor<query, f16, heads = 1, dim = 96, dense>
func.func private @tensor() -> !attn.tensor<query, f16, heads = 1, dim = 96, dense>
// CHECK: !attn.table<i32, [batch, head, position]>
func.func private @table() -> !attn.table<i32, [batch, head, position]>
// CHECK: !attn.table<f32, [free]>
func.func private @free() -> !attn.table<f32, [free]>
// CHECK: !attn.plan
func.func private @plan() -> !attn.plan
// CHECK: !attn.tile<128x64xbf16>
func.func private @tile() -> !attn.tile<128x64xbf16>
// CHECK: !attn.rowvec<128xf32>
func.func private @rowvec() -> !attn.rowvec<128xf32>
// CHECK: !attn.rows<128>
func.func private @rows() -> !attn.rows<128>
// CHECK: !attn.state<128x64, softmax>
func.func private @state() -> !attn.state<128x64, softmax>
// CHECK: !attn.state<16x64, none>
func.func private @sum() -> !attn.state<16x64, none>

// CHECK: attributes {map = #attn.block_map<opaque, classes = [partial]>}
func.func private @opaque() attributes {map = #attn.block_map<opaque, classes = [partial]>}
// CHECK: #attn.block_map<closed, classes = [partial, full, skip, partial], bounds = [#attn.bound<lower, q = 1, constant = 1, q_len = 0, kv_len = -1, params = {window = -1 : i32}>, #attn.bound<upper, q = 0, constant = 5, q_len = 2, kv_len = 0, params = {}>]>
func.func private @closed() attributes {map = #attn.block_map<closed, classes = [partial, full, skip, partial],
  bounds = [#attn.bound<lower, q = 1, constant = 1, q_len = 0, kv_len = -1, params = {window = -1 : i32}>,
            #attn.bound<upper, q = 0, constant = 5, q_len = 2, kv_len = 0, params = {}>]>}
// CHECK: #attn.schedule<tile_q = 128, tile_k = 64, pack = 4, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>
func.func private @schedule() attributes {s = #attn.schedule<tile_q = 128, tile_k = 64, pack = 4,
  kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16,
  v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>}
