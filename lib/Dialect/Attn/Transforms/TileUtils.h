//===- TileUtils.h - what the tiling passes share ---------------*- C++ -*-===//
//
// The facts of one kernel that decide the types of its tiles, gathered once:
//
//   heads 32 / 8, dim 128, bf16, tile_q 128, tile_k 64
//   ->  Q tile<128x128xbf16>, K and V tile<64x128xbf16>, S tile<128x64xf32>,
//       O tile<128x128xf32>, rowvec<128xf32>
//
// Invariant: V enters the second product in the schedule's p_type, so both
// operands of `pv` have one element type; Q and K have one element type, p_type too
// if a hook has rewritten one of them: f32 where products are made of it, else the
// tensor's own, to which new elements are rounded.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILEUTILS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILEUTILS_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace attn {

struct TileShape {
  ScheduleAttr schedule;
  BlockMapAttr blockMap;
  VariantOp variant;
  attn::TensorType query, key, value, output;
  attn::TensorType lse; // null without normaliser
  int32_t group = 1;

  bool hasHook(HookKind kind) const {
    return static_cast<bool>(VariantOp(variant).getHook(kind));
  }
  bool isSoftmax() const {
    return VariantOp(variant).getNormaliser() == Normaliser::Softmax;
  }

  TileType tile(int32_t rows, int32_t cols, mlir::Type element) const {
    return TileType::get(element.getContext(), rows, cols, element);
  }
  mlir::Type f32() const { return mlir::Float32Type::get(query.getContext()); }
  mlir::Type scoreElement() const {
    bool rewritten = hasHook(HookKind::Query) || hasHook(HookKind::Key);
    return rewritten ? schedule.getPType() : query.getElement();
  }
  TileType queryTile() const {
    return tile(schedule.getTileQ(), query.getDim(), scoreElement());
  }
  TileType keyTile() const {
    return tile(schedule.getTileK(), key.getDim(), scoreElement());
  }
  TileType valueTile() const {
    return tile(schedule.getTileK(), value.getDim(), schedule.getPType());
  }
  TileType scoreTile() const {
    return tile(schedule.getTileQ(), schedule.getTileK(), f32());
  }
  TileType outputTile() const {
    return tile(schedule.getTileQ(), value.getDim(), f32());
  }
  RowVecType rowVec() const {
    return RowVecType::get(query.getContext(), schedule.getTileQ(), f32());
  }
  RowsType rows() const {
    return RowsType::get(query.getContext(), schedule.getTileQ());
  }
  StateType state() const {
    return StateType::get(query.getContext(), schedule.getTileQ(),
                          value.getDim(), VariantOp(variant).getNormaliser());
  }
};

/// log2 e: softmax is computed with exponents in base 2.
constexpr float log2e = 1.44269504f;

/// `request` and `row_map` of an item's or record's fields.
RowMapOp createRowMap(mlir::OpBuilder &builder, mlir::Location loc,
                      const TileShape &shape, mlir::Value plan,
                      mlir::Block::BlockArgListType fields, RequestOp &request);

/// The factor of exponents in base 2.  With fold_scale the scores stay raw products
/// and the scale is part of it; otherwise apply_score multiplies and only the base
/// changes.  A kernel's partials are of its factor, so that its merge kernel takes the
/// same one.
mlir::Value exponentFactor(mlir::OpBuilder &builder, mlir::Location loc,
                           const TileShape &shape, mlir::Value scale);

/// `transform_rows` for the output hook, if there is one.
mlir::Value applyOutputHook(mlir::OpBuilder &builder, mlir::Location loc,
                            const TileShape &shape, mlir::Value tile,
                            mlir::Value rows);

/// Adds @<name>_merge behind `kernel`.  Fails if the name is taken.
mlir::LogicalResult createMergeKernel(KernelOp kernel, const TileShape &shape,
                                      mlir::SymbolTable &symbols);

} // namespace attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILEUTILS_H
