//===- Layout.cpp - a tile spread over threads ----------------------------===//

#include "attn/Layout/Layout.h"

#include <algorithm>
#include <cassert>

using namespace attn::layout;

static std::string str(unsigned value) { return std::to_string(value); }

/// More would not fit into a CTA.
static constexpr unsigned maxWarps = 32;
/// Far above any shared memory or register file; keeps every product in 32 bit.
static constexpr unsigned maxExtent = 1u << 14;

std::optional<Layout> Layout::make(std::string_view name, unsigned rows,
                                   unsigned cols, unsigned warps,
                                   std::string &error, GridOrder order,
                                   unsigned groups) {
  const Atom *atom = findAtom(name, error);
  if (!atom)
    return std::nullopt;
  std::string head = "layout " + std::string(name);
  if (warps == 0 || (warps & (warps - 1)) != 0 || warps > maxWarps) {
    error = head + " needs a power of two of warps up to " + str(maxWarps) +
            " but got " + str(warps);
    return std::nullopt;
  }
  if (groups == 0 || warps % groups != 0) {
    error = head + " needs a number of groups that divides its " + str(warps) +
            " warps but got " + str(groups);
    return std::nullopt;
  }
  if (warps / groups < atom->minWarps) {
    error = head + " needs at least " + str(atom->minWarps) +
            " warps but got " + str(warps / groups);
    return std::nullopt;
  }
  if (rows > maxExtent || cols > maxExtent) {
    error = head + " takes tiles up to " + str(maxExtent) +
            " rows and columns but the tile is " + str(rows) + " x " +
            str(cols);
    return std::nullopt;
  }
  unsigned atomRows = atom->rowsOf(warps / groups);
  if (rows == 0 || rows % atomRows != 0) {
    error = head + " on " + str(warps / groups) +
            " warps needs a multiple of " + str(atomRows) +
            " rows but the tile has " + str(rows);
    return std::nullopt;
  }
  if (cols == 0 || cols % atom->cols != 0) {
    error = head + " needs a multiple of " + str(atom->cols) +
            " columns but the tile has " + str(cols);
    return std::nullopt;
  }
  Layout layout;
  layout.atom = atom;
  layout.rows = rows;
  layout.cols = cols;
  layout.warps = warps;
  layout.groups = groups;
  layout.order = order;
  layout.inverse = *atom->map(warps / groups).inverse();
  layout.collectSlots();
  return layout;
}

static Coord combine(const std::vector<Coord> &basis, unsigned index) {
  Coord sum;
  for (unsigned i = 0; i < basis.size(); ++i)
    if ((index >> i) & 1)
      sum = sum + basis[i];
  return sum;
}

Coord Layout::threadOffset(unsigned thread) const {
  assert(thread < getThreads());
  Coord lane = combine(atom->laneBasis, thread % warpSize);
  if (atom->warpRule == WarpRule::StackRows)
    lane.row += thread / warpSize % (warps / groups) * atom->rows;
  return lane;
}

Coord Layout::registerOffset(unsigned reg) const {
  assert(reg < registersPerThread());
  unsigned cell = reg / atom->registers();
  unsigned gridRow =
      order == GridOrder::RowMajor ? cell / gridCols() : cell % gridRows();
  unsigned gridCol =
      order == GridOrder::RowMajor ? cell % gridCols() : cell / gridRows();
  return combine(atom->registerBasis, reg % atom->registers()) +
         Coord{gridRow * atomRows(), gridCol * atom->cols};
}

unsigned Layout::gridRegister(unsigned gridRow, unsigned gridCol) const {
  unsigned cell = order == GridOrder::RowMajor ? gridRow * gridCols() + gridCol
                                               : gridCol * gridRows() + gridRow;
  return cell * atom->registers();
}

Owner Layout::owner(unsigned row, unsigned col) const {
  assert(row < rows && col < cols);
  uint32_t index =
      inverse.apply(col % atom->cols | (row % atomRows()) << atom->colBits());
  unsigned registers = atom->registers();
  return {index / registers,
          gridRegister(row / atomRows(), col / atom->cols) + index % registers};
}

void Layout::collectSlots() {
  unsigned count = registersPerThread();
  for (unsigned reg = 0; reg < count; ++reg) {
    Coord offset = registerOffset(reg);
    rowOffsets.push_back(offset.row);
    colOffsets.push_back(offset.col);
  }
  rowSlots = rowOffsets;
  colSlots = colOffsets;
  auto number = [](std::vector<unsigned> &distinct,
                   std::vector<unsigned> &slots) {
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()),
                   distinct.end());
    for (unsigned &slot : slots)
      slot = static_cast<unsigned>(
          std::lower_bound(distinct.begin(), distinct.end(), slot) -
          distinct.begin());
  };
  number(rowOffsets, rowSlots);
  number(colOffsets, colSlots);
}

std::vector<unsigned> Layout::rowLaneMasks() const {
  std::vector<unsigned> masks;
  for (unsigned bit = 0; bit < laneBits; ++bit)
    if (atom->laneBasis[bit].row == 0)
      masks.push_back(1u << bit);
  return masks;
}

std::vector<unsigned> Layout::colLaneMasks() const {
  std::vector<unsigned> masks;
  for (unsigned bit = 0; bit < laneBits; ++bit)
    if (atom->laneBasis[bit].col == 0)
      masks.push_back(1u << bit);
  return masks;
}

bool Layout::sameHolding(const Layout &other) const {
  if (rows != other.rows || cols != other.cols || warps != other.warps ||
      groups != other.groups ||
      registersPerThread() != other.registersPerThread())
    return false;
  for (unsigned thread = 0; thread < getThreads(); ++thread)
    if (threadOffset(thread) != other.threadOffset(thread))
      return false;
  // Offsets add up, so equal register offsets are enough.
  for (unsigned reg = 0; reg < registersPerThread(); ++reg)
    if (registerOffset(reg) != other.registerOffset(reg))
      return false;
  return true;
}
