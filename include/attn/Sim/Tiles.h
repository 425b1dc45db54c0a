//===- Tiles.h - values of levels L1 and L2 ---------------------*- C++ -*-===//
//
// Tiles, row vectors and row maps as plain arrays, and the arithmetic of the
// tile ops on them.  Values of 16-bit types are kept as floats that the type
// can represent.
//
//   alpha(m, m', c) = m' == -inf ? 1 : exp2(c (m - m'))
//
// Invariant: no NaN from finite inputs: every difference of infinities is
// decided before the subtraction.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_TILES_H
#define ATTN_SIM_TILES_H

#include "attn/Sim/Interp.h"

#include <vector>

namespace attn::sim {

struct Tile : Object {
  Tile(int32_t rows, int32_t cols, float fill = 0)
      : rows(rows), cols(cols), data(size_t(rows) * cols, fill) {}
  float *row(int32_t r) { return data.data() + size_t(r) * cols; }
  const float *row(int32_t r) const { return data.data() + size_t(r) * cols; }

  int32_t rows, cols;
  std::vector<float> data;
  /// Not empty: the slot that held this tile was given back; names it.
  std::string released;
  /// A slice shares its tile's fate.
  std::shared_ptr<Tile> whole;
};

struct RowVec : Object {
  explicit RowVec(int32_t rows, float fill = 0) : data(rows, fill) {}
  std::vector<float> data;
};

struct RowMap : Object {
  struct Row {
    bool live;
    int32_t token;
    int32_t head;
    int32_t position;
  };
  int32_t request = 0, qBegin = 0, qLen = 0, kvLen = 0;
  std::vector<Row> rows;
  /// Of a slice: its first row in the whole tile, and that tile's rows.
  int32_t first = 0, whole = 0;
};

/// The row map of attn.row_map.
RowMap makeRowMap(int32_t request, int32_t head, int32_t row0, int32_t nrows,
                  int32_t qBegin, int32_t qLen, int32_t kvLen, int32_t pack,
                  int32_t tileRows);

/// S = Q K^T.
void productNK(const Tile &q, const Tile &k, Tile &s);
/// acc += P V.
void productKN(const Tile &p, const Tile &v, Tile &acc);

void rowMax(const Tile &s, const RowVec &m, RowVec &result);
/// m where c (max - m) is at most `threshold`, else the maximum.
void lazyMax(const Tile &s, const RowVec &m, float c, int32_t threshold,
             RowVec &result);
void alpha(const RowVec &m, const RowVec &mNew, float c, RowVec &result);
/// exact, or frozen where the reference is not the middle case: NaN.
void expTile(const Tile &s, const RowVec &m, float c, bool frozen, Tile &p);
void rowSum(const Tile &p, const RowVec &l, const RowVec *alpha,
            RowVec &result);
void rescale(const Tile &o, const RowVec &factor, Tile &result);
void finish(const Tile &o, const RowVec &m, const RowVec &l, float c,
            const RowVec *sink, Tile &out, RowVec &lse);

/// The parts of a state.
struct State {
  const Tile &o;
  const RowVec &m, &l;
};
/// The monoid of states; (0, -inf, 0) is the unit.
void mergeState(const State &a, const State &b, float c, Tile &o, RowVec &m,
                RowVec &l);

} // namespace attn::sim

#endif // ATTN_SIM_TILES_H
