//===- MachineGroups.cpp - groups of warps with tiles of their own --------===//
//
// What groups exchange goes through shared memory, so that its order is checked
// like that of all other accesses:
//
//   frag.st_tile %o into %ring part %g     the warp's registers, where they lie
//   frag.ld_tile %ring part %c1            likewise; columns the ring has not: 0
//
//===----------------------------------------------------------------------===//

#include "MachineHopper.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

static constexpr unsigned elementBytes = 4;

/// Calls fn(index in the value, byte in shared memory) for each element of the
/// warp that the ring has; a vector's rows once each if `once`.
template <class Op>
static LogicalResult
forElements(Op op, Type type, Warp &warp, bool once,
            llvm::function_ref<LogicalResult(size_t, size_t)> fn) {
  FragRing &ring = warp.interp->get<FragRing>(op.getRing());
  layout::Swizzle swizzle = frag::swizzleOf(ring.type);
  const TileShape shape = warp.state().shapeOf(type);
  bool tile = isa<frag::RegType>(type);
  int64_t rows = tile ? cast<frag::RegType>(type).getRows()
                      : cast<frag::VecType>(type).getRows();
  int64_t part = warp.interp->getInt(op.getPart());
  int64_t parts = ring.type.getRows() / rows;
  if (part < 0 || part >= parts)
    return warp.machine.violate(Verdict::ResourceError, op,
                                "takes part " + Twine(part) + " of " +
                                    Twine(parts));
  unsigned first = unsigned(part * rows), col = op.getCol();
  unsigned each = tile ? shape.regs : shape.rows;
  for (unsigned t = 0; t < shape.threads; ++t)
    for (unsigned i = 0; i < each; ++i) {
      size_t at = size_t(t) * each + i;
      if (!tile && once && shape.col[size_t(t) * shape.regs] != 0)
        continue;
      unsigned row = tile ? shape.row[at] : shape.slotRow[at];
      unsigned c = col + (tile ? shape.col[at] : 0);
      if (c < swizzle.getCols() &&
          failed(fn(at, ring.base + swizzle.byteOffset(first + row, c))))
        return failure();
    }
  return success();
}

static LogicalResult storeTile(frag::StTileOp op, Warp &warp) {
  Type type = op.getValue().getType();
  Access by = warp.lanesAccess(op);
  auto valueAt = [&](size_t at) {
    return isa<frag::RegType>(type)
               ? warp.interp->get<FragTile>(op.getValue()).data[at]
               : warp.interp->get<FragVec>(op.getValue()).data[at].f;
  };
  LogicalResult done =
      forElements(op, type, warp, /*once=*/true, [&](size_t at, size_t byte) {
        float value = valueAt(at);
        std::memcpy(warp.cta.smem.data() + byte, &value, elementBytes);
        return warp.machine.write(warp, op, byte, elementBytes, by);
      });
  return failed(done) ? failure() : warp.machine.yield();
}

static LogicalResult loadTile(frag::LdTileOp op, Warp &warp) {
  Type type = op.getResult().getType();
  const TileShape shape = warp.state().shapeOf(type);
  Access by = warp.lanesAccess(op);
  auto load = [&](auto set) {
    return forElements(
        op, type, warp, /*once=*/false, [&](size_t at, size_t byte) {
          float value;
          std::memcpy(&value, warp.cta.smem.data() + byte, elementBytes);
          set(at, value);
          return warp.machine.read(warp, op, byte, elementBytes, by);
        });
  };
  if (isa<frag::RegType>(type)) {
    auto tile = std::make_shared<FragTile>();
    tile->data.resize(size_t(shape.threads) * shape.regs);
    if (failed(load([&](size_t at, float x) { tile->data[at] = x; })))
      return failure();
    warp.interp->set(op.getResult(), Datum(std::shared_ptr<Object>(tile)));
  } else {
    auto vec = std::make_shared<FragVec>();
    vec->data.resize(size_t(shape.threads) * shape.rows);
    if (failed(load(
            [&](size_t at, float x) { vec->data[at] = Word::ofFloat(x); })))
      return failure();
    warp.interp->set(op.getResult(), Datum(std::shared_ptr<Object>(vec)));
  }
  return warp.machine.yield();
}

LogicalResult attn::sim::runGroupOp(Operation *op, Warp &warp, bool &known) {
  known = true;
  if (auto rank = dyn_cast<frag::GroupRankOp>(op)) {
    unsigned each = warp.groupWarps / unsigned(rank.getGroups());
    warp.interp->set(rank.getResult(), Datum::ofInt(warp.inGroup() / each));
    return success();
  }
  if (auto store = dyn_cast<frag::StTileOp>(op))
    return storeTile(store, warp);
  if (auto load = dyn_cast<frag::LdTileOp>(op))
    return loadTile(load, warp);
  known = false;
  return success();
}
