//===- Lowering.h - one kernel from L2 to L3 --------------------*- C++ -*-===//
//
// A recursive cloner: it walks the blocks of the L2 kernel in order, keeps a
// map from old values to new ones and writes the L3 text.
//
//   attn.tile<128x64xf32>   -> !frag.reg<128x64xf32, mma_c>
//   attn.tile<128x72xf32>   -> !frag.reg<128x80xf32, mma_c>: padded (Rows.cpp)
//   attn.tile<16x64xf32>    -> !frag.reg<16x16xf32, mma_c> of each of 4 groups, if
//                              its columns are keys (Groups.cpp)
//   attn.rowvec<128xf32>    -> !frag.vec<128xf32, mma_c> (or partial, see Rows)
//   payload of a wait       -> (ring, position), or mma_a registers for Q
//   attn.rows               -> seven uniform scalars and two row vectors
//   channel                 -> a ring and positions, threaded through loops
//   pipe.done               -> nothing: the wait that gave it stands before
//
// Three things differ between kernels, each behind one name: how slots go from
// role to role (Channels), which unit multiplies (RoleInfo::unit) and which
// engine copies (the agent of an issue).  All else is the same text.
//
// Invariant: the old kernel is only read; it is erased when all went well.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_CONVERSION_PIPETOFRAG_LOWERING_H
#define ATTN_LIB_CONVERSION_PIPETOFRAG_LOWERING_H

#include "Channels.h"
#include "attn/Analysis/ParamLayout.h"
#include "attn/Dialect/Frag/IR/Frag.h"
#include "attn/Layout/KeyGroups.h"
#include "attn/Layout/Padding.h"
#include "attn/Mask/ClosedForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <memory>
#include <optional>

namespace attn {

/// Whether a tile of products has more columns than its tensor.
inline bool isPadded(int32_t dim) {
  return layout::productColumns(unsigned(dim)) != unsigned(dim);
}

/// Short names for scalar arithmetic at one place of the text.
struct Scalars {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value i32(int32_t v) const;
  mlir::Value i64(int64_t v) const;
  mlir::Value f32(float v) const;
  mlir::Value negInf() const;
  mlir::Value add(mlir::Value x, mlir::Value y) const;
  /// Of which the sum is a position as well: it does not wrap.
  mlir::Value addPositions(mlir::Value x, mlir::Value y) const;
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

/// Does the hook, if there is one, read its argument?
bool readsArgument(HookOp hook, unsigned arg);

/// attn.rows, taken apart: those of a tile or of a part of one.
struct RowsInfo {
  mlir::Value request, head, row0, nrows, qBegin, qLen, kvLen;
  mlir::Value first; ///< row of the tile that is row 0 here; null: 0
  int32_t pack = 1;
  int32_t rows = 0;
  int32_t tileRows = 0;   ///< of the whole tile
  mlir::Value positions;  ///< vec i32: logical position of each row
  mlir::Value queryHeads; ///< vec i32; with pack 1 `head` says the same

  /// The number that a row has in its tile.
  mlir::Value inTile(Scalars &s, mlir::Value row) const {
    return first ? s.add(first, row) : row;
  }
};

/// (M, l, w_0, ..) of states with the references m and the sums l: Reference.cpp.
void weighStates(Scalars &s, mlir::ValueRange m, mlir::ValueRange l,
                 mlir::Value c, llvm::SmallVectorImpl<mlir::Value> &yield);

/// What the threads of a role hold of a tile; Joined: behind the groups' exchange,
/// and as an accumulator where there is one group.
enum class Holding { Accumulator, OperandA, Transposed, Joined };

class KernelLowering {
public:
  KernelLowering(KernelOp kernel, mlir::OpBuilder &builder)
      : kernel(kernel), b(builder), params(kernel) {}

  /// Writes the frag.kernel before the old one; nothing is left after an error.
  mlir::FailureOr<frag::KernelOp> run();

private:
  using Body = llvm::function_ref<void(Scalars &, mlir::ValueRange,
                                       mlir::SmallVectorImpl<mlir::Value> &)>;

  //===--- PipeToFrag.cpp: driver -----------------------------------------===//
  mlir::FailureOr<frag::KernelOp> write();
  mlir::LogicalResult check();
  mlir::LogicalResult setUp(pipe::RolesOp roles);
  mlir::LogicalResult convertBlock(mlir::Block &block);
  mlir::LogicalResult convertOp(mlir::Operation *op);
  mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &what);
  void removeDead();

