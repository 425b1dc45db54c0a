//===- MachineOps.cpp - copies, barriers and synchronous products ---------===//
//
// The ops that SM80 kernels use, for one warp:
//
//   frag.cp_async   the warp's share of the 16-byte chunks; each lands at once or
//                   at the wait that covers its group, by the seed
//   frag.mma        the rows that the warp holds; all of B
//   frag.rewrite_*  the rows that the warp has; in registers they go through rows
//                   of shared memory that are the warp's own
//
// Values, maps and reductions are those of FragTiles.cpp over 32 threads.
//
//===----------------------------------------------------------------------===//

#include "MachineHopper.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

static void land(Cta &cta, const Chunk &chunk) {
  uint8_t *to = cta.smem.data() + chunk.target;
  if (chunk.source)
    std::memcpy(to, chunk.source, 16);
  else
    std::memset(to, 0, 16);
}

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

static LogicalResult startCopy(frag::CpAsyncOp op, Warp &warp) {
  Machine &machine = warp.machine;
  Interp &interp = *warp.interp;
  FragRing &ring = interp.get<FragRing>(op.getRing());
  int32_t slot = slotOf(interp.getInt(op.getPos()));
  auto [it, fresh] = machine.cache.programs.try_emplace(op);
  FragProgram &program = it->second;
  std::string error;
  if (fresh && !program.compile(op.getBody().front(), /*onFma=*/false, error)) {
    machine.cache.programs.erase(op);
    return interp.fail(op, error);
  }
  std::vector<Word> slots(program.slotCount);
  program.capture(interp, slots.data());
  layout::Swizzle swizzle = frag::swizzleOf(ring.type);
  unsigned bytes = swizzle.getElementBytes();
  unsigned chunks = ring.type.getCols() * bytes / 16;
  unsigned has = op.getMemoryCols() * bytes / 16;
  unsigned threads = warp.groupWarps * layout::warpSize;
  unsigned own = warp.inGroup() * layout::warpSize;
  const char *base =
      reinterpret_cast<const char *>(interp.getInt(op.getBase()));
  size_t target = slotBase(ring, slot);
  Access by{machine.copiesOf(warp), warp.closed + 1, op, false};
  // Thread t copies the chunks t, t + threads, ... of the slot, row by row.
  uint64_t total = uint64_t(ring.type.getRows()) * chunks;
  int64_t row = -1;
  const char *source = nullptr;
  for (uint64_t round = 0; round * threads < total; ++round)
    for (unsigned t = own; t < own + layout::warpSize; ++t) {
      uint64_t chunk = round * threads + t;
      if (chunk >= total)
        continue;
      if (int64_t(chunk / chunks) != row) {
        row = chunk / chunks;
        slots[0] = Word::ofInt(row);
        program.run(slots.data());
        int64_t offset = slots[program.results[0]].i;
        source = nullptr;
        if (slots[program.results[1]].i) {
          if (offset * bytes % 16)
            return machine.violate(Verdict::ResourceError, op,
                                   "row " + Twine(row) + " starts at byte " +
                                       Twine(offset * bytes) +
                                       " which is not a multiple of 16");
          source = base + offset * bytes;
        }
      }
      unsigned at = chunk % chunks;
      size_t to = target + swizzle.byteOffset(unsigned(row), at * 16 / bytes);
      if (failed(machine.write(warp, op, to, 16, by)))
        return failure();
      bool inMemory = source && at < has;
      Chunk copy{inMemory ? source + size_t(at) * 16 : nullptr, to};
      std::memset(warp.cta.smem.data() + to, 0xff, 16);
      if (machine.coin())
        land(warp.cta, copy);
      else
        warp.started.push_back(copy);
    }
  return machine.yield();
}

