//===- Lowering.h - one kernel to one function ------------------*- C++ -*-===//
//
// A tile is a region of the scratch buffer at a compile-time offset; a rows
// value is a handful of scalars; everything else keeps its meaning.
//
//   %s = attn.qk %q, %k          ->  loops over blocks of 6 rows x W columns
//   %o1 = attn.rescale %o, %al   ->  the same buffer, if %o dies here
//
// Two layouts of a tile (always f32, whatever its element type):
//
//   rows     Q, S, P, O     [row][pitch], pitch a multiple of the lanes
//   panels   K, V           [column / W][reduction][column % W]: what the inner
//                           product reads is contiguous.  K is stored
//                           transposed (reduction = element, column = key); for
//                           V the reduction is the key and the column the
//                           element.
//
// Invariants: a buffer belongs to one live value; loop-carried values keep one
// buffer, so a state that is updated in place is never copied; rows at or past
// the record's row count hold anything and never reach memory.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_ATTNTOCPU_LOWERING_H
#define ATTN_LIB_CONVERSION_ATTNTOCPU_LOWERING_H

#include "Gen.h"

#include "attn/Analysis/ParamLayout.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"

namespace attn::cpu {
using llvm::StringRef;
using mlir::Block;
using mlir::LogicalResult;
using mlir::Operation;

struct Options {
  unsigned lanes = 8;
  bool forceExact = false;
  bool failCheck = false;
};

/// Rows of C that one step of the inner product keeps in registers.
constexpr int64_t rowBlock = 6;

struct Buffer {
  enum Layout { Rows, Panels, Vector };
  Layout layout = Rows;
  int64_t offset = 0; // bytes in the scratch buffer
  int64_t outer = 0;  // rows: padded number; panels: reduction extent
  int64_t cols = 0;   // without padding
  int64_t pitch = 0;  // columns with padding
  bool transposed = false;
  int64_t flag = -1; // panels of V: i32, not 0 if a value is not finite
};

/// attn.row_map.
struct RowsInfo {
  Value request, head, row0, qBegin, qLen, kvLen; // i32
  int64_t pack = 1;
};

/// Coordinates of one row, i32.
struct RowCoord {
  Value token, head, position;
};

/// Where the elements of a tensor argument lie.
struct TensorInfo {
  Value base;               // ptr
  Value batch, token, head; // strides, i64 elements
  TensorType type;
};

class KernelLowering {
public:
  KernelLowering(KernelOp kernel, const Options &options);

  /// Makes the llvm.func before the kernel; the kernel is left for the caller
  /// to erase.
  LogicalResult run();

private:
  //--- structure (AttnToCPU.cpp, Control.cpp) ---------------------------------
  LogicalResult lowerBlock(Block &block);
  LogicalResult lowerOp(Operation &op);
  LogicalResult lowerWork(Operation *op, Block &body, unsigned fields);
  LogicalResult lowerForKV(ForKVOp op);
  LogicalResult lowerFor(mlir::scf::ForOp op);
  LogicalResult lowerIf(mlir::scf::IfOp op);
  LogicalResult lowerSpeculate(SpeculateOp op);
  /// Buffers for loop-carried values: an init's own one if it dies here.
  void carry(Operation *op, ValueRange inits, ValueRange args,
             ValueRange results);
  /// Brings yielded values into the buffers of `targets`.
  void yieldInto(ValueRange yielded, llvm::ArrayRef<Buffer> targets);

  //--- parameters and addresses (Memory.cpp)
  //------------------------------------
  LogicalResult loadParameters();
  /// A field of the parameter struct, loaded at the entry.
  mlir::FailureOr<Value> loadField(StringRef name, Type type);
  Value rowAddress(const TensorInfo &t, Value request, Value begin, Value index,
                   Value head);
  RowCoord coord(const RowsInfo &rows, Value r);
  void lower(RequestOp op);
  void lower(LoadQueryOp op);
  void lower(LoadKVOp op);
  void loadKey(LoadKVOp op, const Buffer &dst);
  void loadValue(LoadKVOp op, const Buffer &dst);
  void lower(StoreOp op);
  void lower(StorePartialOp op);
  void lower(LoadPartialOp op);
  Value partialO(Value slot, int64_t rows, int64_t cols);
  /// m of a slot's rows with which = 0, l with 1.
  Value partialRows(Value slot, int64_t rows, int64_t which);

