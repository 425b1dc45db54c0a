//===- Gen.h - builder shorthand for vector code ----------------*- C++ -*-===//
//
// The lowering writes many small loops over the scratch buffer.  Gen keeps an
// OpBuilder, the vector width and the element types together so that a loop
// reads like the arithmetic it makes:
//
//   g.loop(g.i64(0), n, 1, [&](Value r) { g.store(g.fma(a, b, c), p); });
//
// Invariant: memory is touched by llvm.load and llvm.store with an explicit
// alignment; index arithmetic is i64 in bytes or elements, never `index`.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_ATTNTOCPU_GEN_H
#define ATTN_LIB_CONVERSION_ATTNTOCPU_GEN_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace attn::cpu {
using mlir::Location;
using mlir::OpBuilder;
using mlir::SmallVector;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;
using mlir::VectorType;
using CmpF = mlir::arith::CmpFPredicate;
using CmpI = mlir::arith::CmpIPredicate;

class Gen {
public:
  Gen(OpBuilder builder, Location loc, unsigned lanes);

  OpBuilder b;
  Location loc;
  const unsigned lanes;
  Type f32, i1, i32, i64, ptr;
  VectorType vf, vi; // vector<lanes x f32>, vector<lanes x i32>

  //--- constants -----------------------------------------------------------
  Value i32c(int32_t v);
  Value i64c(int64_t v);
  Value f32c(float v);
  Value vfc(float v);
  Value vic(int32_t v);
  Value infinity(bool vector, bool negative);
  /// 0, 1, ... lanes - 1 as i32.
  Value iota();
  /// True in the first `n` lanes.
  Value firstLanes(unsigned n);

  //--- scalars and vectors, elementwise --------------------------------------
  Value splat(Value scalar);
  Value add(Value x, Value y); // float or integer by type
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y); // float
  Value fma(Value x, Value y, Value z);
  Value cmp(CmpF p, Value x, Value y);
  Value cmp(CmpI p, Value x, Value y);
  Value both(Value x, Value y);
  Value either(Value x, Value y);
  Value select(Value c, Value x, Value y);
  Value abs(Value x);
  Value exp2(Value x); // math.exp2; MathExpansion.cpp replaces it
  Value log2(Value x);
  /// x if x > m, else m: one machine instruction, a NaN in x is ignored.
  Value maxIgnoringNaN(Value x, Value m);
  Value minI(Value x, Value y);
  Value maxI(Value x, Value y);
  Value toI64(Value i32Value);
  Value toI32(Value i64Value);
  /// Unsigned quotient and remainder by a constant.
  Value divC(Value x, int64_t c);
  Value remC(Value x, int64_t c);
  /// A constant like `v` in the type of `like`.
  Value constLike(Value like, float v);

  //--- reductions over lanes
  //---------------------------------------------------
  Value sumLanes(Value v);
  Value maxLanes(Value v);
  Value anyLane(Value v);

  //--- memory
  //------------------------------------------------------------------
  /// base + index * bytes(element); index is i64.
  Value at(Value base, Value index, Type element);
  Value atByte(Value base, int64_t offset);
  Value load(Type type, Value p, unsigned align);
  void store(Value v, Value p, unsigned align);
  Value loadF(Value p) { return load(f32, p, 4); }
  Value loadV(Value p) { return load(vf, p, lanes * 4); }
  void storeF(Value v, Value p) { store(v, p, 4); }
  void storeV(Value v, Value p) { store(v, p, lanes * 4); }

  /// f32 value of an f32, f16 or bf16 in memory; vector: `lanes` of them.
  Value loadElement(Value p, Type element, bool vector);
  /// Round to nearest even and store.
  void storeElement(Value v, Value p, Type element);
  /// Rounded to f16 or bf16, kept as f32.
  Value roundTo(Value v, Type element);

  //--- control
  //-------------------------------------------------------------------
  using Body = llvm::function_ref<void(Value)>;
  using CarryBody =
      llvm::function_ref<SmallVector<Value>(Value, ValueRange carried)>;
  void loop(Value lo, Value hi, int64_t step, Body body);
  SmallVector<Value> loop(Value lo, Value hi, int64_t step, ValueRange inits,
                          CarryBody body);
  void ifThen(Value cond, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = nullptr);

private:
  Value bf16Bits(Value v); // f32 -> the bf16 pattern in the low half of an i32
};

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_ATTNTOCPU_GEN_H