static LogicalResult waitCopies(frag::CpAsyncWaitOp op, Warp &warp) {
  uint32_t pending = op.getPending();
  while (warp.groups.size() > pending) {
    for (const Chunk &chunk : warp.groups.front())
      land(warp.cta, chunk);
    warp.groups.pop_front();
  }
  if (warp.closed > pending)
    warp.order.seen.set(warp.machine.copiesOf(warp),
                        std::max(warp.order.seen[warp.machine.copiesOf(warp)],
                                 warp.closed - pending));
  return warp.machine.yield();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Decodes the elements at `offsets` of a slot.
static void decode(Type element, const uint8_t *slot, const uint32_t *offsets,
                   size_t count, float *out) {
  if (element.isBF16()) {
    for (size_t i = 0; i < count; ++i) {
      uint16_t bits;
      std::memcpy(&bits, slot + offsets[i], 2);
      out[i] = oracle::bf16ToFloat(bits);
    }
    return;
  }
  oracle::Element e = fragElement(element);
  for (size_t i = 0; i < count; ++i)
    out[i] = oracle::loadElement(e, slot + offsets[i], 0);
}

/// The warp's share of operand A; null if it may not be read.
static std::shared_ptr<FragTile> readOperandA(Operation *op, frag::RegType type,
                                              mlir::Value from, mlir::Value pos,
                                              Warp &warp) {
  Machine &machine = warp.machine;
  FragRing &ring = warp.interp->get<FragRing>(from);
  size_t base = slotBase(ring, slotOf(warp.interp->getInt(pos)));
  const auto &all = operandA(type, ring.type, machine.cache);
  size_t perWarp = all.size() / unsigned(type.getLayout().getWarps());
  const uint32_t *own = all.data() + perWarp * warp.inGroup();
  auto &granules = machine.granules[{op, warp.inGroup()}];
  if (granules.empty()) {
    for (size_t i = 0; i < perWarp; ++i)
      granules.push_back(own[i] & ~15u);
    llvm::sort(granules);
    granules.erase(std::unique(granules.begin(), granules.end()),
                   granules.end());
  }
  Access by = warp.access(op);
  for (uint32_t granule : granules)
    if (failed(machine.read(warp, op, base + granule, 16, by)))
      return nullptr;
  auto tile = std::make_shared<FragTile>();
  tile->data.resize(perWarp);
  decode(type.getElement(), warp.cta.smem.data() + base, own, perWarp,
         tile->data.data());
  return tile;
}

static LogicalResult runLdmatrix(frag::LdmatrixOp op, Warp &warp) {
  std::shared_ptr<FragTile> tile = readOperandA(
      op, op.getResult().getType(), op.getRing(), op.getPos(), warp);
  if (!tile)
    return failure();
  warp.interp->set(op.getResult(), Datum(std::shared_ptr<Object>(tile)));
  return warp.machine.yield();
}

std::shared_ptr<FragTile> attn::sim::multiply(Warp &warp, Type element,
                                              unsigned k, FillA fillA,
                                              frag::RegType cType,
                                              const FragTile *acc,
                                              const OperandB &operand) {
  unsigned n = cType.getCols();
  const auto &offsets = operandB(operand.ring, operand.order, operand.rows,
                                 operand.warps, warp.machine.cache);
  std::vector<float> b(size_t(k) * n);
  decode(element, warp.cta.smem.data() + operand.base, offsets.data(), b.size(),
         b.data());
  // Rows that this warp holds, numbered as they come.
  const TileShape shape = warp.state().shapeOf(cType);
  std::vector<int32_t> number(cType.getRows(), -1);
  unsigned rows = 0;
  for (uint32_t row : shape.row)
    if (number[row] < 0)
      number[row] = int32_t(rows++);
  std::vector<float> a(size_t(rows) * k), c(size_t(rows) * n);
  fillA(number, a.data());
  if (acc)
    for (size_t i = 0; i < acc->data.size(); ++i)
      c[size_t(number[shape.row[i]]) * n + shape.col[i]] = acc->data[i];
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned x = 0; x < k; ++x) {
      float f = a[size_t(row) * k + x];
      const float *from = b.data() + size_t(x) * n;
      float *to = c.data() + size_t(row) * n;
      for (unsigned col = 0; col < n; ++col)
        to[col] += f * from[col];
    }
  auto tile = std::make_shared<FragTile>();
  tile->data.resize(shape.row.size());
  for (size_t i = 0; i < tile->data.size(); ++i)
    tile->data[i] = c[size_t(number[shape.row[i]]) * n + shape.col[i]];
  return tile;
}