  //--- tiles (Tiles.cpp)
  //---------------------------------------------------------
  Buffer allocate(Buffer::Layout layout, int64_t outer, int64_t cols);
  Buffer allocateFor(Type tileOrVector);
  /// The buffer of `reuse` if it dies in this op, else a new one.
  Buffer resultBuffer(Operation *op, Value result, Value reuse);
  bool diesIn(Value v, Operation *op);
  void copy(const Buffer &from, const Buffer &to);
  void fill(const Buffer &buffer, float value);
  /// By value: the map moves its entries when it grows.
  Buffer buffer(Value v) const;
  Value address(const Buffer &buffer, Value floats = nullptr); // i64 index
  Value rowAddress(const Buffer &buffer, Value row);
  Value elementAddress(const Buffer &buffer, Value row, Value col);
  Value vectorElement(const Buffer &buffer, Value row);
  int64_t panelWidth() const { return lanes * panelVectors; }
  int64_t fullPanels(const Buffer &b) const { return b.pitch / panelWidth(); }
  int64_t restWidth(const Buffer &b) const { return b.pitch % panelWidth(); }
  /// Address of vector `v` of reduction row `i` of a panel buffer.
  Value panelVector(const Buffer &buffer, Value i, int64_t v);
  /// Calls f(column, lanes in use or 0 for all) for each vector of a row.
  void forVectors(int64_t cols, llvm::function_ref<void(Value, unsigned)> f);
  SmallVector<Value> forVectors(
      int64_t cols, ValueRange inits,
      llvm::function_ref<SmallVector<Value>(Value, unsigned, ValueRange)> f);
  void forRows(llvm::function_ref<void(Value)> f);

  //--- products (Products.cpp)
  //-----------------------------------------------------
  LogicalResult lower(QKOp op);
  LogicalResult lower(PVOp op);
  void product(const Buffer &a, const Buffer &b, const Buffer &c,
               int64_t extent, bool accumulate);
  void productPanel(const Buffer &a, Value panel, int64_t width,
                    const Buffer &c, Value column, int64_t extent,
                    bool accumulate);
  void productSkippingZeros(const Buffer &a, const Buffer &b, const Buffer &c,
                            int64_t extent);

  //--- softmax (Softmax.cpp, Merge.cpp)
  //----------------------------------------------
  void lower(StateInitOp op);
  void rowMax(Operation *op, Value tile, Value m,
              llvm::function_ref<Value(Value, Value)> choose);
  void lower(RowMaxOp op);
  void lower(LazyMaxOp op);
  void lower(AlphaOp op);
  void lower(ExpOp op);
  void lower(RowSumOp op);
  void lower(RescaleOp op);
  void lower(PackOp op);
  void lower(FinishOp op);
  /// 2^(reference of m - reference of top), top >= m; 0 if top is -inf.
  Value referenceWeight(Value m, Value top, Value c);
  void lower(MergeStateOp op);
  void lower(AddTileOp op);
  void lower(ExactPrefixOp op);
  void lower(CheckOp op);

  //--- hooks (Hooks.cpp)
  //---------------------------------------------------------------
  LogicalResult lower(ApplyScoreOp op);
  LogicalResult lower(ApplyMaskOp op);
  LogicalResult lower(ApplySinkOp op);
  LogicalResult lower(TransformRowsOp op);
  LogicalResult lower(TransformKeysOp op);
  struct HookContext {
    Value qLen, kvLen;              // i32
    const Buffer *vector = nullptr; // vector hooks: the tile
    Value vectorRow;                // and its row, i64
    int64_t vectorSize = 0;
  };
  mlir::FailureOr<Value> inlineHook(HookOp hook, ValueRange args,
                                    const HookContext &context);
  mlir::FailureOr<Value> readTable(ReadOp op, ValueRange indices);

  KernelOp kernel;
  Options options;
  const int64_t lanes;
  const int64_t panelVectors;
  ParamLayout layout;
  Gen g;
  mlir::LLVM::LLVMFuncOp func;
  Value record, params, scratch;
  Value liveRows;  // i64, of the record
  Value rowBlocks; // i64, blocks of rowBlock rows
  llvm::DenseMap<Value, Buffer> buffers;
  llvm::DenseMap<Value, RowsInfo> rowMaps;
  llvm::DenseMap<Value, TensorInfo> tensors;
  llvm::StringMap<Value> fields; // parameters already loaded
  mlir::IRMapping map;           // scalars
  int64_t top = 0, high = 0;     // scratch bytes
};

/// Replaces exp, exp2 and tanh by polynomials.
void expandMath(Operation *root);

} // namespace attn::cpu

#endif // ATTN_LIB_CONVERSION_ATTNTOCPU_LOWERING_H
