//===- Padding.h - columns that products take -------------------*- C++ -*-===//
//
// A head dim is any multiple of 8; instructions take more at a time.  Tiles of
// products have their columns rounded up, and what is added holds zeros: in Q
// and K they add nothing to a score, in V they give columns of O that are never
// stored.
//
//   head dim 72 -> 80 columns: 5 steps of k in Q K^T, n = 80 in P V
//
// One number serves both products and both kinds of them: k of an atom is 16, and
// one ldmatrix brings 16 columns of n.  A warpgroup's product could have n = 72,
// but its V is copied in panels that are wider still.
//
// Invariant: everything that speaks of a tile's columns in products rounds here.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LAYOUT_PADDING_H
#define ATTN_LAYOUT_PADDING_H

namespace attn::layout {

/// What the columns of a product's tile are a multiple of.
constexpr unsigned productGranule = 16;

/// Columns of the tile of a head dim, or of any tile that a product takes.
constexpr unsigned productColumns(unsigned columns) {
  return (columns + productGranule - 1) / productGranule * productGranule;
}

} // namespace attn::layout

#endif // ATTN_LAYOUT_PADDING_H