LogicalResult attn::sim::readOperandB(Warp &warp, Operation *op,
                                      const OperandB &b, const Access &by) {
  layout::Swizzle swizzle = frag::swizzleOf(b.ring);
  unsigned full = swizzle.getCols() / swizzle.panelCols();
  // Rows of a panel follow each other.
  for (unsigned panel = 0; panel < full; ++panel)
    if (failed(warp.machine.read(warp, op,
                                 b.base + size_t(panel) * swizzle.panelBytes(),
                                 size_t(b.rows) * swizzle.rowPitchBytes(), by)))
      return failure();
  constexpr unsigned granule = 16;
  for (unsigned row = 0; row < b.rows; ++row)
    for (unsigned col = full * swizzle.panelCols(); col < swizzle.getCols();
         col += granule / swizzle.getElementBytes())
      if (failed(warp.machine.read(
              warp, op, b.base + swizzle.byteOffset(row, col), granule, by)))
        return failure();
  return success();
}

static LogicalResult runMma(frag::MmaOp op, Warp &warp) {
  Machine &machine = warp.machine;
  FragRing &ring = warp.interp->get<FragRing>(op.getRing());
  frag::RegType aType = op.getAFragments();
  OperandB b{ring.type, op.getBOrder(), unsigned(op.getBRows()),
             slotBase(ring, slotOf(warp.interp->getInt(op.getPos()))),
             unsigned(aType.getLayout().getWarps())};
  if (op.getPart()) {
    int64_t part = warp.interp->getInt(op.getPart());
    int64_t parts = ring.type.getRows() / op.getBRows();
    if (part < 0 || part >= parts)
      return machine.violate(Verdict::ResourceError, op,
                             "takes part " + Twine(part) + " of " +
                                 Twine(parts));
    b.base += size_t(part * op.getPartBytes());
  }
  if (failed(readOperandB(warp, op, b, warp.access(op))))
    return failure();
  std::shared_ptr<FragTile> read;
  if (op.getAPos() &&
      !(read = readOperandA(op, aType, op.getA(), op.getAPos(), warp)))
    return failure();
  const FragTile *acc =
      op.getAcc() ? &warp.interp->get<FragTile>(op.getAcc()) : nullptr;
  const FragTile &a = read ? *read : warp.interp->get<FragTile>(op.getA());
  const TileShape shape = warp.state().shapeOf(aType);
  auto fill = [&](ArrayRef<int32_t> number, float *out) {
    for (size_t i = 0; i < a.data.size(); ++i)
      out[size_t(number[shape.row[i]]) * aType.getCols() + shape.col[i]] =
          a.data[i];
  };
  auto tile = multiply(warp, aType.getElement(), aType.getCols(), fill,
                       op.getResult().getType(), acc, b);
  warp.interp->set(op.getResult(), Datum(std::shared_ptr<Object>(tile)));
  return machine.yield();
}

//===----------------------------------------------------------------------===//
// Rewritten rows
//===----------------------------------------------------------------------===//

static LogicalResult rewriteSlot(frag::RewriteRowsOp op, Warp &warp) {
  FragRing &ring = warp.interp->get<FragRing>(op.getRing());
  layout::Swizzle swizzle = frag::swizzleOf(ring.type);
  unsigned step = 16 / swizzle.getElementBytes();
  size_t base = slotBase(ring, slotOf(warp.interp->getInt(op.getPos())));
  Access by = warp.lanesAccess(op);
  auto access = [&](unsigned row, bool write) -> LogicalResult {
    for (unsigned col = 0; col < swizzle.getCols(); col += step) {
      size_t at = base + swizzle.byteOffset(row, col);
      if (failed(write ? warp.machine.write(warp, op, at, 16, by)
                       : warp.machine.read(warp, op, at, 16, by)))
        return failure();
    }
    return success();
  };
  if (failed(rewriteRows(op, base, warp.inGroup(), warp.groupWarps, access,
                         *warp.interp, warp.cta.smem)))
    return failure();
  return warp.machine.yield();
}

