//===- FragState.h - registers and shared memory of one CTA -----*- C++ -*-===//
//
// Private to the L3 interpreter.  Threads run in lock step: one op at a time
// for all of them, which is a legal schedule because control flow is uniform.
// What that schedule would hide (a missing barrier) is tracked by flags of each
// slot.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_SIM_FRAGSTATE_H
#define ATTN_LIB_SIM_FRAGSTATE_H

#include "attn/Dialect/Frag/IR/Frag.h"
#include "attn/Oracle/Element.h"
#include "attn/Sim/Interp.h"

#include <map>
#include <tuple>
#include <vector>

namespace attn::sim {

/// Element (thread, reg) at [thread * regs + reg]; 16-bit values as floats.
struct FragTile : Object {
  std::vector<float> data;
};

/// Row slot i of a thread at [thread * rows + i].
struct FragVec : Object {
  std::vector<Word> data;
};

struct FragRing : Object {
  std::string name;
  frag::RingType type;
  size_t base = 0;
  /// By slot, since the last barrier.
  std::vector<bool> readSinceBarrier;
  /// By slot: copies that are not visible yet.
  std::vector<int32_t> inFlight;
};

/// Coordinates of a tile's registers, or of a vector's row slots.
struct TileShape {
  unsigned threads = 0, regs = 0, rows = 0;
  std::vector<uint32_t> row, col;  ///< [thread][reg]
  std::vector<uint32_t> slot;      ///< [reg] -> row slot
  std::vector<uint32_t> slotRow;   ///< [thread][row slot]
  std::vector<unsigned> laneMasks; ///< lanes that share a row
};

/// A map's or a copy's body as a flat list.
struct FragProgram {
  struct Step {
    ScalarInstr scalar; ///< null fn: a load, of the row if there is no element
    mlir::Type element;
  };
  unsigned args = 0, slotCount = 0;
  std::vector<Step> steps;
  std::vector<std::pair<mlir::Value, uint32_t>> captured;
  std::vector<uint32_t> results;

  /// `onFma`: exp2 by the steps of include/attn/Target/Exp2.h.  On failure
  /// `error` names the op.
  bool compile(mlir::Block &block, bool onFma, std::string &error);
  void capture(Interp &interp, Word *slots) const;
  /// `row`: what frag.element reads.
  void run(Word *slots, llvm::ArrayRef<float> row = {}) const;
};

/// A started copy of one row.
struct RowCopy {
  const char *source; ///< null: zero fill
  size_t target;      ///< offset of the slot
  uint32_t row;
};

struct Copy {
  std::shared_ptr<FragRing> ring;
  int32_t slot = 0;
  unsigned memoryCols = 0; ///< columns behind become 0
  std::vector<RowCopy> rows;
};

/// What is decoded once for all warps and runs of a kernel.
struct FragCache {
  llvm::DenseMap<mlir::Operation *, FragProgram> programs;
  /// Of the columns of a map whose exp2 is on the FMA pipe.
  llvm::DenseMap<mlir::Operation *, FragProgram> fmaPrograms;
  /// Byte offset in a slot of each register of operand A, by its type.
  std::map<const void *, std::vector<uint32_t>> operandsA;
  /// The same of each (k, n) of operand B, by its ring, order and rows.
  std::map<std::tuple<const void *, frag::BOrder, unsigned>,
           std::vector<uint32_t>>
      operandsB;
};

/// Called for each element in global memory that a tile op touches.
using GlobalAccess = std::function<mlir::LogicalResult(
    mlir::Operation *op, const char *address, unsigned bytes, bool write)>;

struct FragState : HandlerState {
  /// The threads of a tile that this interpreter runs: a warp of the machine
  /// sees its own part.  0: all threads of the layout.
  unsigned firstThread = 0, threadCount = 0;
  FragCache ownCache;
  FragCache *cache = &ownCache;
  GlobalAccess onGlobal; ///< may be null

  std::vector<uint8_t> smem;
  std::vector<Copy> started;             ///< since the last commit
  std::vector<std::vector<Copy>> groups; ///< committed, oldest first
  std::vector<Copy> landed;              ///< waited for, no barrier yet
  std::vector<std::shared_ptr<FragRing>> rings;

  llvm::DenseMap<mlir::Type, TileShape> shapes;

  const TileShape &shapeOf(mlir::Type type);
  void barrier();
};

/// Byte offsets in a slot of the registers [thread][register] of operand A, for
/// all threads of the layout.
const std::vector<uint32_t> &operandA(frag::RegType type, frag::RingType ring,
                                      FragCache &cache);
/// Byte offset in a slot, or in a part of it, of each (k, n) of operand B.
const std::vector<uint32_t> &operandB(frag::RingType ring, frag::BOrder order,
                                      unsigned rows, unsigned warps,
                                      FragCache &cache);

/// Advances a position; the high half counts laps, its lowest bit is the phase.
int64_t nextPos(int64_t pos, int32_t slots);

oracle::Element fragElement(mlir::Type type);
/// A scalar in memory.
Word loadWord(mlir::Type type, const char *at);

/// Positions are one integer: slot in the low half; in the high half the number
/// of the lap, of which the hardware has the lowest bit, the phase.  A writer
/// starts in phase 1, one lap behind: lap -1.
inline int64_t makePos(int32_t lap, int32_t slot) {
  return int64_t(uint64_t(uint32_t(lap)) << 32 | uint32_t(slot));
}
inline int32_t lapOf(int64_t pos) { return int32_t(pos >> 32); }
inline int32_t slotOf(int64_t pos) { return int32_t(pos & 0xffffffff); }

/// Any op of the dialect, in lock step.
mlir::LogicalResult runFragOp(mlir::Operation *op, Interp &interp);
mlir::LogicalResult runFragTileOp(mlir::Operation *op, Interp &interp);
mlir::LogicalResult runFragSmemOp(mlir::Operation *op, Interp &interp);
/// Called around each row of a slot that is rewritten.
using RowAccess =
    llvm::function_ref<mlir::LogicalResult(unsigned row, bool write)>;
/// Every `step`-th row from the `first` one on of a rewrite, in the slot at `base`.
mlir::LogicalResult rewriteRows(frag::RewriteRowsOp op, size_t base,
                                unsigned first, unsigned step, RowAccess access,
                                Interp &interp, std::vector<uint8_t> &smem);
mlir::LogicalResult rewriteTile(frag::RewriteTileOp op, Interp &interp);

} // namespace attn::sim

#endif // ATTN_LIB_SIM_FRAGSTATE_H
