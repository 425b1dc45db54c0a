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
    ScalarInstr scalar; ///< null fn: a load
    mlir::Type element;
  };
  unsigned args = 0, slotCount = 0;
  std::vector<Step> steps;
  std::vector<std::pair<mlir::Value, uint32_t>> captured;
  std::vector<uint32_t> results;

  /// On failure `error` names the op.
  bool compile(mlir::Block &block, std::string &error);
  void capture(Interp &interp, Word *slots) const;
  void run(Word *slots) const;
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
  std::vector<RowCopy> rows;
};

struct FragState : HandlerState {
  std::vector<uint8_t> smem;
  std::vector<Copy> started;             ///< since the last commit
  std::vector<std::vector<Copy>> groups; ///< committed, oldest first
  std::vector<Copy> landed;              ///< waited for, no barrier yet
  std::vector<std::shared_ptr<FragRing>> rings;

  llvm::DenseMap<mlir::Operation *, FragProgram> programs;
  llvm::DenseMap<mlir::Type, TileShape> shapes;
  /// Byte offset in a slot of each (k, n) of operand B, of each register of A.
  std::map<std::pair<const void *, int>, std::vector<uint32_t>> operands;

  const TileShape &shapeOf(mlir::Type type);
  void barrier();
};

oracle::Element fragElement(mlir::Type type);
/// A scalar in memory.
Word loadWord(mlir::Type type, const char *at);

/// Positions are one integer: slot in the low half, phase in the high half.
inline int32_t slotOf(int64_t pos) { return int32_t(pos & 0xffffffff); }

mlir::LogicalResult runFragTileOp(mlir::Operation *op, Interp &interp);
mlir::LogicalResult runFragSmemOp(mlir::Operation *op, Interp &interp);

} // namespace attn::sim

#endif // ATTN_LIB_SIM_FRAGSTATE_H
