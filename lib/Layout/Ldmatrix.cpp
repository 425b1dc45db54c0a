//===- Ldmatrix.cpp - which rows ldmatrix.x4 reads ------------------------===//
//
// One formula serves the three operands: lane = 8i + r addresses row r of
// matrix i; bit 0 of i is the operand's first register bit above the packed
// pair, bit 1 the second.
//
//   A          bit 0 = rows 8..15 of m, bit 1 = upper half of k
//   BFromNK    bit 0 = upper half of k (a column of the ring), bit 1 = n + 8
//   BFromKN    the same, with rows and columns of the ring exchanged
//
//===----------------------------------------------------------------------===//

#include "attn/Layout/Ldmatrix.h"

#include <cassert>

using namespace attn::layout;

std::optional<Ldmatrix> Ldmatrix::make(const Layout &layout, MmaOperand operand,
                                       std::string &error) {
  bool isA = operand == MmaOperand::A;
  std::string_view wanted = isA ? "mma_a" : "mma_b";
  if (layout.getName() != wanted) {
    error = "ldmatrix of operand " + std::string(isA ? "a" : "b") +
            " needs layout " + std::string(wanted) + " but got " +
            std::string(layout.getName());
    return std::nullopt;
  }
  if (layout.getOrder() != GridOrder::RowMajor) {
    error = "ldmatrix needs a row-major grid but got a column-major one";
    return std::nullopt;
  }
  if (!isA && layout.getCols() % 16 != 0) {
    error = "ldmatrix of operand b needs a multiple of 16 columns but the tile "
            "has " +
            std::to_string(layout.getCols());
    return std::nullopt;
  }
  return Ldmatrix(layout, operand);
}

unsigned Ldmatrix::loadsPerStep() const {
  return operand == MmaOperand::A ? layout.gridRows() : layout.gridCols() / 2;
}

unsigned Ldmatrix::loadOf(unsigned kStep, unsigned i) const {
  assert(i < loadsPerStep());
  return operand == MmaOperand::A ? i * layout.gridCols() + kStep
                                  : kStep * loadsPerStep() + i;
}

Coord Ldmatrix::threadOffset(unsigned thread) const {
  assert(thread < layout.getThreads());
  unsigned lane = thread % warpSize;
  unsigned row = lane % 8;
  unsigned low = lane / 8 % 2 * 8;
  unsigned high = lane / 16 * 8;
  switch (operand) {
  case MmaOperand::A:
    // Rows of the thread's warp: those of an operand in registers.
    return {layout.threadOffset(thread - lane).row + low + row, high};
  case MmaOperand::BFromNK:
    return {high + row, low};
  case MmaOperand::BFromKN:
    return {low + row, high};
  }
  return {};
}

Coord Ldmatrix::loadOffset(unsigned j) const {
  assert(j < loads());
  if (operand == MmaOperand::A)
    return {j / layout.gridCols() * layout.atomRows(),
            j % layout.gridCols() * 16};
  unsigned k = j / loadsPerStep() * 16;
  unsigned n = j % loadsPerStep() * 16;
  return operand == MmaOperand::BFromNK ? Coord{n, k} : Coord{k, n};
}
