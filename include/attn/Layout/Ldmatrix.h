//===- Ldmatrix.h - which rows ldmatrix.x4 reads ----------------*- C++ -*-===//
//
// An operand of mma.m16n8k16 in 16 bits is read from a shared tile by
// ldmatrix.x4: lanes 8i .. 8i+7 give the addresses of the eight 16-byte rows of
// matrix i, and result register i of lane l holds elements 2(l mod 4), +1 of
// row l div 4 (.trans: of column l div 4).
//
//   operand  shared tile      load                     one x4 load
//   A        [m][k]           ldmatrix                 one mma_a atom
//   BFromNK  [n][k] (K ring)  ldmatrix                 two mma_b atoms, n, n+8
//   BFromKN  [k][n] (V ring)  ldmatrix.trans           two mma_b atoms, n, n+8
//
// Invariant: result i of load j is machine register 4j + i of the operand's
// layout (mma_a, or mma_b with its grid row-major over k x n), so the loads of
// one k step follow each other.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LAYOUT_LDMATRIX_H
#define ATTN_LAYOUT_LDMATRIX_H

#include "attn/Layout/Layout.h"

#include <optional>
#include <string>

namespace attn::layout {

enum class MmaOperand { A, BFromNK, BFromKN };

class Ldmatrix {
public:
  /// `layout`: mma_a (rows m, cols k) for A, mma_b (rows k, cols n) for B, with
  /// a row-major grid; n must be a multiple of 16.
  static std::optional<Ldmatrix> make(const Layout &layout, MmaOperand operand,
                                      std::string &error);

  const Layout &getLayout() const { return layout; }
  MmaOperand getOperand() const { return operand; }
  /// Whether the instruction is ldmatrix.trans.
  bool isTransposed() const { return operand == MmaOperand::BFromKN; }
  /// Number of x4 loads a warp.
  unsigned loads() const { return layout.machineRegistersPerThread() / 4; }
  /// Number of them for one k step of 16 (A: all rows of the warp).
  unsigned loadsPerStep() const;
  /// Load index for a k step; A: i counts grid rows, B: pairs of n atoms.
  unsigned loadOf(unsigned kStep, unsigned i) const;

  /// Element of the *shared tile* at which the row starts that this thread
  /// addresses in load j.  It is threadOffset + loadOffset.
  Coord address(unsigned thread, unsigned j) const {
    return threadOffset(thread) + loadOffset(j);
  }
  Coord threadOffset(unsigned thread) const;
  Coord loadOffset(unsigned j) const;

private:
  Ldmatrix(const Layout &layout, MmaOperand operand)
      : layout(layout), operand(operand) {}
  Layout layout;
  MmaOperand operand;
};

} // namespace attn::layout

#endif // ATTN_LAYOUT_LDMATRIX_H
