//===- FragRewrite.cpp - L3: new elements from whole rows -----------------===//
//
// A row is read as a whole before any of it is written:
//
//   frag.rewrite_rows   row of a slot -> floats -> new floats -> row, rounded
//   frag.rewrite_tile   the same with the registers that hold a row
//
// Invariant: the region sees the old row, whatever has been written of the new one.
//
//===----------------------------------------------------------------------===//

#include "FragState.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

namespace {
/// The region of a rewrite, ready to run.
struct RowProgram {
  FragProgram *program = nullptr;
  std::vector<Word> slots;

  float at(uint32_t row, uint32_t col, ArrayRef<float> old) {
    slots[0] = Word::ofInt(row);
    slots[1] = Word::ofInt(col);
    program->run(slots.data(), old);
    return slots[program->results[0]].f;
  }
};
} // namespace

static LogicalResult compile(Operation *op, Block &body, Interp &interp,
                             RowProgram &made) {
  FragCache &cache = *interp.state<FragState>().cache;
  auto [it, fresh] = cache.programs.try_emplace(op);
  std::string error;
  if (fresh && !it->second.compile(body, /*onFma=*/false, error)) {
    cache.programs.erase(op);
    return interp.fail(op, error);
  }
  made.program = &it->second;
  made.slots.resize(made.program->slotCount);
  made.program->capture(interp, made.slots.data());
  return success();
}

LogicalResult attn::sim::rewriteRows(frag::RewriteRowsOp op, size_t base,
                                     unsigned first, unsigned step,
                                     RowAccess access, Interp &interp,
                                     std::vector<uint8_t> &smem) {
  RowProgram program;
  if (failed(compile(op, op.getBody().front(), interp, program)))
    return failure();
  frag::RingType type = op.getRing().getType();
  layout::Swizzle swizzle = frag::swizzleOf(type);
  oracle::Element element = fragElement(type.getElement());
  int64_t begin = interp.getInt(op.getBegin()),
          end = interp.getInt(op.getEnd());
  if (begin < 0 || end > type.getRows())
    return interp.fail(op, "rewrites rows " + Twine(begin) + " to " +
                               Twine(end) + " of " + Twine(type.getRows()));
  std::vector<float> old(type.getCols());
  for (int64_t row = begin + first; row < end; row += step) {
    auto at = [&](unsigned col) {
      return smem.data() + base + swizzle.byteOffset(unsigned(row), col);
    };
    if (failed(access(unsigned(row), /*write=*/false)))
      return failure();
    for (unsigned col = 0; col < old.size(); ++col)
      old[col] = oracle::loadElement(element, at(col), 0);
    if (failed(access(unsigned(row), /*write=*/true)))
      return failure();
    for (unsigned col = 0; col < old.size(); ++col)
      oracle::storeElement(element, at(col), 0,
                           program.at(uint32_t(row), col, old));
  }
  return success();
}

LogicalResult attn::sim::rewriteTile(frag::RewriteTileOp op, Interp &interp) {
  RowProgram program;
  if (failed(compile(op, op.getBody().front(), interp, program)))
    return failure();
  frag::RegType type = op.getTile().getType();
  const TileShape shape = interp.state<FragState>().shapeOf(type);
  const FragTile &in = interp.get<FragTile>(op.getTile());
  std::map<uint32_t, std::vector<float>> rows;
  for (size_t i = 0; i < in.data.size(); ++i) {
    std::vector<float> &row = rows[shape.row[i]];
    row.resize(type.getCols());
    row[shape.col[i]] = in.data[i];
  }
  auto out = std::make_shared<FragTile>();
  out->data.resize(in.data.size());
  for (size_t i = 0; i < in.data.size(); ++i)
    out->data[i] = program.at(shape.row[i], shape.col[i], rows[shape.row[i]]);
  interp.set(op.getResult(), Datum(std::shared_ptr<Object>(out)));
  return success();
}