  //===--- Roles.cpp ------------------------------------------------------===//
  mlir::LogicalResult convert(pipe::RolesOp op);
  mlir::LogicalResult convertRole(pipe::RolesOp op, unsigned index);
  /// True for all threads of the CTA or replica if any row's element is.
  mlir::FailureOr<mlir::Value> vote(mlir::Value vec, mlir::Operation *op);
  mlir::LogicalResult nameBarriers(mlir::Operation *op, int32_t &first,
                                   int32_t count);
  mlir::LogicalResult startTurns(mlir::Region &body);
  mlir::LogicalResult convert(pipe::TakeTurnOp op);
  mlir::LogicalResult convert(pipe::PassTurnOp op);

  //===--- ControlFlow.cpp ------------------------------------------------===//
  mlir::LogicalResult convertIf(mlir::scf::IfOp op);
  mlir::LogicalResult convertFor(mlir::scf::ForOp op);
  mlir::LogicalResult convertWhile(mlir::scf::WhileOp op);
  /// What stands for old values: none for a token, seven for a row map.  They
  /// meet those of `joined`, if there are any.
  mlir::LogicalResult flatten(mlir::ValueRange old,
                              llvm::SmallVectorImpl<mlir::Value> &values,
                              mlir::ValueRange joined = {});
  mlir::LogicalResult flattenTypes(mlir::ValueRange old,
                                   llvm::SmallVectorImpl<mlir::Type> &types);
  /// Old values, joined with `like`, get new ones; the rest is returned.
  mlir::FailureOr<mlir::ValueRange>
  bind(mlir::ValueRange old, mlir::ValueRange like, mlir::ValueRange values);

  //===--- Slots.cpp: slots, issued operations, copies --------------------===//
  mlir::LogicalResult convert(pipe::AcquireOp op);
  mlir::LogicalResult convert(pipe::IssueOp op);
  mlir::LogicalResult convert(pipe::CommitOp op);
  mlir::LogicalResult convert(pipe::WaitOp op);
  /// The payload of a wait, in registers or where it lies.
  mlir::LogicalResult takePayload(pipe::WaitOp op, const SlotTile &slot);
  mlir::LogicalResult convert(pipe::ReleaseOp op);
  mlir::LogicalResult convert(pipe::JoinOp op);
  mlir::LogicalResult convert(pipe::SendOp op);
  mlir::LogicalResult convert(pipe::RecvOp op);
  mlir::LogicalResult convert(SliceTileOp op);
  mlir::LogicalResult convert(ZeroRowsOp op);

  //===--- CopyAsync.cpp, CopyTma.cpp -------------------------------------===//
  mlir::LogicalResult copyAsync(CopyQueryOp op, const SlotTile &slot);
  mlir::LogicalResult copyAsync(CopyKVOp op, const SlotTile &slot);
  mlir::LogicalResult copyTma(CopyQueryOp op, const SlotTile &slot,
                              const Landing &landing);
  mlir::LogicalResult copyTma(CopyKVOp op, const SlotTile &slot,
                              const Landing &landing);
  void loadBoxes(mlir::Value tmap, mlir::ValueRange coordinates,
                 const SlotTile &slot, const Landing &landing,
                 frag::CacheHint hint, mlir::Location loc);
  mlir::FailureOr<mlir::Value> tmap(TensorType tensor, frag::RingType ring,
                                    int32_t pack, mlir::Operation *op);
  mlir::Value inThisTurn(mlir::Operation *op, mlir::Value value);

  //===--- Work.cpp: plan, items, row maps --------------------------------===//
  mlir::LogicalResult convert(pipe::NextWorkOp op);
  mlir::LogicalResult convert(LoadItemOp op);
  mlir::LogicalResult convert(RequestOp op);
  mlir::LogicalResult convert(RowMapOp op);
  mlir::LogicalResult convert(SliceRowsOp op);
  /// Row vectors of a map that hooks see, made where it is defined.
  mlir::LogicalResult addRowVectors(mlir::Value old, RowsInfo &rows);
  mlir::Value queryHeads(const RowsInfo &rows, mlir::Type type,
                         mlir::Location loc);
  /// Fields of a record, read if `real`, else 0 or as `inert` says.
  void readRecord(mlir::ValueRange fields, mlir::Value offset,
                  mlir::Value index, int32_t words, mlir::Value real,
                  llvm::ArrayRef<int32_t> inert, mlir::Location loc);
  mlir::Value queue();
  mlir::Value planWord(mlir::Value index, mlir::Location loc);
  /// A word of the plan's header, read once a kernel.
  mlir::Value headerWord(unsigned byteOffset);
  mlir::Value headerWordOf(mlir::Value index, unsigned byteOffset);
  mlir::Value param(llvm::StringRef name, mlir::Type type);
  mlir::Value stride(llvm::StringRef tensor, llvm::StringRef which);

