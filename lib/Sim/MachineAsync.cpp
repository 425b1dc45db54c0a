//===- MachineAsync.cpp - TMA copies and products of a warpgroup ----------===//
//
// A copy is one or two actions of the TMA engine that the scheduler lets land at
// any time after its start; the slot holds NaN until then.
//
// A product reads shared memory from its start to the wait that covers it.  Each
// warp of the warpgroup computes its own rows, at the start or at the wait, by the
// seed.
//
//===----------------------------------------------------------------------===//

#include "MachineHopper.h"

#include "attn/Sim/TensorMap.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

namespace {
struct TmapObject : Object {
  SimTensorMap map{};
};

struct ViewObject : Object {
  std::shared_ptr<FragRing> ring;
  size_t base = 0; ///< of the slot
  unsigned first = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

/// Chunks of a copy into the CTA of `bars`.
static LogicalResult startPart(frag::TmaLoadOp op, Warp &warp,
                               const std::shared_ptr<BarsObject> &bars,
                               const std::vector<Chunk> &part,
                               const Order &started) {
  Machine &machine = warp.machine;
  Cta *cta = bars->cta;
  Access by = machine.newAgent(warp.order, op);
  if (failed(visit(warp, *cta, by)))
    return failure();
  for (const Chunk &chunk : part) {
    if (failed(machine.writeTo(warp, *cta, op, chunk.target, 16, by)))
      return failure();
    std::memset(cta->smem.data() + chunk.target, 0xff, 16);
  }
  int32_t slot = bars->slotOf(warp.interp->getInt(op.getBarPos()));
  int64_t bytes = int64_t(part.size()) * 16;
  Order landed = started;
  landed.seen.set(by.actor, by.step);
  machine.fibers.addAction([cta, op, bars, slot, bytes, part,
                            foreign = cta != &warp.cta,
                            phase = bars->bars[slot * bars->lanes].phase,
                            landed = std::move(landed)] {
    if (cta->live == 0) {
      (void)cta->machine.violate(
          foreign ? Verdict::ResourceError : Verdict::Race, op,
          "copy lands after its CTA has ended, cta " + Twine(cta->index));
      return;
    }
    for (const Chunk &chunk : part) {
      uint8_t *to = cta->smem.data() + chunk.target;
      if (chunk.source)
        std::memcpy(to, chunk.source, 16);
      else
        std::memset(to, 0, 16);
    }
    (void)landBytes(op, *bars, slot, phase, bytes, landed);
  });
  machine.onCopy(warp, op, machine.fibers.lastAction(), bytes);
  return success();
}

static LogicalResult loadTile(frag::TmaLoadOp op, Warp &warp) {
  Machine &machine = warp.machine;
  Interp &interp = *warp.interp;
  const SimTensorMap &map = interp.get<TmapObject>(op.getTmap()).map;
  frag::TmapType type = op.getTmap().getType();
  auto ring = interp.get(op.getRing()).share<FragRing>();
  int32_t slot = slotOf(interp.getInt(op.getPos()));
  if (!map.base)
    return interp.fail(op, "goes through a tensor map that was not filled");
  int64_t first = op.getFirst() ? interp.getInt(op.getFirst()) : 0;
  if (first < 0 || first % 8 || first + op.getRows() > ring->type.getRows())
    return machine.violate(Verdict::ResourceError, op,
                           "copies rows " + Twine(first) + " to " +
                               Twine(first + op.getRows()) + " of a slot of " +
                               Twine(ring->type.getRows()) +
                               " rows, in steps of 8");
  auto targets = targetsOf(op, warp);
  if (targets.empty())
    return failure();
  int64_t bytes = frag::bytesOf(type.getElement());
  size_t base = slotBase(*ring, slot);
  layout::Swizzle swizzle = frag::swizzleOf(ring->type);

  // Each row is a run of the tensor's first dimension, cut into its
  // panels' boxes; 16-byte chunks at swizzled places.
  std::vector<Chunk> chunks;
  for (unsigned row = 0; row < op.getRows(); ++row) {
    int64_t rest = row, element = 0;
    bool inside = true;
    for (size_t d = 1; d < type.getBox().size(); ++d) {
      int64_t at =
          interp.getInt(op.getCoordinates()[d - 1]) + rest % type.getBox()[d];
      rest /= type.getBox()[d];
      inside &= at >= 0 && at < int64_t(map.extent[d]);
      element += at * map.stride[d];
    }
    const char *source =
        reinterpret_cast<const char *>(map.base) + element * bytes;
    for (unsigned col = 0; col < swizzle.storedCols(); col += 16 / bytes)
      chunks.push_back(
          {inside && col < map.extent[0] ? source + col * bytes : nullptr,
           base + swizzle.byteOffset(unsigned(first) + row, col)});
  }
  // In one or two parts, each of which lands by itself in each CTA.
  size_t parts = machine.coin() ? 2 : 1;
  Order started = warp.publish();
  for (size_t p = 0; p < parts; ++p) {
    size_t begin = chunks.size() * p / parts;
    size_t end = chunks.size() * (p + 1) / parts;
    std::vector<Chunk> part(chunks.begin() + begin, chunks.begin() + end);
    for (const std::shared_ptr<BarsObject> &bars : targets)
      if (failed(startPart(op, warp, bars, part, started)))
        return failure();
  }
  return machine.yield();
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

static LogicalResult startProduct(frag::WgmmaOp op, Warp &warp) {
  Machine &machine = warp.machine;
  Interp &interp = *warp.interp;
  warp.syncLanes();
  uint32_t group = ++warp.issued;
  auto &order = warp.cta.products[warp.groupFirst];
  if (order.size() < group)
    order.push_back(op);
  else if (order[group - 1] != op.getOperation()) {
    Access other{warp.actor, 0, order[group - 1], false};
    return machine.violate(Verdict::Race, op,
                           warp.name() + " starts product " + Twine(group) +
                               " of its warpgroup, which is another op for "
                               "another warp",
                           &other);
  }
  Access by{machine.tensorOf(warp), group, op, true};
  auto ring = interp.get(op.getRing()).share<FragRing>();
  OperandB b{ring->type, op.getBOrder(), unsigned(ring->type.getRows()),
             slotBase(*ring, slotOf(interp.getInt(op.getPos()))),
             /*warps=*/4};
  if (failed(readOperandB(warp, op, b, by)))
    return failure();

  frag::InflightType inflight = op.getResult().getType();
  frag::RegType cType = inflight.getReg();
  auto product = std::make_shared<InFlight>();
  product->group = group;
  product->op = op;
  std::shared_ptr<FragTile> acc;
  if (op.getAcc()) {
    acc = interp.get(op.getAcc()).share<FragTile>();
    warp.operands.push_back({acc, group});
  }
  Cta *cta = &warp.cta;
  const auto common = [&warp, b, cType, acc](Type element, unsigned k,
                                             FillA fill) {
    return multiply(warp, element, k, fill, cType, acc.get(), b);
  };
  InFlight *raw = product.get();
  if (auto view = dyn_cast<frag::ViewType>(op.getA().getType())) {
    auto a = interp.get(op.getA()).share<ViewObject>();
    layout::Swizzle swizzle = frag::swizzleOf(a->ring->type);
    unsigned bytes = swizzle.getElementBytes(), step = 16 / bytes;
    for (int32_t row = 0; row < view.getRows(); ++row)
      for (int32_t col = 0; col < view.getCols(); col += step)
        if (failed(machine.read(
                warp, op,
                a->base +
                    swizzle.byteOffset(a->first + unsigned(row), unsigned(col)),
                16, by)))
          return failure();
    product->compute = [raw, common, a, view, swizzle, cta] {
      auto fill = [&](ArrayRef<int32_t> number, float *out) {
        auto element = fragElement(view.getElement());
        for (int32_t row = 0; row < view.getRows(); ++row)
          if (number[row] >= 0)
            for (int32_t col = 0; col < view.getCols(); ++col)
              out[size_t(number[row]) * view.getCols() + col] =
                  oracle::loadElement(
                      element,
                      cta->smem.data() + a->base +
                          swizzle.byteOffset(a->first + unsigned(row),
                                             unsigned(col)),
                      0);
      };
      raw->result = common(view.getElement(), view.getCols(), fill);
    };
  } else {
    auto type = cast<frag::RegType>(op.getA().getType());
    auto a = interp.get(op.getA()).share<FragTile>();
    warp.operands.push_back({a, group});
    product->compute = [raw, common, a, type, &warp] {
      const TileShape shape = warp.state().shapeOf(type);
      auto fill = [&](ArrayRef<int32_t> number, float *out) {
        for (size_t i = 0; i < a->data.size(); ++i)
          out[size_t(number[shape.row[i]]) * type.getCols() + shape.col[i]] =
              a->data[i];
      };
      raw->result = common(type.getElement(), type.getCols(), fill);
    };
  }
  if (machine.coin()) {
    product->compute();
    product->compute = nullptr;
  }
  warp.products.push_back(product);
  interp.set(op.getResult(), Datum(std::shared_ptr<Object>(product)));
  return machine.yield();
}

static LogicalResult waitProducts(frag::WgmmaWaitOp op, Warp &warp) {
  Machine &machine = warp.machine;
  Interp &interp = *warp.interp;
  warp.syncLanes();
  if (failed(machine.yield()))
    return failure();
  uint32_t pending = op.getPending();
  if (warp.issued > pending)
    warp.retired = std::max(warp.retired, warp.issued - pending);
  while (!warp.products.empty() &&
         warp.products.front()->group <= warp.retired) {
    InFlight &product = *warp.products.front();
    if (product.compute)
      product.compute();
    product.compute = nullptr;
    warp.products.pop_front();
  }
  warp.order.seen.set(machine.tensorOf(warp), warp.retired);
  llvm::erase_if(warp.operands,
                 [&](auto &held) { return held.second <= warp.retired; });
  auto product = interp.get(op.getInflight()).share<InFlight>();
  if (product->group > warp.retired) {
    Access other{machine.tensorOf(warp), product->group, product->op, true};
    return machine.violate(Verdict::Race, op,
                           warp.name() +
                               " takes the accumulator of a product that the "
                               "wait leaves under way",
                           &other);
  }
  for (auto [pinned, released] : llvm::zip(op.getPinned(), op.getReleased()))
    interp.set(released, Datum(interp.get(pinned)));
  interp.set(op.getResult(), Datum(std::shared_ptr<Object>(product->result)));
  return success();
}

LogicalResult attn::sim::runAsyncOp(Operation *op, Warp &warp, bool &known) {
  Interp &interp = *warp.interp;
  if (auto tmap = dyn_cast<frag::TmapOp>(op)) {
    auto object = std::make_shared<TmapObject>();
    object->map = interp.param<SimTensorMap>(size_t(tmap.getOffset()));
    interp.set(tmap.getTmap(), Datum(std::shared_ptr<Object>(object)));
    return success();
  }
  if (auto load = dyn_cast<frag::TmaLoadOp>(op))
    return loadTile(load, warp);
  if (auto view = dyn_cast<frag::ViewRowsOp>(op)) {
    auto object = std::make_shared<ViewObject>();
    object->ring = interp.get(view.getRing()).share<FragRing>();
    object->base =
        slotBase(*object->ring, slotOf(interp.getInt(view.getPos())));
    int64_t first = interp.getInt(view.getFirst());
    int64_t end = first + view.getView().getType().getRows();
    if (first < 0 || first % 8 || end > object->ring->type.getRows())
      return warp.machine.violate(Verdict::ResourceError, op,
                                  "view of rows " + Twine(first) + " to " +
                                      Twine(end) + " of a slot of " +
                                      Twine(object->ring->type.getRows()) +
                                      " rows, in steps of 8");
    object->first = unsigned(first);
    interp.set(view.getView(), Datum(std::shared_ptr<Object>(object)));
    return success();
  }
  if (auto product = dyn_cast<frag::WgmmaOp>(op))
    return startProduct(product, warp);
  if (auto wait = dyn_cast<frag::WgmmaWaitOp>(op))
    return waitProducts(wait, warp);
  // Lanes that exchange registers meet; the exchange itself is a tile's.
  if (isa<frag::QuadTransposeOp>(op))
    warp.syncLanes();
  known = false;
  return success();
}
