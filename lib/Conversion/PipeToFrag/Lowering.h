//===- Lowering.h - one kernel from L2 to L3 --------------------*- C++ -*-===//
//
// A recursive cloner: it walks the blocks of the L2 kernel in order, keeps a
// map from old values to new ones and writes the L3 text.
//
//   attn.tile<128x64xf32>   -> !frag.reg<128x64xf32, mma_c>
//   attn.rowvec<128xf32>    -> !frag.vec<128xf32, mma_c> (or partial, see Rows)
//   payload of a wait       -> (ring, position), or mma_a registers for Q
//   attn.rows               -> seven uniform scalars and two row vectors
//   channel                 -> a ring and two positions, threaded through loops
//
// Invariant: the old kernel is only read; it is erased when all went well.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_PIPETOFRAG_LOWERING_H
#define ATTN_LIB_CONVERSION_PIPETOFRAG_LOWERING_H

#include "ChannelAnalysis.h"
#include "attn/Analysis/ParamLayout.h"
#include "attn/Dialect/Frag/IR/Frag.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <optional>

namespace attn {

/// Short names for scalar arithmetic at one place of the text.
struct Scalars {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value i32(int32_t v) const;
  mlir::Value i64(int64_t v) const;
  mlir::Value f32(float v) const;
  mlir::Value negInf() const;
  mlir::Value add(mlir::Value x, mlir::Value y) const;
  mlir::Value sub(mlir::Value x, mlir::Value y) const;
  mlir::Value mul(mlir::Value x, mlir::Value y) const;
  mlir::Value divU(mlir::Value x, int32_t y) const;
  mlir::Value remU(mlir::Value x, int32_t y) const;
  mlir::Value ext(mlir::Value x) const;  ///< i32 to i64, signed
  mlir::Value extU(mlir::Value x) const; ///< i32 to i64, unsigned
  mlir::Value cmp(mlir::arith::CmpIPredicate p, mlir::Value x,
                  mlir::Value y) const;
  mlir::Value addF(mlir::Value x, mlir::Value y) const;
  mlir::Value subF(mlir::Value x, mlir::Value y) const;
  mlir::Value mulF(mlir::Value x, mlir::Value y) const;
  mlir::Value divF(mlir::Value x, mlir::Value y) const;
  mlir::Value cmpF(mlir::arith::CmpFPredicate p, mlir::Value x,
                   mlir::Value y) const;
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y) const;
  mlir::Value exp2(mlir::Value x) const;
  mlir::Value log2(mlir::Value x) const;
};

/// attn.rows, taken apart.
struct RowsInfo {
  mlir::Value request, head, row0, nrows, qBegin, qLen, kvLen;
  int32_t pack = 1;
  int32_t rows = 0;
  mlir::Value positions;  ///< vec i32: logical position of each row
  mlir::Value queryHeads; ///< vec i32; with pack 1 `head` says the same
};

/// A channel's ring and where the role is in it.
struct ChannelState {
  mlir::Value ring;
  mlir::Value produce; ///< position of the next acquire
  mlir::Value consume; ///< position of the next wait
};

/// A tile that stays in shared memory.
struct SlotTile {
  mlir::Value ring, pos;
};

class KernelLowering {
public:
  KernelLowering(KernelOp kernel, mlir::OpBuilder &builder)
      : kernel(kernel), b(builder), params(kernel) {}

  /// Writes the frag.kernel before the old one; nothing is left after an error.
  mlir::FailureOr<frag::KernelOp> run();

private:
  using Body = llvm::function_ref<void(Scalars &, mlir::ValueRange,
                                       mlir::SmallVectorImpl<mlir::Value> &)>;