  //===--- Products.cpp ---------------------------------------------------===//
  struct Product {
    mlir::Value a, aPos; ///< aPos: of a slot that the product reads; or null
    SlotTile b;
    frag::BOrder order;
    mlir::Value acc;  ///< null: 0
    mlir::Value part; ///< of B's slot; null: all of it
  };
  mlir::LogicalResult convert(QKOp op) { return multiply(op); }
  mlir::LogicalResult convert(PVOp op) { return multiply(op); }
  std::pair<mlir::Value, mlir::Value> queryOperand(QKOp op);
  mlir::FailureOr<Product> productOf(mlir::Operation *op);
  mlir::LogicalResult multiply(mlir::Operation *op);
  /// Of the unit that works beside the threads.
  mlir::FailureOr<mlir::Value> startProduct(mlir::Operation *op);
  mlir::LogicalResult joinProduct(pipe::JoinOp op, pipe::IssueOp issue);

  //===--- Groups.cpp: groups of warps ------------------------------------===//
  struct State {
    mlir::Value o, m, l; ///< m and l null without a maximum
  };
  void findGroupValues(mlir::Block &body);
  bool isIn(const llvm::DenseSet<void *> &leaders, mlir::Value value) const;
  mlir::LogicalResult setGroups(pipe::RolesOp op);
  mlir::Value groupRank();
  mlir::Value firstKey(mlir::Value k0, mlir::Value tile, mlir::Location loc);
  mlir::Value groupRing(llvm::StringRef name, int32_t rows, int32_t cols,
                        int32_t swizzle);
  /// The whole of a state, of which each group may have its own.
  mlir::FailureOr<State> joinGroups(mlir::Value o, mlir::Value m, mlir::Value l,
                                    mlir::Value c, mlir::Location loc);
  /// The same for a tile alone.
  mlir::FailureOr<mlir::Value> joinTile(mlir::Value o, mlir::Location loc) {
    mlir::FailureOr<State> made = joinGroups(o, {}, {}, {}, loc);
    if (failed(made))
      return mlir::failure();
    return made->o;
  }

  //===--- Tiles.cpp: softmax, merges -------------------------------------===//
  mlir::LogicalResult convert(PackOp op);
  mlir::LogicalResult convert(StateInitOp op);
  mlir::Value rowMaximum(mlir::Value tile, mlir::Location loc);
  mlir::LogicalResult convert(RowMaxOp op);
  mlir::LogicalResult convert(LazyMaxOp op);
  mlir::LogicalResult convert(AlphaOp op);
  mlir::LogicalResult convert(RowSumOp op);
  mlir::LogicalResult convert(RescaleOp op);
  mlir::LogicalResult convert(FinishOp op);
  mlir::LogicalResult convert(MergeStateOp op);
  mlir::LogicalResult convert(AddTileOp op);

  /// `tile`, changed by the warps that hold a row with true in `vec`.
  mlir::Value ifWarpHas(mlir::Value vec, mlir::Value tile, mlir::Location loc,
                        llvm::function_ref<mlir::Value()> change);
  mlir::Value zeroEmptyRows(mlir::Value tile, mlir::Value weight,
                            mlir::Location loc);

  //===--- Reference.cpp --------------------------------------------------===//
  mlir::LogicalResult convert(ExpOp op);
  mlir::LogicalResult convert(ExactPrefixOp op);
  mlir::LogicalResult convert(CheckSumsOp op);
  mlir::LogicalResult convert(CheckOp op);
  mlir::FailureOr<mlir::Value>
  anyLive(RowsInfo &rows, mlir::ValueRange inputs, mlir::Operation *op,
          llvm::function_ref<mlir::Value(Scalars &, mlir::ValueRange)> bad);

  //===--- Hooks.cpp ------------------------------------------------------===//
  mlir::LogicalResult convert(ApplyScoreOp op);
  mlir::LogicalResult convert(ApplySinkOp op);
  /// Writes a hook's body at the place of `s`; null after an error.
  mlir::Value inlineAt(HookOp hook, mlir::ValueRange args, RowsInfo &rows,
                       Scalars &s);
  mlir::Value readTable(ReadOp read, mlir::ValueRange indices, Scalars &s);

