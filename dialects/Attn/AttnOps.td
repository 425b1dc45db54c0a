//===- AttnOps.td - problem ops (L0) --------------------------------------===//

#ifndef ATTN_OPS
#define ATTN_OPS

include "AttnAttrs.td"
include "AttnTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

// Block arguments print under the names of the op's description.
def Attn_NamedArgs
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>;

class Attn_Op<string mnemonic, list<Trait> traits = []>
    : Op<AttnDialect, mnemonic, traits>;

def Attn_VariantOp : Attn_Op<"variant", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "hooks, parameters and tables of one kind of attention";
  let description = [{
    Holds runtime parameters, tables and at most one hook of each kind.  A missing
    mask is true everywhere, a missing score is the identity.  The order is fixed:
    scale, then score, then mask, then the normaliser.

    ```mlir
    attn.variant @window {
      %w = attn.param "window" : i32 {default = 1024 : i32, sample = [1 : i32, 4096 : i32]}
      attn.hook mask(%b, %h, %q, %k) {
        %zero = arith.constant 0 : i32
        %d = arith.subi %q, %k : i32
        %lo = arith.cmpi sge, %d, %zero : i32
        %hi = arith.cmpi slt, %d, %w : i32
        %r = arith.andi %lo, %hi : i1
        attn.yield %r : i1
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
    DefaultValuedAttr<Attn_NormaliserAttr, "::attn::Normaliser::Softmax">:$normaliser);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name custom<NormaliserClause>($normaliser) attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The hook of a kind, or null.
    ::attn::HookOp getHook(::attn::HookKind kind);
  }];
}

def Attn_ParamOp : Attn_Op<"param", [Pure]> {
  let summary = "runtime scalar";
  let description = [{
    Four bytes in the kernel's parameter struct, bound by name at run time;
    without a binding the default holds, and without a default the launch is
    refused.  `sample` is the range of random values in tests.

    In a variant it declares the parameter; in a kernel's body (block bounds after
    `attn-expand-segments`) it reads the kernel's parameter of that name.

    ```mlir
    attn.variant @v {
      %cap = attn.param "cap" : f32 {default = 50.0 : f32, sample = [30.0 : f32, 50.0 : f32]}
    }
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyTypeOf<[I32, F32]>:$result);
  let assemblyFormat = "$name `:` qualified(type($result)) attr-dict";
  let hasVerifier = 1;
}

def Attn_TableOp : Attn_Op<"table", [Pure, HasParent<"::attn::VariantOp">]> {
  let summary = "runtime array that hooks read";
  let description = [{
    Bound by name at run time as {device pointer, optional host pointer, extents,
    version}.  `sample` is the range of random contents in tests, `sorted` makes
    them ascending (document numbers).

    ```mlir
    attn.variant @v {
      %doc = attn.table "doc" : !attn.table<i32, [position]> {sample = [0 : i32, 7 : i32], sorted}
    }
    ```
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Attn_TableType:$result);
  let assemblyFormat = "$name `:` qualified(type($result)) attr-dict";
  let hasVerifier = 1;
}

def Attn_ReadOp : Attn_Op<"read", [Pure,
    TypesMatchWith<"result is the table's element", "table", "result",
                   "::llvm::cast<::attn::TableType>($_self).getElement()">]> {
  let summary = "read a table element; indices are clamped into range first";
  let description = [{
    ```mlir
    attn.variant @v {
      %sink = attn.table "sink" : !attn.table<f32, [head]>
      attn.hook sink(%b, %h) {
        %x = attn.read %sink[%h] : !attn.table<f32, [head]>
        attn.yield %x : f32
      }
    }
    ```
  }];
  let arguments = (ins Attn_TableType:$table, Variadic<I32>:$indices);
  let results = (outs AnyTypeOf<[I32, F32]>:$result);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` qualified(type($table))";
  let hasVerifier = 1;
}

def Attn_LengthOp : Attn_Op<"length", [Pure, HasParent<"::attn::HookOp">]> {
  let summary = "length of the request at hand: `q` or `kv`";
  let description = [{
    Legal in hooks.  Top-left alignment is `attn.length q`:

    ```mlir
    attn.variant @top_left {
      attn.hook mask(%b, %h, %q, %k) {
        %ql = attn.length q
        %kl = attn.length kv
        %shift = arith.subi %kl, %ql : i32
        %row = arith.subi %q, %shift : i32
        %r = arith.cmpi sge, %row, %k : i32
        attn.yield %r : i1
      }
    }
    ```
  }];
  let arguments = (ins BoolAttr:$isKv);
  let results = (outs I32:$result);
  let hasCustomAssemblyFormat = 1;
}

def Attn_ElementOp : Attn_Op<"element", [Pure, HasParent<"::attn::HookOp">]> {
  let summary = "element of the vector of a vector hook; the index is clamped";
  let description = [{
    ```mlir
    attn.variant @v {
      attn.hook query(%x: vector<64xf32>, %b, %h, %pos, %i) {
        %c32 = arith.constant 32 : i32
        %j = arith.xori %i, %c32 : i32
        %y = attn.element %x[%j] : vector<64xf32>
        attn.yield %y : f32
      }
    }
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[1], [F32]>:$vector, I32:$index);
  let results = (outs F32:$result);
  let assemblyFormat = "$vector `[` $index `]` attr-dict `:` qualified(type($vector))";
}