  //===--- PipeToFrag.cpp: driver, structure ------------------------------===//
  mlir::FailureOr<frag::KernelOp> write();
  mlir::LogicalResult check();
  mlir::LogicalResult setUp(pipe::RolesOp roles);
  mlir::LogicalResult convertBlock(mlir::Block &block);
  mlir::LogicalResult convertOp(mlir::Operation *op);
  mlir::LogicalResult convertIf(mlir::scf::IfOp op);
  mlir::LogicalResult convertFor(mlir::scf::ForOp op);
  mlir::LogicalResult convertWhile(mlir::scf::WhileOp op);
  mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &what);
  void removeDead();

  //===--- Channels.cpp ---------------------------------------------------===//
  mlir::LogicalResult makeChannel(pipe::ChannelOp op);
  mlir::LogicalResult convert(pipe::AcquireOp op);
  mlir::LogicalResult convert(pipe::IssueOp op);
  mlir::LogicalResult convert(pipe::CommitOp op);
  mlir::LogicalResult convert(pipe::WaitOp op);
  mlir::LogicalResult convert(CopyQueryOp op);
  mlir::LogicalResult convert(CopyKVOp op);
  mlir::Value inThisTurn(mlir::Operation *op, mlir::Value value);
  /// Positions that move inside an op's regions, as places to read and write.
  llvm::SmallVector<mlir::Value *> movedIn(mlir::Operation *op);
  /// After a leader's position was replaced, its followers stand there too.
  void followLeaders();
  mlir::Value next(mlir::Value pos, mlir::Location loc);

  //===--- Work.cpp: plan, items, row maps --------------------------------===//
  mlir::LogicalResult convert(pipe::NextWorkOp op);
  mlir::LogicalResult convert(LoadItemOp op);
  mlir::LogicalResult convert(RequestOp op);
  mlir::LogicalResult convert(RowMapOp op);
  mlir::Value planWord(mlir::Value index, mlir::Location loc);
  /// A word of the plan's header, read once a kernel.
  mlir::Value headerWord(unsigned byteOffset);
  mlir::Value param(llvm::StringRef name, mlir::Type type);
  mlir::Value stride(llvm::StringRef tensor, llvm::StringRef which);

  //===--- Tiles.cpp: products, softmax, merges ---------------------------===//
  mlir::LogicalResult convert(QKOp op);
  mlir::LogicalResult convert(PVOp op);
  mlir::LogicalResult convert(PackOp op);
  mlir::LogicalResult convert(StateInitOp op);
  mlir::LogicalResult convert(RowMaxOp op);
  mlir::LogicalResult convert(AlphaOp op);
  mlir::LogicalResult convert(RowSumOp op);
  mlir::LogicalResult convert(RescaleOp op);
  mlir::LogicalResult convert(FinishOp op);
  mlir::LogicalResult convert(MergeTileOp op);
  mlir::LogicalResult convert(MergeSinkOp op);
  mlir::LogicalResult convert(AddTileOp op);

  //===--- Reference.cpp --------------------------------------------------===//
  mlir::LogicalResult convert(ExpOp op);
  mlir::LogicalResult convert(ExactPrefixOp op);
  mlir::LogicalResult convert(CheckOp op);
  mlir::Value
  anyLive(RowsInfo &rows, mlir::ValueRange inputs, mlir::Location loc,
          llvm::function_ref<mlir::Value(Scalars &, mlir::ValueRange)> bad);

  //===--- Hooks.cpp ------------------------------------------------------===//
  mlir::LogicalResult convert(ApplyScoreOp op);
  mlir::LogicalResult convert(ApplyMaskOp op);
  mlir::LogicalResult convert(ApplySinkOp op);
  /// Writes a hook's body at the place of `s`; null after an error.
  mlir::Value inlineAt(HookOp hook, mlir::ValueRange args, RowsInfo &rows,
                       Scalars &s);
  mlir::Value readTable(ReadOp read, mlir::ValueRange indices, Scalars &s);

  //===--- Stores.cpp -----------------------------------------------------===//
  mlir::LogicalResult convert(StoreOp op);
  mlir::LogicalResult convert(StorePartialOp op);
  mlir::LogicalResult convert(LoadPartialOp op);
  /// Element offsets (i64) and mask of the live rows in a tensor.
  std::pair<mlir::Value, mlir::Value>
  rowOffsets(RowsInfo &rows, llvm::StringRef tensor, mlir::Location loc);
  /// (slot * rows + row) * width, and the mask of the live rows.
  std::pair<mlir::Value, mlir::Value> slotOffsets(RowsInfo &rows,
                                                  mlir::Value slot,
                                                  int32_t width,
                                                  mlir::Location loc);

  //===--- Rows.cpp: row vectors and types --------------------------------===//
  void findPartials(mlir::Block &body);
  bool isPartial(mlir::Value rowVec) const;
  mlir::Type convertType(mlir::Value value);
  frag::RegType regType(int32_t rows, int32_t cols, mlir::Type element,
                        llvm::StringRef atom = "mma_c");
  frag::VecType vecType(int32_t rows, mlir::Type element, bool partial = false);
  /// The vector of a value with its shares added up.
  mlir::Value complete(mlir::Value rowVec, mlir::Location loc);
  mlir::Value map(mlir::Type result, mlir::ValueRange inputs,
                  mlir::Location loc, Body body) {
    return maps(result, inputs, loc, body).front();
  }
  mlir::ResultRange maps(mlir::TypeRange results, mlir::ValueRange inputs,
                         mlir::Location loc, Body body);
  mlir::Value at(mlir::Value old) { return mapping.lookup(old); }

  KernelOp kernel;
  mlir::OpBuilder &b;
  ParamLayout params;
  frag::KernelOp result;
  mlir::Operation *prologueEnd = nullptr; ///< fields are read before this op
  int32_t warps = 0;

  mlir::IRMapping mapping; ///< tiles, vectors, scalars
  llvm::DenseMap<mlir::Value, RowsInfo> rowMaps;
  llvm::DenseMap<mlir::Value, SlotTile> slots; ///< slots and payloads in rings
  llvm::SmallVector<ChannelState> channels;
  ChannelAnalysis analysis;
  llvm::EquivalenceClasses<void *> classes;
  llvm::DenseSet<void *> partialLeaders;
  llvm::StringMap<mlir::Value> paramCache;
  llvm::DenseMap<unsigned, mlir::Value> headerCache;
};

} // namespace attn

#endif // ATTN_LIB_CONVERSION_PIPETOFRAG_LOWERING_H