  //===--- VectorHooks.cpp ------------------------------------------------===//
  /// What a vector hook is told of a row.
  struct Place {
    mlir::Value request, head, position;
  };
  mlir::LogicalResult convert(TransformRowsOp op);
  mlir::LogicalResult convert(RewriteQueryOp op);
  mlir::LogicalResult convert(RewriteKVOp op);
  HookOp hookOf(HookKind kind);
  mlir::LogicalResult
  rewriteRows(mlir::Operation *op, mlir::Value slot, HookKind kind,
              RowsInfo &lengths, mlir::Value begin, mlir::Value end,
              llvm::function_ref<Place(Scalars &, mlir::Value row)> place);
  mlir::LogicalResult meetBehindRewrite(mlir::Operation *op, mlir::Value slot,
                                        int32_t &barrier, bool all);
  mlir::Value rowScratch(frag::RegType tile);

  //===--- Masks.cpp ------------------------------------------------------===//
  mlir::LogicalResult convert(ApplyMaskOp op);
  mlir::LogicalResult maskElements(ApplyMaskOp op, HookOp hook);
  mlir::Value columnLimit(ApplyMaskOp op, llvm::ArrayRef<mask::Bound> bounds,
                          llvm::ArrayRef<std::string> params, bool upper);

  //===--- Stores.cpp -----------------------------------------------------===//
  mlir::LogicalResult convert(StoreOp op);
  mlir::LogicalResult convert(StorePartialOp op);
  mlir::LogicalResult convert(LoadPartialOp op);
  std::array<mlir::Type, 2> offsetTypes(const RowsInfo &rows);
  /// Element offsets (i64) and mask of the live rows in a tensor.
  std::pair<mlir::Value, mlir::Value>
  rowOffsets(RowsInfo &rows, llvm::StringRef tensor, mlir::Location loc);
  /// (slot * rows + row) * width, and the mask of the live rows.
  std::array<mlir::Value, 2> partialOffsets(RowsInfo &rows, mlir::Value slot,
                                            mlir::Location loc);
  std::pair<mlir::Value, mlir::Value> slotOffsets(RowsInfo &rows,
                                                  mlir::Value slot,
                                                  int32_t width,
                                                  mlir::Location loc);

  //===--- Rows.cpp: row vectors and types --------------------------------===//
  void findPartials(mlir::Block &body);
  bool isPartial(mlir::Value rowVec) const;
  mlir::Type convertType(mlir::Value value);
  llvm::StringRef layoutName(Holding holding) const;
  /// Of a tile with `cols` columns, rounded up to what the role's unit takes.
  frag::RegType regType(int32_t rows, int32_t cols, mlir::Type element,
                        Holding holding);
  /// Columns of memory where a tile in registers or a slot has more; else null.
  mlir::IntegerAttr memoryCols(int32_t cols, int32_t held);
  frag::LayoutAttr layoutAttr(Holding holding) const;
  frag::VecType vecType(int32_t rows, mlir::Type element, bool partial = false,
                        Holding holding = Holding::Accumulator);
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
  pipe::ScheduleAttr schedule;
  RoleInfo role; ///< who runs the text that is being written
  llvm::SmallVector<frag::RoleAttr> launched; ///< empty: the CTA is one role
  int32_t namedBarriers = 0;                  ///< in use; their ids start at 1

  mlir::IRMapping mapping; ///< tiles, vectors, scalars, products under way
  llvm::DenseMap<mlir::Value, RowsInfo> rowMaps;
  llvm::DenseMap<mlir::Value, SlotTile> slots; ///< slots and payloads in rings
  std::unique_ptr<Channels> channels;
  /// Of the fields of a record: is it one, or the inert item?
  llvm::DenseMap<mlir::Value, mlir::Value> realItems;
  llvm::EquivalenceClasses<void *> classes;
  llvm::DenseSet<void *> partialLeaders;
  /// Tiles whose columns are keys; values that belong to no group.
  llvm::DenseSet<void *> keyLeaders, joinedLeaders;
  llvm::StringMap<mlir::Value> paramCache, tmaps;
  llvm::DenseMap<unsigned, mlir::Value> headerCache;
  mlir::Value queueCache;
  mlir::Value scratch; ///< rows that an output hook reads
  mlir::Value rankCache;
  llvm::StringMap<mlir::Value> groupRings;
  llvm::DenseMap<mlir::Value, State> joinedStates; ///< by the old O
  /// Sums of shares that were added up ahead of their uses, by the old vector.
  llvm::DenseMap<mlir::Value, mlir::Value> completed;
};

} // namespace attn

#endif // ATTN_LIB_CONVERSION_PIPETOFRAG_LOWERING_H