def Attn_HookOp : Attn_Op<"hook", [
    HasParent<"::attn::VariantOp">, SingleBlock, Attn_NamedArgs]> {
  let summary = "one hook of a variant";
  let description = [{
    | kind | arguments | result |
    | --- | --- | --- |
    | score | s: f32, b, h, q, k: i32 | f32, s already holds the scale |
    | mask | b, h, q, k | i1, false removes the key |
    | sink | b, h | f32, a logit without a value |
    | query, key, value, output | x: vector, b, h, pos, i | f32, element i of the new vector |

    Positions are logical positions in the whole request (bottom-right aligned: a
    query's is its index + kv_len - q_len).  For `key` and `value` h is the KV
    head.  Bodies are pure: arith, math, `attn.read`, `attn.length`,
    `attn.element`.  Vector hooks are written by element, so that a rotation of
    pairs is two reads and no shuffle.

    ```mlir
    attn.variant @alibi {
      attn.hook score(%s, %b, %h, %q, %k) {
        %slope = arith.constant 0.125 : f32
        %d = arith.subi %k, %q : i32
        %f = arith.sitofp %d : i32 to f32
        %x = arith.mulf %slope, %f : f32
        %r = arith.addf %s, %x : f32
        attn.yield %r : f32
      }
    }
    ```
  }];
  let arguments = (ins Attn_HookKindAttr:$kind);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The value that the body yields.
    ::mlir::Value getYielded() {
      return getBody().front().getTerminator()->getOperand(0);
    }
  }];
}

def Attn_KernelOp : Attn_Op<"kernel", [
    Symbol, SymbolTable, IsolatedFromAbove, SingleBlock, Attn_NamedArgs]> {
  let summary = "what a user names and calls; the unit of compilation";
  let description = [{
    At L0 the arguments are query, key, value and the scale, and the body is one
    `attn.attention`.  `attn-resolve-variant` clones the variant into the body;
    from then on the kernel's text is self-contained.  `attn-tile` appends the
    arguments output, lse and plan and makes a second kernel with `merge_of` that
    merges split partials.

    ```mlir
    attn.variant @causal {
      attn.hook mask(%b, %h, %q, %k) {
        %r = arith.cmpi sge, %q, %k : i32
        attn.yield %r : i1
      }
    }
    attn.kernel @prefill(%q: !attn.tensor<query, bf16, heads = 32, dim = 128, ragged>,
                         %k: !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>,
                         %v: !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>,
                         %scale: f32) {
      %o, %lse = attn.attention %q, %k, %v, %scale variant(@causal)
        : (!attn.tensor<query, bf16, heads = 32, dim = 128, ragged>,
           !attn.tensor<key, bf16, heads = 8, dim = 128, ragged>,
           !attn.tensor<value, bf16, heads = 8, dim = 128, ragged>)
        -> (!attn.tensor<output, bf16, heads = 32, dim = 128, ragged>,
            !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>)
      attn.return %o, %lse : !attn.tensor<output, bf16, heads = 32, dim = 128, ragged>,
                             !attn.tensor<lse, f32, heads = 32, dim = 1, ragged>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                   OptionalAttr<StrAttr>:$target,
                   OptionalAttr<Attn_ScheduleAttr>:$schedule,
                   OptionalAttr<Attn_BlockMapAttr>:$block_map,
                   OptionalAttr<FlatSymbolRefAttr>:$merge_of);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The variant inside the kernel (after attn-resolve-variant), or null.
    ::attn::VariantOp getVariant();
    /// The first argument with a role, or null.
    ::mlir::BlockArgument getTensor(::attn::TensorRole role);
    /// The plan argument (from L1 on), or null.
    ::mlir::BlockArgument getPlan();
    /// The scale argument, or null (merge kernels).
    ::mlir::BlockArgument getScale();
    /// Query heads of one KV head.
    int32_t getGroup();
  }];
}

def Attn_AttentionOp : Attn_Op<"attention", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "(O, LSE) = attention of Q, K, V under a variant";
  let description = [{
    For request b, row i, head h and key j of KV head h / group:
    s = scale * <q, k>; s = score(s); masked s = -inf; O = sum softmax(s) v;
    LSE = ln sum exp(s), natural logarithm.  An empty row gives O = 0 and
    LSE = -inf (LSE = sink with a sink logit).  With normaliser `none` there is no
    LSE result.
  }];
  let arguments = (ins Attn_TensorType:$query, Attn_TensorType:$key,
                   Attn_TensorType:$value, F32:$scale,
                   FlatSymbolRefAttr:$variant);
  let results = (outs Attn_TensorType:$output, Optional<Attn_TensorType>:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $scale `variant` `` `(` $variant `)` attr-dict `:`
    `(` qualified(type($query)) `,` qualified(type($key)) `,` qualified(type($value)) `)` `->`
    `(` qualified(type($output)) (`,` qualified(type($lse))^)? `)`
  }];
  let hasVerifier = 1;
}

def Attn_MergeOp : Attn_Op<"merge", [Pure, AttrSizedOperandSegments]> {
  let summary = "merge n partial (O, LSE) pairs in operand order";
  let description = [{
    The commutative monoid of attention states at the interface: the result has
    LSE = ln sum exp(LSE_i) and O = sum exp(LSE_i - LSE) O_i; (0, -inf) is the unit.
  }];
  let arguments = (ins Variadic<Attn_TensorType>:$outputs, Variadic<Attn_TensorType>:$lses);
  let results = (outs Attn_TensorType:$output, Attn_TensorType:$lse);
  let assemblyFormat = [{
    $outputs `lse` $lses attr-dict `:` qualified(type($outputs)) `lse` qualified(type($lses))
    `->` qualified(type($output)) `,` qualified(type($lse))
  }];
  let hasVerifier = 1;
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "result of a hook or of a tile loop's body";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` qualified(type($values)))? attr-dict";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

def Attn_ReturnOp : Attn_Op<"return", [Pure, Terminator, HasParent<"::attn::KernelOp">]> {
  let summary = "end of a kernel";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` qualified(type($values)))? attr-dict";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

#endif // ATTN_OPS
