// RUN: attn-opt %s --split-input-file --attn-expand-segments --allow-unregistered-dialect -verify-diagnostics

attn.kernel @classes(%plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    // expected-error@+1 {{'attn.segments' op has a class list without integer code}}
    %b:3 = attn.segments %rows, %kv0, %kv1 map <closed, classes = [partial, skip]> tile_k 32 : !attn.rows<64> -> i32, i32, i32
    "test.use"(%b#0, %b#1, %b#2) : (i32, i32, i32) -> ()
  }
  attn.return
}

// -----

attn.kernel @lower(%plan: !attn.plan) {
  attn.for_work %plan (%req, %head, %row0, %nrows, %kv0, %kv1, %slot, %flags) {
    %qb, %ql, %kb, %kl = attn.request %plan[%req]
    %rows = attn.row_map request %req head %head row0 %row0 rows %nrows q_begin %qb q_len %ql kv_len %kl pack 1 : !attn.rows<64>
    // expected-error@+1 {{'attn.segments' op has a class list without integer code}}
    %b:3 = attn.segments %rows, %kv0, %kv1 map <closed, classes = [full, partial], bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>, #attn.bound<lower, q = 1, constant = 1, q_len = 0, kv_len = 0, params = {window = -1 : i32}>]> tile_k 32 : !attn.rows<64> -> i32, i32, i32
    "test.use"(%b#0, %b#1, %b#2) : (i32, i32, i32) -> ()
  }
  attn.return
}

// -----

attn.kernel @rows(%plan: !attn.plan) {
  %rows, %kv0, %kv1 = "test.rows"() : () -> (!attn.rows<64>, i32, i32)
  // expected-error@+1 {{'attn.segments' op needs rows that attn.row_map makes}}
  %b:2 = attn.segments %rows, %kv0, %kv1 map <opaque, classes = [partial]> tile_k 32 : !attn.rows<64> -> i32, i32
  attn.return
}
