//===- Lowering.h - what the pattern files share ----------------*- C++ -*-===//
//
// Every frag value becomes machine values, one to many:
//
//   !frag.reg<.., f32, ..>       one f32 a register of the layout
//   !frag.reg<.., bf16, ..>      one i32 a pair of registers, even one low
//   !frag.vec<.., T, ..>         one T a row that the thread holds
//   !frag.inflight<..>           as its tile: the registers are being written
//   !frag.ring, bars, words      address in shared memory
//   !frag.pos                    slot and phase, two i32
//   !frag.view                   low half of a descriptor of wgmma, i32
//   !frag.ptr                    address in global memory
//   !frag.tmap                   address of the tensor map in the parameters
//
// Ops become machine code first and the regions of roles and of elected lanes
// branches after that, so that an op can still see its role.
//
// Invariant: the number and order of the values follow from the layout alone,
// so every pattern can be written against `attn::layout`.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_FRAGTONVVM_LOWERING_H
#define ATTN_LIB_CONVERSION_FRAGTONVVM_LOWERING_H

#include "attn/Dialect/Frag/IR/Dependences.h"
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

  /// The f32 x, not before the f32 y is there: one integer instruction whose
  /// result is x whatever y is, which nobody below can know.
  mlir::Value behind(mlir::Value x, mlir::Value y);

  /// Code that the optimiser neither looks into nor moves memory across; one
  /// value for each of `results`.
  llvm::SmallVector<mlir::Value> assembly(llvm::StringRef text,
                                          llvm::StringRef constraints,
                                          mlir::ValueRange args,
                                          mlir::TypeRange results = {});

  /// An i32 that all lanes hold, in a uniform register: ptxas then knows that
  /// branches on it do not diverge, and makes no second copy of the code behind
  /// them for lanes that have parted.
  mlir::Value uniform(mlir::Value x);

  /// Letter of the assembly constraint for values of a type.
  static char registerClass(mlir::Type type);

  /// Stores words side by side, or one truth value, at address + offset if
  /// `live`, by a predicate: a branch would tell ptxas that lanes part here.
  void storeIf(mlir::Value live, unsigned space, mlir::Value address,
               int64_t offset, mlir::ValueRange words);

  mlir::Value threadId();
  mlir::Value isFirstLane();
  /// Lane 0's value in all lanes of the warp.
  mlir::Value ofFirstLane(mlir::Value x);
  void syncWarp();
  /// A pointer to shared memory as a number.
  mlir::Value sharedAddress(mlir::Value pointer);
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
  /// The same, and LLVM leaves it where it is.
  mlir::Value packHere(mlir::Value low, mlir::Value high, mlir::Type element);
  /// One register of two 16-bit elements from its elements.
  mlir::Value join(mlir::Value low, mlir::Value high, mlir::Type element);
  /// Element 0 or 1 of it.
  mlir::Value half(mlir::Value word, unsigned which, mlir::Type element);
};

/// The role that an op is in; null outside of roles.
RoleAttr roleOf(mlir::Operation *op);
/// Threads that execute an op together: the CTA or a replica's active warps.
unsigned executingThreads(mlir::Operation *op);
/// The thread's number among them.
mlir::Value executingThread(Emitter &e, mlir::Operation *op);

/// Elements of a tile from its machine values, and back.
mlir::Value elementOf(Emitter &e, RegType type, mlir::ValueRange values,
                      unsigned reg);
llvm::SmallVector<mlir::Value> packTile(Emitter &e, RegType type,
                                        mlir::ValueRange elements);

/// How many registers from r on, a multiple of that, hold neighbouring columns
/// that one access of at most 16 bytes takes.
unsigned neighbours(const layout::Layout &layout, mlir::Type element);

/// Address of a ring's slot.
mlir::Value slotAddress(Emitter &e, RingType type, mlir::Value ring,
                        mlir::Value slot);

/// Byte in a slot of the 16-byte chunk `chunk` of row `row`.
mlir::Value chunkAddress(Emitter &e, const layout::Swizzle &swizzle,
                         mlir::Value row, mlir::Value chunk);

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

/// Address of the first lane of a slot of barriers or words, and a lane's.
mlir::Value slotOfBars(Emitter &e, BarsType type, mlir::Value bars,
                       mlir::Value slot, mlir::Value lane = {});
mlir::Value slotOfWords(Emitter &e, WordsType type, mlir::Value words,
                        mlir::Value slot, mlir::Value lane = {});

/// Regions of roles and elected lanes to branches; behind the patterns.
mlir::LogicalResult rolesToBranches(mlir::LLVM::LLVMFuncOp func);

/// exp2 on the MUFU, or by the steps of include/attn/Target/Exp2.h.
mlir::Value emitExp2(Emitter &e, mlir::Value x, bool onFma);

/// MUFU instructions of an element in a map; behind legaliseMath.
unsigned mufuOps(MapOp map);

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
void populateBarrierPatterns(const mlir::TypeConverter &types,
                             mlir::RewritePatternSet &patterns);
void populateWordPatterns(const mlir::TypeConverter &types,
                          mlir::RewritePatternSet &patterns);
void populateTmaPatterns(const mlir::TypeConverter &types,
                         mlir::RewritePatternSet &patterns);
void populateWgmmaPatterns(const mlir::TypeConverter &types,
                           mlir::RewritePatternSet &patterns);
void populateWorkPatterns(const mlir::TypeConverter &types,
                          mlir::RewritePatternSet &patterns);
void populateRewritePatterns(const mlir::TypeConverter &types,
                             mlir::RewritePatternSet &patterns);
void populateGroupPatterns(const mlir::TypeConverter &types,
                           mlir::RewritePatternSet &patterns);
void populateTransposePatterns(const mlir::TypeConverter &types,
                               mlir::RewritePatternSet &patterns);

} // namespace attn::frag

#endif // ATTN_LIB_CONVERSION_FRAGTONVVM_LOWERING_H