/// The elements that cross lanes; the values are those of FragRewrite.cpp.
static LogicalResult passThrough(frag::RewriteTileOp op, Warp &warp) {
  if (!op.getScratch())
    return success();
  FragRing &ring = warp.interp->get<FragRing>(op.getScratch());
  layout::Swizzle swizzle = frag::swizzleOf(ring.type);
  unsigned rows = frag::RewriteTileOp::rowsAtATime(op.getTile().getType());
  unsigned own = warp.inGroup() + std::max(warp.rank, 0) * warp.groupWarps;
  unsigned step = 16 / swizzle.getElementBytes();
  warp.syncLanes();
  for (unsigned row = own * rows; row < (own + 1) * rows; ++row)
    for (unsigned col = 0; col < swizzle.getCols(); col += step) {
      size_t at = ring.base + swizzle.byteOffset(row, col);
      if (failed(warp.machine.write(warp, op, at, 16, warp.access(op))) ||
          failed(warp.machine.read(warp, op, at, 16, warp.access(op))))
        return failure();
    }
  return warp.machine.yield();
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

static LogicalResult declareRing(frag::SmemOp op, frag::RingType type,
                                 Warp &warp) {
  Cta &cta = warp.cta;
  std::shared_ptr<Object> &object = cta.objects[op];
  if (!object) {
    auto ring = std::make_shared<FragRing>();
    ring->name = op.getName().str();
    ring->type = type;
    int64_t begin = int32_t(op.getOffset()), end = begin + type.getBytes();
    if (begin < 0)
      return warp.machine.violate(Verdict::ResourceError, op,
                                  "ring '" + ring->name + "' has no offset");
    if (end > int64_t(cta.smem.size()))
      return warp.machine.violate(Verdict::ResourceError, op,
                                  "ring '" + ring->name + "' ends at byte " +
                                      Twine(end) + " but the kernel has " +
                                      Twine(cta.smem.size()));
    ring->base = size_t(begin);
    if (failed(addRegion(warp, op,
                         {Storage::Tiles, ring->name, ring->base,
                          size_t(type.getSlotBytes()), type.getSlots(),
                          op.getOverlay()})))
      return failure();
    object = ring;
  }
  warp.interp->set(op->getResult(0), Datum(object));
  return success();
}

LogicalResult attn::sim::runMachineOp(Operation *op, Warp &warp) {
  Interp &interp = *warp.interp;
  Machine &machine = warp.machine;
  if (auto smem = dyn_cast<frag::SmemOp>(op))
    return declareRing(smem, cast<frag::RingType>(op->getResult(0).getType()),
                       warp);
  if (auto copy = dyn_cast<frag::CpAsyncOp>(op))
    return startCopy(copy, warp);
  if (isa<frag::CpAsyncCommitOp>(op)) {
    warp.groups.push_back(std::move(warp.started));
    warp.started.clear();
    ++warp.closed;
    return success();
  }
  if (auto wait = dyn_cast<frag::CpAsyncWaitOp>(op))
    return waitCopies(wait, warp);
  if (isa<frag::CtaSyncOp>(op)) {
    bool flag = false;
    return machine.meet(warp, op, 0, warp.cta.warps.size(), flag);
  }
  if (auto load = dyn_cast<frag::LdmatrixOp>(op))
    return runLdmatrix(load, warp);
  if (auto mma = dyn_cast<frag::MmaOp>(op))
    return runMma(mma, warp);
  if (auto rewrite = dyn_cast<frag::RewriteRowsOp>(op))
    return rewriteSlot(rewrite, warp);
  if (auto rewrite = dyn_cast<frag::RewriteTileOp>(op);
      rewrite && failed(passThrough(rewrite, warp)))
    return failure();
  bool known = true;
  LogicalResult ran = runGroupOp(op, warp, known);
  if (known)
    return ran;
  if (isa<frag::StoreOp, frag::StoreVecOp>(op) && failed(machine.yield()))
    return failure();
  return runFragOp(op, interp);
}
