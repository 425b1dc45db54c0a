//===- Lowering.h - what the pattern files share ----------------*- C++ -*-===//
//
// Every frag value becomes machine values, one to many:
//
//   !frag.reg<.., f32, ..>       one f32 a register of the layout
//   !frag.reg<.., bf16, ..>      one i32 a pair of registers, even one low
//   !frag.vec<.., T, ..>         one T a row that the thread holds
//   !frag.ring                   address in shared memory, i8 elements
//   !frag.pos                    slot number, i32: no instruction here has
//   phases !frag.ptr                    address in global memory
//
// Invariant: the number and order of the values follow from the layout alone,
// so every pattern can be written against `attn::layout`.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_FRAGTONVVM_LOWERING_H
#define ATTN_LIB_CONVERSION_FRAGTONVVM_LOWERING_H

#include "attn/Dialect/Frag/IR/Frag.h"
#include "attn/Layout/Layout.h"
#include "attn/Layout/Ldmatrix.h"
#include "attn/Layout/Swizzle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace attn::frag {

/// Address spaces of NVPTX.
constexpr unsigned globalSpace = 1;
constexpr unsigned sharedSpace = 3;

/// The one dynamic shared memory array of a module.
constexpr llvm::StringLiteral sharedSymbol = "attn_shared";
/// On a frag.load_scalar that every thread does alike.
constexpr llvm::StringLiteral uniformAttr = "attn.uniform";

class MachineTypes : public mlir::TypeConverter {
public:
  MachineTypes();
};

/// True for elements that share a machine register with a neighbour.
bool isPacked(mlir::Type element);

/// A thread's share of a coordinate, as i32 values.
struct ThreadCoord {
  mlir::Value row, col;
};

/// Scalar code at a builder's insertion point.
class Emitter {
public:
  Emitter(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value f32(float value);
  mlir::Value zero(mlir::Type type);
  mlir::Value add(mlir::Value x, mlir::Value y);
  /// x + a constant of its type; nothing is emitted for 0.
  mlir::Value add(mlir::Value x, int64_t constant);
  mlir::Value mul(mlir::Value x, int64_t constant);
  mlir::Value bitAnd(mlir::Value x, int64_t constant);
  mlir::Value bitXor(mlir::Value x, mlir::Value y);
  mlir::Value bitXor(mlir::Value x, int64_t constant);
  mlir::Value shl(mlir::Value x, unsigned bits);
  mlir::Value shr(mlir::Value x, unsigned bits);
  mlir::Value extend(mlir::Value x);

  /// Bytes behind a pointer.
  mlir::Value advance(mlir::Value base, mlir::Value bytes);
  mlir::Value advance(mlir::Value base, int64_t bytes);
  /// Elements behind a pointer.
  mlir::Value element(mlir::Value base, mlir::Type type, mlir::Value index);

  mlir::Value intrinsic(llvm::StringRef name, mlir::Type result,
                        mlir::ValueRange args);

  /// The same i32 by a move that the optimiser cannot look into or displace.
  mlir::Value opaque(mlir::Value x);

  /// An i32 that all lanes hold, in a uniform register: ptxas then knows that
  /// branches on it do not diverge, and makes no second copy of the code behind
  /// them for lanes that have parted.
  mlir::Value uniform(mlir::Value x);

  mlir::Value threadId();
  /// The sum over the bits of the thread's number of offset(1 << bit).
  ThreadCoord threadCoord(unsigned threads,
                          llvm::function_ref<layout::Coord(unsigned)> offset);
  ThreadCoord threadCoord(const layout::Layout &layout);

  /// Butterfly over the lanes that share a row.
  mlir::Value
  overLanes(mlir::Value x, llvm::ArrayRef<unsigned> laneMasks,
            llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

  /// Two f32 to one register of two 16-bit elements.
  mlir::Value pack(mlir::Value low, mlir::Value high, mlir::Type element);
  /// One register of two 16-bit elements from its elements.
  mlir::Value join(mlir::Value low, mlir::Value high, mlir::Type element);
  /// Element 0 or 1 of it.
  mlir::Value half(mlir::Value word, unsigned which, mlir::Type element);
};

/// Elements of a tile from its machine values, and back.
mlir::Value elementOf(Emitter &e, RegType type, mlir::ValueRange values,
                      unsigned reg);
llvm::SmallVector<mlir::Value> packTile(Emitter &e, RegType type,
                                        mlir::ValueRange elements);

/// Address of a ring's slot.
mlir::Value slotAddress(Emitter &e, RingType type, mlir::Value ring,
                        mlir::Value slot);

/// Addresses of the rows that ldmatrix reads: one thread-dependent value for
/// each column chunk of a panel, everything else is a constant of the load.
class LdmatrixAddresses {
public:
  LdmatrixAddresses(Emitter &e, RingType ring, const layout::Ldmatrix &loads,
                    mlir::Value slot);
  /// The four registers of load j.
  llvm::SmallVector<mlir::Value, 4> load(unsigned j);

private:
  Emitter &e;
  layout::Swizzle swizzle;
  const layout::Ldmatrix &loads;
  mlir::Value slot;
  mlir::Value threadBytes;
  llvm::SmallDenseMap<unsigned, mlir::Value> chunks;
};

/// Math that the back end cannot select, or selects badly, to exp2, lg2, rcp
/// and arithmetic; before maps are unrolled, so once a map.  An op without a
/// lowering is an error that names it.
mlir::LogicalResult legaliseMath(KernelOp kernel);

void populateScalarPatterns(const mlir::TypeConverter &types,
                            mlir::RewritePatternSet &patterns);
void populateMapPatterns(const mlir::TypeConverter &types,
                         mlir::RewritePatternSet &patterns);
void populateReductionPatterns(const mlir::TypeConverter &types,
                               mlir::RewritePatternSet &patterns);
void populateGlobalPatterns(const mlir::TypeConverter &types,
                            mlir::RewritePatternSet &patterns);
void populateCopyPatterns(const mlir::TypeConverter &types,
                          mlir::RewritePatternSet &patterns);
void populateMmaPatterns(const mlir::TypeConverter &types,
                         mlir::RewritePatternSet &patterns);

} // namespace attn::frag

#endif // ATTN_LIB_CONVERSION_FRAGTONVVM_LOWERING_H
