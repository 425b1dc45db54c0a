// RUN: attn-opt %s --attn-to-cpu -split-input-file -verify-diagnostics
// RUN: not attn-opt %s --attn-to-cpu=vector-bits=128 -split-input-file 2>&1 | FileCheck %s --check-prefix=BITS

// BITS: vector-bits is 128 but must be 256 or 512

!K = !attn.tensor<key, f32, heads = 2, dim = 16, paged>
// expected-error @below {{paged storage is not built for cpu}}
attn.kernel @paged(%k: !K, %plan: !attn.plan) {
  attn.return
}

// -----

attn.kernel @param(%plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %req q_len %req kv_len %req pack 1 : !attn.rows<16>
    // expected-error @below {{is in the way of attn-to-cpu: run attn-expand-segments first}}
    %b:3 = attn.segments %rows, %kv0, %kv1 map #attn.block_map<closed, classes = [full, partial], bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>]> tile_k 16 : !attn.rows<16> -> i32, i32, i32
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, f32, heads = 2, dim = 16, ragged>
!T = !attn.tile<16x16xf32>
attn.kernel @left(%q: !Q, %plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %req q_len %req kv_len %req pack 1 : !attn.rows<16>
    %t = attn.load_query %q, %rows : !Q, !attn.rows<16> -> !T
    // expected-error @below {{needs a tile of queries and a tile of keys as loaded by load_query and load_kv}}
    %s = attn.qk %t, %t : !T, !T -> !T
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, f32, heads = 2, dim = 16, ragged>
!T = !attn.tile<16x16xf32>
attn.kernel @right(%q: !Q, %plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %req q_len %req kv_len %req pack 1 : !attn.rows<16>
    %t = attn.load_query %q, %rows : !Q, !attn.rows<16> -> !T
    // expected-error @below {{needs a tile of values as loaded by load_kv of a value tensor}}
    %s = attn.pv %t, %t, %t : !T, !T, !T
  }
  attn.return
}

// -----

attn.kernel @sink(%plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %req q_len %req kv_len %req pack 1 : !attn.rows<16>
    // expected-error @below {{needs a sink hook in the kernel's variant}}
    %s = attn.apply_sink %rows : !attn.rows<16> -> !attn.rowvec<16xf32>
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, f32, heads = 2, dim = 16, ragged>
!T = !attn.tile<16x16xf32>
attn.kernel @query(%q: !Q, %plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %req q_len %req kv_len %req pack 1 : !attn.rows<16>
    %t = attn.load_query %q, %rows : !Q, !attn.rows<16> -> !T
    // expected-error @below {{needs a query hook in the kernel's variant}}
    %s = attn.transform_rows query %t, %rows : !T, !attn.rows<16> -> !T
  }
  attn.return
}

// -----

!K = !attn.tensor<key, f32, heads = 2, dim = 16, ragged>
!T = !attn.tile<16x16xf32>
attn.kernel @key(%k: !K, %plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %t = attn.load_kv %k request %req kv_head %head kv_begin %req k0 %kv0 kv1 %kv1 : !K -> !T
    // expected-error @below {{needs a key hook in the kernel's variant}}
    %s = attn.transform_keys key %t request %req kv_head %head k0 %kv0 kv1 %kv1 q_len %req kv_len %req : !T -> !T
  }
  attn.return
}

// -----

// A parameter in the kernel's body must be one of the variant's.
// expected-error @below {{has no parameter 'param.window'}}
attn.kernel @named(%plan: !attn.plan) {
  %w = attn.param "window" : i32
  attn.return
}

// -----

attn.kernel @state(%plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    // expected-error @below {{is in the way of attn-to-cpu: run attn-expand-softmax first}}
    %s = attn.state_init : !attn.state<16x16, softmax>
  }
  attn.return
}

// -----

!Q = !attn.tensor<query, f32, heads = 2, dim = 16, ragged>
!K = !attn.tensor<key, f32, heads = 2, dim = 16, ragged>
!V = !attn.tensor<value, f32, heads = 2, dim = 16, ragged>
!O = !attn.tensor<output, f32, heads = 2, dim = 16, ragged>
attn.kernel @problem(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  attn.variant @v normaliser(none) {
  }
  // expected-error @below {{is in the way of attn-to-cpu: run attn-tile first}}
  %o = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O)
  attn.return %o : !O
}

// -----

attn.kernel @role(%plan: !attn.plan) {
  // expected-error @below {{is not an op of expanded tiles, which attn-to-cpu lowers}}
  %c = pipe.channel "k" from "all" to ["all"] : <!attn.tile<16x16xf32>, depth = 1>
  attn.return
}
