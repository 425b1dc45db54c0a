// RUN: attn-opt %s -split-input-file -verify-diagnostics

attn.variant @v {
  // expected-error @below {{'arith.constant' op is not allowed in a variant, which holds params, tables and hooks}}
  %c = arith.constant 0 : i32
}

// -----

attn.variant @v {
  %a = attn.param "x" : i32
  // expected-error @below {{'attn.table' op is the second declaration of x}}
  %b = attn.table "x" : !attn.table<i32, [head]>
}

// -----

attn.variant @v {
  attn.hook sink(%b, %h) {
    %c = arith.constant 0.0 : f32
    attn.yield %c : f32
  }
  // expected-error @below {{'attn.hook' op second sink hook; a variant has at most one of each kind}}
  attn.hook sink(%b, %h) {
    %c = arith.constant 0.0 : f32
    attn.yield %c : f32
  }
}

// -----

attn.variant @v normaliser(none) {
  // expected-error @below {{a sink logit needs normaliser softmax, the variant has none}}
  attn.hook sink(%b, %h) {
    %c = arith.constant 0.0 : f32
    attn.yield %c : f32
  }
}

// -----

attn.variant @v {
  // expected-error @below {{name "two words" must consist of letters, digits and _}}
  %a = attn.param "two words" : i32
}

// -----

attn.variant @v {
  // expected-error @below {{default must be of type 'f32', got 3 : i32}}
  %a = attn.param "a" : f32 {default = 3 : i32}
}

// -----

attn.variant @v {
  // expected-error @below {{has no attribute defualt; known are default, sample}}
  %a = attn.param "a" : f32 {defualt = 3.0 : f32}
}

// -----

attn.variant @v {
  // expected-error @below {{has no attribute default; known are sample, sorted}}
  %a = attn.table "a" : !attn.table<i32, [head]> {default = 3 : i32}
}

// -----

attn.variant @v {
  // expected-error @below {{sample must be [lo, hi]}}
  %a = attn.param "a" : i32 {sample = [1 : i32]}
}

// -----

attn.variant @v {
  // expected-error @below {{sample must hold values of type 'i32', got 1.000000e+00 : f32}}
  %a = attn.param "a" : i32 {sample = [0 : i32, 1.0 : f32]}
}

// -----

attn.variant @v {
  // expected-error @below {{sample needs lo <= hi, got 4 and 2}}
  %a = attn.param "a" : i32 {sample = [4 : i32, 2 : i32]}
}

// -----

attn.variant @v {
  // expected-error @below {{sample needs finite lo <= hi, got 1.000000e+00 : f32 and 0x7F800000 : f32}}
  %a = attn.param "a" : f32 {sample = [1.0 : f32, 0x7F800000 : f32]}
}

// -----

attn.variant @v {
  // expected-error @below {{sorted takes no value}}
  %a = attn.table "a" : !attn.table<i32, [head]> {sorted = 1 : i32}
}

// -----

attn.variant @v {
  %t = attn.table "t" : !attn.table<i32, [batch, position]>
  attn.hook mask(%b, %h, %q, %k) {
    // expected-error @below {{table has 2 dimensions but got 1 indices}}
    %x = attn.read %t[%q] : !attn.table<i32, [batch, position]>
    %r = arith.cmpi eq, %x, %k : i32
    attn.yield %r : i1
  }
}

// -----

attn.variant @v {
  // expected-error @below {{a mask hook has 4 arguments (b, h, q, k), got 3}}
  attn.hook mask(%b, %h, %q) {
  }
}

// -----

attn.variant @v {
  // expected-error @below {{the vector of a query hook needs a type, e.g. %x: vector<64xf32>}}
  attn.hook query(%x, %b, %h, %pos, %i) {
  }
}

// -----

attn.variant @v {
  // expected-error @below {{argument 0 must be a vector of f32, got 'vector<8xf16>'}}
  attn.hook query(%x: vector<8xf16>, %b, %h, %pos, %i) {
    %c = arith.constant 0.0 : f32
    attn.yield %c : f32
  }
}

// -----

attn.variant @v {
  // expected-error @below {{argument 2 must be 'i32', got 'f32'}}
  attn.hook mask(%b, %h, %q: f32, %k) {
    %c = arith.constant true
    attn.yield %c : i1
  }
}

// -----

attn.variant @v {
  // expected-error @below {{of kind sink has 2 arguments (b, h), got 1}}
  "attn.hook"() <{kind = #attn<hook_kind sink>}> ({
  ^bb0(%b: i32):
    %c = arith.constant 0.0 : f32
    attn.yield %c : f32
  }) : () -> ()
}

// -----

attn.variant @v {
  // expected-error @below {{of kind mask must yield one 'i1'}}
  attn.hook mask(%b, %h, %q, %k) {
    attn.yield %q : i32
  }
}

// -----

func.func private @impure(i32) -> i1
attn.variant @v {
  attn.hook mask(%b, %h, %q, %k) {
    // expected-error @below {{'func.call' op is not allowed in a hook; use arith, math, attn.read, attn.length or attn.element}}
    %r = func.call @impure(%q) : (i32) -> i1
    attn.yield %r : i1
  }
}

// -----

attn.variant @v {
  attn.hook mask(%b, %h, %q, %k) {
    // expected-error @below {{'arith.extsi' op gives 'i64'; values of a hook are i1, i32 or f32}}
    %x = arith.extsi %q : i32 to i64
    %r = arith.cmpi eq, %x, %x : i64
    attn.yield %r : i1
  }
}

// -----

attn.variant @v {
  attn.hook mask(%b, %h, %q, %k) {
    // expected-error @below {{expected q or kv}}
    %x = attn.length k
    %r = arith.cmpi eq, %x, %q : i32
    attn.yield %r : i1
  }
}

// -----

// expected-error @below {{'attn.param' op must be in a variant or in a kernel}}
%x = attn.param "x" : i32

// -----

// expected-error @below {{'attn.length' op expects parent op 'attn.hook'}}
%x = attn.length q

// -----

// expected-error @below {{expected one of [softmax, none] for how weights are normalised, got: softmin}}
attn.variant @v normaliser(softmin) {
}
