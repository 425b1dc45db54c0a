//===- Atom.h - who holds what in one instruction's tile --------*- C++ -*-===//
//
// An atom is a bijection (register bits, lane bits, warp bits) -> (row, col) of
// the tile of one instruction.  A register here is one element: two 16-bit
// registers share a machine register, the even one in the low half.
//
//   mma_c (16 x 8, f32)   r0 -> col 1, r1 -> row 8
//                         l0 -> col 2, l1 -> col 4, l2 -> row 1, row 2, row 4
//
// Invariant: the bits that registers, lanes and warps give to a row (or to a
// column) are disjoint, so a coordinate is the plain sum of a register's, a
// lane's and a warp's share.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LAYOUT_ATOM_H
#define ATTN_LAYOUT_ATOM_H

#include "attn/Layout/LinearMap.h"

#include <string>
#include <string_view>
#include <vector>

namespace attn::layout {

constexpr unsigned laneBits = 5;
constexpr unsigned warpSize = 1u << laneBits;

struct Coord {
  unsigned row = 0;
  unsigned col = 0;
  bool operator==(const Coord &o) const { return row == o.row && col == o.col; }
  bool operator!=(const Coord &o) const { return !(*this == o); }
};

inline Coord operator+(Coord a, Coord b) {
  return {a.row + b.row, a.col + b.col};
}

/// What the warps of a CTA or a role hold of one tile.
enum class WarpRule {
  /// Warp w holds the atom's rows from w * rows on.
  StackRows,
  /// Every warp holds the whole tile (the B operand of mma.sync).
  Broadcast,
};

/// One line of the atom table: the share of one warp.
struct Atom {
  std::string_view name;
  unsigned elementBits;
  unsigned rows; ///< of one warp
  unsigned cols;
  std::vector<Coord> registerBasis;
  std::vector<Coord> laneBasis;
  WarpRule warpRule;
  unsigned minWarps; ///< 4 where the instruction takes a warpgroup

  unsigned registers() const { return 1u << registerBasis.size(); }
  unsigned colBits() const;
  /// Rows of the tile that `warps` warps hold together.
  unsigned rowsOf(unsigned warps) const {
    return warpRule == WarpRule::StackRows ? rows * warps : rows;
  }
  /// The atom of `warps` warps (a power of two) as one map: register bits, then
  /// lane bits, then warp bits -> col | row << colBits().  For Broadcast the
  /// warps are left out, so that the map stays a bijection.
  LinearMap map(unsigned warps) const;
};

/// mma_c, mma_a, mma_b, wgmma_c, wgmma_a, quad16, row_c.
const std::vector<Atom> &knownAtoms();

/// Null with "unknown layout 'x' (known: ...)" in `error`.
const Atom *findAtom(std::string_view name, std::string &error);

} // namespace attn::layout

#endif // ATTN_LAYOUT_ATOM_H
