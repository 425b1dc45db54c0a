// RUN: attn-opt %s --split-input-file --attn-derive-block-map -verify-diagnostics | FileCheck %s

!Q = !attn.tensor<query, f32, heads = 2, dim = 64, dense>
!K = !attn.tensor<key, f32, heads = 2, dim = 64, dense>
!V = !attn.tensor<value, f32, heads = 2, dim = 64, dense>
!O = !attn.tensor<output, f32, heads = 2, dim = 64, dense>
!L = !attn.tensor<lse, f32, heads = 2, dim = 1, dense>

// Without a mask only the end of the slice is partial.

// CHECK-LABEL: attn.kernel @dense(
// CHECK-SAME:    block_map = #attn.block_map<closed, classes = [full, partial]>
attn.kernel @dense(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  attn.variant @v {
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// CHECK-LABEL: attn.kernel @causal(
// CHECK-SAME:    block_map = #attn.block_map<closed, classes = [full, partial],
// CHECK-SAME:      bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>]>
attn.kernel @causal(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  attn.variant @v {
    attn.hook mask(%b, %h, %qp, %kp) {
      %r = arith.cmpi sge, %qp, %kp : i32
      attn.yield %r : i1
    }
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// A window of w tokens: q - k < w is k >= q - w + 1.  Parameters go by name.

// CHECK-LABEL: attn.kernel @window(
// CHECK-SAME:    block_map = #attn.block_map<closed, classes = [partial, full, partial],
// CHECK-SAME:      bounds = [#attn.bound<upper, q = 1, constant = 0, q_len = 0, kv_len = 0, params = {}>,
// CHECK-SAME:        #attn.bound<lower, q = 1, constant = 1, q_len = 0, kv_len = 0, params = {window = -1 : i32}>]>
attn.kernel @window(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  attn.variant @v {
    %other = attn.param "other" : f32
    %w = attn.param "window" : i32
    attn.hook mask(%b, %h, %qp, %kp) {
      %zero = arith.constant 0 : i32
      %d = arith.subi %qp, %kp : i32
      %lo = arith.cmpi sge, %d, %zero : i32
      %hi = arith.cmpi slt, %d, %w : i32
      %r = arith.andi %lo, %hi : i1
      attn.yield %r : i1
    }
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// Top-left alignment: k <= q - (kv_len - q_len).

// CHECK-LABEL: attn.kernel @top_left(
// CHECK-SAME:    #attn.bound<upper, q = 1, constant = 0, q_len = 1, kv_len = -1, params = {}>
attn.kernel @top_left(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  attn.variant @v {
    attn.hook mask(%b, %h, %qp, %kp) {
      %ql = attn.length q
      %kl = attn.length kv
      %shift = arith.subi %kl, %ql : i32
      %row = arith.subi %qp, %shift : i32
      %r = arith.cmpi sge, %row, %kp : i32
      attn.yield %r : i1
    }
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// Contents of tables are not known here.

// CHECK-LABEL: attn.kernel @documents(
// CHECK-SAME:    block_map = #attn.block_map<opaque, classes = [partial, full, partial]>
attn.kernel @documents(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  attn.variant @v {
    %doc = attn.table "doc" : !attn.table<i32, [position]>
    // expected-remark@+1 {{mask has no closed form: reads table "doc"; its blocks are known when a batch is planned}}
    attn.hook mask(%b, %h, %qp, %kp) {
      %x = attn.read %doc[%qp] : !attn.table<i32, [position]>
      %y = attn.read %doc[%kp] : !attn.table<i32, [position]>
      %r = arith.cmpi eq, %x, %y : i32
      attn.yield %r : i1
    }
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// CHECK-LABEL: attn.kernel @parity(
// CHECK-SAME:    block_map = #attn.block_map<opaque, classes = [partial, full, partial]>
attn.kernel @parity(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  attn.variant @v {
    // expected-remark@+1 {{mask has no closed form: not a conjunction of bounds on k; its blocks are known when a batch is planned}}
    attn.hook mask(%b, %h, %qp, %kp) {
      %x = arith.xori %qp, %kp : i32
      %one = arith.constant 1 : i32
      %y = arith.andi %x, %one : i32
      %r = arith.cmpi eq, %y, %one : i32
      attn.yield %r : i1
    }
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}

// The integer code sums in 64 bits; factors that could leave them are not taken.

// CHECK-LABEL: attn.kernel @steep(
// CHECK-SAME:    block_map = #attn.block_map<opaque, classes = [partial, full, partial]>
attn.kernel @steep(%q: !Q, %k: !K, %v: !V, %scale: f32) {
  attn.variant @v {
    %w = attn.param "window" : i32
    // expected-remark@+1 {{mask has no closed form: a coefficient is above 65536; its blocks are known when a batch is planned}}
    attn.hook mask(%b, %h, %qp, %kp) {
      %c = arith.constant 65537 : i32
      %x = arith.muli %w, %c : i32
      %r = arith.cmpi sle, %kp, %x : i32
      attn.yield %r : i1
    }
  }
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}
