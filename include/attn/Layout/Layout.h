//===- Layout.h - a tile spread over threads --------------------*- C++ -*-===//
//
// Layout = Atom x Grid: the atom (powers of two) repeated an integer number of
// times over rows and columns.  Register index = grid index * atom registers +
// atom register; the grid index is row-major unless said otherwise.
//
//   mma_c, 128 x 64, 8 warps: warp w holds rows 16w .. 16w+15, grid 1 x 8,
//   32 registers a thread; register 4g + r is register r of the atom at
//   column 8g.
//
// Warps may form groups that hold a tile of this shape each: with 4 warps in 2
// groups, warps 0 and 1 hold one tile of 32 rows, and warps 2 and 3 another.
//
// Invariants: (thread, register) -> (row, col) is a bijection for the threads of
// a group if the atom is a StackRows one, and hits each element once per warp for
// Broadcast ones; coord(t, r) = threadOffset(t) + registerOffset(r), so all
// threads run the same code.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LAYOUT_LAYOUT_H
#define ATTN_LAYOUT_LAYOUT_H

#include "attn/Layout/Atom.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn::layout {

enum class GridOrder { RowMajor, ColMajor };

struct Owner {
  unsigned thread = 0;
  unsigned reg = 0;
  bool operator==(const Owner &o) const {
    return thread == o.thread && reg == o.reg;
  }
};

class Layout {
public:
  /// `name` as in knownAtoms(); `rows` x `cols` is the whole tile, spread over
  /// the warps of a group, of which `warps` warps make `groups`.
  static std::optional<Layout> make(std::string_view name, unsigned rows,
                                    unsigned cols, unsigned warps,
                                    std::string &error,
                                    GridOrder order = GridOrder::RowMajor,
                                    unsigned groups = 1);

  const Atom &getAtom() const { return *atom; }
  std::string_view getName() const { return atom->name; }
  unsigned getRows() const { return rows; }
  unsigned getCols() const { return cols; }
  unsigned getWarps() const { return warps; }
  unsigned getThreads() const { return warps * warpSize; }
  unsigned getGroups() const { return groups; }
  GridOrder getOrder() const { return order; }
  unsigned gridRows() const { return rows / atomRows(); }
  unsigned gridCols() const { return cols / atom->cols; }
  /// Rows that one grid step covers, all warps of a group together.
  unsigned atomRows() const { return atom->rowsOf(warps / groups); }

  /// Elements that one thread holds.
  unsigned registersPerThread() const {
    return gridRows() * gridCols() * atom->registers();
  }
  /// 32-bit machine registers that they take.
  unsigned machineRegistersPerThread() const {
    return registersPerThread() * atom->elementBits / 32;
  }

  Coord coord(unsigned thread, unsigned reg) const {
    return threadOffset(thread) + registerOffset(reg);
  }
  /// The part of a coordinate that depends on the thread: the coordinate of its
  /// register 0.
  Coord threadOffset(unsigned thread) const;
  /// The part that is a constant of the register.
  Coord registerOffset(unsigned reg) const;
  /// The same as basis vectors, for code that computes threadOffset from ids.
  Coord laneBasis(unsigned bit) const { return atom->laneBasis[bit]; }
  /// The first register (even for 16-bit layouts) of a grid cell.
  unsigned gridRegister(unsigned gridRow, unsigned gridCol) const;

  /// Who holds an element: in the first group, and for Broadcast in warp 0.
  Owner owner(unsigned row, unsigned col) const;

  /// Row vectors: the distinct rows that a thread holds, ascending, and the
  /// place of a register's row among them (the same for every thread).
  unsigned rowsPerThread() const {
    return static_cast<unsigned>(rowOffsets.size());
  }
  unsigned rowOf(unsigned thread, unsigned i) const {
    return threadOffset(thread).row + rowOffsets[i];
  }
  unsigned rowOffset(unsigned i) const { return rowOffsets[i]; }
  unsigned rowSlot(unsigned reg) const { return rowSlots[reg]; }

  /// Column vectors, likewise.
  unsigned colsPerThread() const {
    return static_cast<unsigned>(colOffsets.size());
  }
  unsigned colOf(unsigned thread, unsigned i) const {
    return threadOffset(thread).col + colOffsets[i];
  }
  unsigned colOffset(unsigned i) const { return colOffsets[i]; }
  unsigned colSlot(unsigned reg) const { return colSlots[reg]; }

  /// Xor lane masks of a butterfly over the lanes that share a row (for mma_c
  /// the quad: 1, 2), or a column (4, 8, 16).
  std::vector<unsigned> rowLaneMasks() const;
  std::vector<unsigned> colLaneMasks() const;

  /// True if each thread holds the same elements in the same registers, so that
  /// going from one layout to the other moves nothing between threads or
  /// registers (mma_c -> mma_a after packing pairs).
  bool sameHolding(const Layout &other) const;

private:
  Layout() = default;
  void collectSlots();

  const Atom *atom = nullptr;
  unsigned rows = 0;
  unsigned cols = 0;
  unsigned warps = 0;
  unsigned groups = 1;
  GridOrder order = GridOrder::RowMajor;
  LinearMap inverse; ///< col | row << colBits -> register, lane, warp bits
  std::vector<unsigned> rowOffsets, colOffsets; ///< ascending
  std::vector<unsigned> rowSlots, colSlots;     ///< by register
};

} // namespace attn::layout

#endif // ATTN_LAYOUT_LAYOUT_H
