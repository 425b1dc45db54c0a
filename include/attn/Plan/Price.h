//===- Price.h - what a request costs by a tile shape -----------*- C++ -*-===//
//
//   tiles of tile_q rows, each cost_q * tile_q + cost_kv * keys of whole blocks
//
// Whole tiles by whole blocks: what a short request leaves unused is part of the
// price.  Masks are left out, they take about the same share from each shape.
//
// Invariant: the runtime and the tests of the compiler's cost model compare
// specialisations by this one formula.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_PLAN_PRICE_H
#define ATTN_PLAN_PRICE_H

#include <cstdint>

namespace attn::plan {

/// Rows of a tile that are used: it holds whole tokens.
constexpr int32_t rowsOfTile(int32_t tileQ, int32_t pack) {
  return tileQ - tileQ % pack;
}

struct Price {
  int32_t tileQ = 1, tileK = 1, pack = 1;
  float costQ = 1, costKv = 1;

  /// Of a request of qLen by kvLen tokens with `heads` query heads.
  double of(int64_t qLen, int64_t kvLen, int32_t heads) const {
    int64_t rows = rowsOfTile(tileQ, pack);
    int64_t tiles = (qLen * pack + rows - 1) / rows;
    int64_t blocks = (kvLen + tileK - 1) / tileK;
    return double(heads / pack) * double(tiles) *
           (double(costQ) * tileQ + double(costKv) * double(blocks) * tileK);
  }
};

} // namespace attn::plan

#endif // ATTN_PLAN_PRICE_H
