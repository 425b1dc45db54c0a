//===- Atom.cpp - the table of atoms --------------------------------------===//
//
// Sources of the maps: the fragment figures of mma.m16n8k16 and of
// wgmma.m64nNk16 in the PTX manual.  A warpgroup is four mma warps stacked, so
// the wgmma entries differ only in how many warps they take.  quad16 and row_c
// belong to no instruction: they make accesses to memory wide.
//
//===----------------------------------------------------------------------===//

#include "attn/Layout/Atom.h"

using namespace attn::layout;

unsigned Atom::colBits() const {
  unsigned bits = 0;
  while ((1u << bits) < cols)
    ++bits;
  return bits;
}

LinearMap Atom::map(unsigned warps) const {
  unsigned shift = colBits();
  std::vector<uint32_t> basis;
  for (Coord c : registerBasis)
    basis.push_back(c.col | c.row << shift);
  for (Coord c : laneBasis)
    basis.push_back(c.col | c.row << shift);
  unsigned total = rowsOf(warps);
  // Warps double the rows: bit i of the warp is row `rows << i`.
  for (unsigned row = rows; row < total; row *= 2)
    basis.push_back(row << shift);
  unsigned outBits = shift;
  for (unsigned row = 1; row < total; row *= 2)
    ++outBits;
  return *LinearMap::make(std::move(basis), outBits);
}

const std::vector<Atom> &attn::layout::knownAtoms() {
  // Each entry {row, col} is the share of one bit.
  static const std::vector<Coord> rowLanes = {
      {0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}};
  static const std::vector<Coord> c = {{0, 1}, {8, 0}};
  static const std::vector<Coord> a = {{0, 1}, {8, 0}, {0, 8}};
  static const std::vector<Atom> atoms = {
      {"mma_c", 32, 16, 8, c, rowLanes, WarpRule::StackRows, 1},
      {"mma_a", 16, 16, 16, a, rowLanes, WarpRule::StackRows, 1},
      // Rows are k, columns n.
      {"mma_b",
       16,
       16,
       8,
       {{1, 0}, {8, 0}},
       {{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}},
       WarpRule::Broadcast,
       1},
      {"wgmma_c", 32, 16, 8, c, rowLanes, WarpRule::StackRows, 4},
      {"wgmma_a", 16, 16, 16, a, rowLanes, WarpRule::StackRows, 4},
      // What the epilogue stores: eight neighbouring columns a lane, 16 bytes.
      {"quad16",
       16,
       16,
       32,
       {{0, 1}, {0, 2}, {0, 4}, {8, 0}},
       {{0, 8}, {0, 16}, {1, 0}, {2, 0}, {4, 0}},
       WarpRule::StackRows,
       1},
      // Tiles that meet no product: four neighbouring columns a lane, 128 bytes
      // of f32 a quarter of a warp.
      {"row_c",
       32,
       4,
       32,
       {{0, 1}, {0, 2}},
       {{0, 4}, {0, 8}, {0, 16}, {1, 0}, {2, 0}},
       WarpRule::StackRows,
       1},
  };
  return atoms;
}

const Atom *attn::layout::findAtom(std::string_view name, std::string &error) {
  for (const Atom &atom : knownAtoms())
    if (atom.name == name)
      return &atom;
  error = "unknown layout '" + std::string(name) + "' (known: ";
  const char *separator = "";
  for (const Atom &atom : knownAtoms()) {
    error += separator;
    error += atom.name;
    separator = ", ";
  }
  error += ")";
  return nullptr;
}
