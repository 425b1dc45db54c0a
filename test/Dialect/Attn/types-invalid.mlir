// RUN: attn-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{element type 'f8E4M3FN' is not built; use f16, bf16 or f32}}
func.func private @f() -> !attn.tensor<query, f8E4M3FN, heads = 1, dim = 64, dense>

// -----

// expected-error @below {{heads must be at least 1, got 0}}
func.func private @f() -> !attn.tensor<query, f16, heads = 0, dim = 64, dense>

// -----

// expected-error @below {{dim must be at least 1, got -4}}
func.func private @f() -> !attn.tensor<query, f16, heads = 1, dim = -4, dense>

// -----

// expected-error @below {{lse is stored as f32, got 'f16'}}
func.func private @f() -> !attn.tensor<lse, f16, heads = 1, dim = 1, dense>

// -----

// expected-error @below {{lse has dim 1, got 2}}
func.func private @f() -> !attn.tensor<lse, f32, heads = 1, dim = 2, dense>

// -----

// expected-error @below {{table elements are i32 or f32, got 'i64'}}
func.func private @f() -> !attn.table<i64, [head]>

// -----

// expected-error @below {{a table has 1 to 3 dimensions, got 4}}
func.func private @f() -> !attn.table<i32, [head, head, head, head]>

// -----

// expected-error @below {{columns of a tile must be at least 1, got 0}}
func.func private @f() -> !attn.tile<4x0xf32>

// -----

// expected-error @below {{expected 2 extents, got 1}}
func.func private @f() -> !attn.tile<4xf32>

// -----

// expected-error @below {{extent 4294967296 is above 2147483647}}
func.func private @f() -> !attn.rowvec<4294967296xf32>

// -----

// expected-error @below {{rows must be at least 1, got 0}}
func.func private @f() -> !attn.rows<0>

// -----

// expected-error @below {{rows of a state must be at least 1, got 0}}
func.func private @f() -> !attn.state<0x4, softmax>

// -----

// expected-error @below {{block map form 'list' is not built}}
func.func private @f() attributes {a = #attn.block_map<list, classes = [partial]>}

// -----

// expected-error @below {{an opaque block map has the class partial, or partial, full and partial by the plan}}
func.func private @f() attributes {a = #attn.block_map<opaque, classes = [full]>}

// -----

// expected-error @below {{an opaque block map has no bounds, got 1}}
func.func private @f() attributes {a = #attn.block_map<opaque, classes = [partial], bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>]>}

// -----

// expected-error @below {{a closed block map has at least one class}}
func.func private @f() attributes {a = #attn.block_map<closed, classes = []>}

// -----

// expected-error @below {{the coefficient of q must be 0 or 1, got 2}}
func.func private @f() attributes {a = #attn.bound<upper, q = 2, constant = 0, q_len = 0, kv_len = 0, params = {}>}

// -----

// expected-error @below {{the coefficient of parameter "w" must be an i32}}
func.func private @f() attributes {a = #attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {w = 1 : i64}>}

// -----

// expected-error @below {{tile_q and tile_k must be at least 1, got 0 and 64}}
func.func private @f() attributes {s = #attn.schedule<tile_q = 0, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>}

// -----

// expected-error @below {{pack must be in [1, tile_q], got pack 129 and tile_q 128}}
func.func private @f() attributes {s = #attn.schedule<tile_q = 128, tile_k = 64, pack = 129, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>}

// -----

// expected-error @below {{exp2_fma must be in [0, 16], got 17}}
func.func private @f() attributes {s = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = frozen, limit = 64, exp2_fma = 17, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>}

// -----

// expected-error @below {{limit must be in [0, 126], got 127}}
func.func private @f() attributes {s = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 127, fold_scale = true, p_type = bf16, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>}

// -----

// expected-error @below {{p_type 'f64' is not built; use f16, bf16 or f32}}
func.func private @f() attributes {s = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = f64, v_tail = "zero_fill", merge = "kernel", epilogue = "direct", pipe = unit>}

// -----

// expected-error @below {{v_tail must be one of [zero_fill, zero_rows, select_rows], got "nothing"}}
func.func private @f() attributes {s = #attn.schedule<tile_q = 128, tile_k = 64, pack = 1, kv_order = descending, softmax = exact, limit = 64, fold_scale = true, p_type = bf16, v_tail = "nothing", merge = "kernel", epilogue = "direct", pipe = unit>}
