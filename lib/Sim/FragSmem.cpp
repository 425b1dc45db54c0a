//===- FragSmem.cpp - L3: shared memory, copies, MMA ----------------------===//
//
// A copy goes through four states; the bytes of its slot are NaN until the
// last:
//
//   cp_async -> commit -> wait (landed for the own thread) -> cta_sync
//   (visible)
//
// Operands of an MMA are gathered along ldmatrix: lane 8i + r gives the address
// of row r of matrix i; register i of lane l is made of elements 2 (l mod 4)
// and the next one of row l / 4, or of column l / 4 if transposed.
//
//===----------------------------------------------------------------------===//

#include "FragState.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void FragState::barrier() {
  for (Copy &copy : landed) {
    layout::Swizzle swizzle = frag::swizzleOf(copy.ring->type);
    unsigned bytes = swizzle.getElementBytes(), step = 16 / bytes;
    for (const RowCopy &row : copy.rows)
      for (unsigned col = 0; col < swizzle.getCols(); col += step) {
        uint8_t *to =
            smem.data() + row.target + swizzle.byteOffset(row.row, col);
        if (row.source && col < copy.memoryCols)
          std::memcpy(to, row.source + size_t(col) * bytes, 16);
        else
          std::memset(to, 0, 16);
      }
    --copy.ring->inFlight[copy.slot];
  }
  landed.clear();
  for (auto &ring : rings)
    ring->readSinceBarrier.assign(ring->readSinceBarrier.size(), false);
}

int64_t attn::sim::nextPos(int64_t pos, int32_t slots) {
  int32_t lap = lapOf(pos), slot = slotOf(pos) + 1;
  return slot == slots ? makePos(lap + 1, 0) : makePos(lap, slot);
}

static size_t slotBase(const FragRing &ring, int32_t slot) {
  frag::RingType type = ring.type;
  return ring.base + size_t(slot) * type.getSlotBytes();
}

static LogicalResult startCopy(frag::CpAsyncOp op, Interp &interp) {
  FragState &state = interp.state<FragState>();
  auto ring = interp.get(op.getRing()).share<FragRing>();
  int32_t slot = slotOf(interp.getInt(op.getPos()));
  if (ring->readSinceBarrier[slot])
    return interp.fail(op, "fills slot " + Twine(slot) + " of ring '" +
                               ring->name +
                               "' that was read since the last barrier");
  if (ring->inFlight[slot])
    return interp.fail(op, "fills slot " + Twine(slot) + " of ring '" +
                               ring->name +
                               "' while another copy into it is in flight");
  auto [it, fresh] = state.cache->programs.try_emplace(op);
  FragProgram &program = it->second;
  std::string error;
  if (fresh && !program.compile(op.getBody().front(), /*onFma=*/false, error))
    return interp.fail(op, error);
  std::vector<Word> slots(program.slotCount);
  program.capture(interp, slots.data());
  Copy copy;
  copy.ring = ring;
  copy.slot = slot;
  copy.memoryCols = op.getMemoryCols();
  size_t target = slotBase(*ring, slot);
  int64_t bytes = frag::bytesOf(ring->type.getElement());
  const char *base =
      reinterpret_cast<const char *>(interp.getInt(op.getBase()));
  for (int32_t row = 0; row < ring->type.getRows(); ++row) {
    slots[0] = Word::ofInt(row);
    program.run(slots.data());
    int64_t offset = slots[program.results[0]].i;
    const char *source = nullptr;
    if (slots[program.results[1]].i) {
      if (offset * bytes % 16)
        return interp.fail(op, "row " + Twine(row) + " starts at byte " +
                                   Twine(offset * bytes) +
                                   " which is not a multiple of 16");
      source = base + offset * bytes;
    }
    copy.rows.push_back({source, target, uint32_t(row)});
  }
  std::memset(state.smem.data() + target, 0xff, ring->type.getSlotBytes());
  ++ring->inFlight[slot];
  state.started.push_back(std::move(copy));
  return success();
}

/// Offset of a slot that may be read now.
static LogicalResult readSlot(Operation *op, mlir::Value ringValue,
                              mlir::Value pos, Interp &interp, size_t &base) {
  FragRing &ring = interp.get<FragRing>(ringValue);
  int32_t slot = slotOf(interp.getInt(pos));
  if (ring.inFlight[slot])
    return interp.fail(op, "reads slot " + Twine(slot) + " of ring '" +
                               ring.name +
                               "' before a wait and a barrier cover its copy");
  ring.readSinceBarrier[slot] = true;
  base = slotBase(ring, slot);
  return success();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Byte offsets in a slot of the registers that ldmatrix loads: for each thread
/// of `threads`, elements 2m and 2m + 1 of machine register m.
static std::vector<uint32_t> gather(const layout::Ldmatrix &load,
                                    const layout::Swizzle &swizzle,
                                    unsigned threads) {
  unsigned regs = load.getLayout().registersPerThread();
  std::vector<uint32_t> offsets(size_t(threads) * regs);
  for (unsigned t = 0; t < threads; ++t) {
    unsigned lane = t % layout::warpSize, warp = t - lane;
    for (unsigned j = 0; j < load.loads(); ++j)
      for (unsigned i = 0; i < 4; ++i)
        for (unsigned e = 0; e < 2; ++e) {
          // Row and element of matrix i that this lane receives.
          unsigned pair = 2 * (lane % 4) + e, other = lane / 4;
          unsigned row = load.isTransposed() ? pair : other;
          unsigned element = load.isTransposed() ? other : pair;
          layout::Coord start = load.address(warp + 8 * i + row, j);
          offsets[size_t(t) * regs + 2 * (4 * j + i) + e] =
              swizzle.byteOffset(start) + element * swizzle.getElementBytes();
        }
  }
  return offsets;
}

const std::vector<uint32_t> &
attn::sim::operandA(frag::RegType type, frag::RingType ring, FragCache &cache) {
  auto &offsets = cache.operandsA[type.getAsOpaquePointer()];
  if (offsets.empty())
    offsets = gather(frag::operandAOf(type), frag::swizzleOf(ring),
                     type.getLayout().getWarps() * layout::warpSize);
  return offsets;
}

/// By (k, n), from the registers of warp 0: all warps hold the same.
const std::vector<uint32_t> &attn::sim::operandB(frag::RingType ring,
                                                 frag::BOrder order,
                                                 unsigned rows, unsigned warps,
                                                 FragCache &cache) {
  auto &offsets = cache.operandsB[{ring.getAsOpaquePointer(), order, rows}];
  if (offsets.empty()) {
    layout::Ldmatrix load = frag::operandBOf(ring, order, rows, warps);
    const layout::Layout &b = load.getLayout();
    std::vector<uint32_t> held =
        gather(load, frag::swizzleOf(ring), layout::warpSize);
    offsets.assign(size_t(b.getRows()) * b.getCols(), 0);
    for (unsigned t = 0; t < layout::warpSize; ++t)
      for (unsigned r = 0; r < b.registersPerThread(); ++r) {
        layout::Coord c = b.coord(t, r);
        offsets[size_t(c.row) * b.getCols() + c.col] =
            held[size_t(t) * b.registersPerThread() + r];
      }
  }
  return offsets;
}

/// Operand A of all threads; null if it may not be read.
static std::shared_ptr<FragTile> readOperandA(Operation *op, frag::RegType type,
                                              mlir::Value ring, mlir::Value pos,
                                              Interp &interp) {
  FragState &state = interp.state<FragState>();
  size_t base;
  if (failed(readSlot(op, ring, pos, interp, base)))
    return nullptr;
  auto tile = std::make_shared<FragTile>();
  auto element = fragElement(type.getElement());
  for (uint32_t offset :
       operandA(type, cast<frag::RingType>(ring.getType()), *state.cache))
    tile->data.push_back(
        oracle::loadElement(element, state.smem.data() + base + offset, 0));
  return tile;
}

static LogicalResult runLdmatrix(frag::LdmatrixOp op, Interp &interp) {
  std::shared_ptr<FragTile> tile = readOperandA(
      op, op.getResult().getType(), op.getRing(), op.getPos(), interp);
  if (!tile)
    return failure();
  interp.set(op.getResult(), Datum(std::shared_ptr<Object>(tile)));
  return success();
}

static LogicalResult runMma(frag::MmaOp op, Interp &interp) {
  FragState &state = interp.state<FragState>();
  size_t base;
  if (failed(readSlot(op, op.getRing(), op.getPos(), interp, base)))
    return failure();
  frag::RegType aType = op.getAFragments(), cType = op.getResult().getType();
  std::shared_ptr<FragTile> read;
  if (op.getAPos() &&
      !(read = readOperandA(op, aType, op.getA(), op.getAPos(), interp)))
    return failure();
  unsigned m = aType.getRows(), k = aType.getCols(), n = cType.getCols();
  if (op.getPart()) // groups of warps are not in step
    return interp.fail(op, "cannot be interpreted");
  const auto &offsets =
      operandB(op.getRing().getType(), op.getBOrder(), unsigned(op.getBRows()),
               aType.getLayout().getWarps(), *state.cache);
  auto element = fragElement(aType.getElement());
  std::vector<float> b(size_t(k) * n), a(size_t(m) * k), c(size_t(m) * n);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] =
        oracle::loadElement(element, state.smem.data() + base + offsets[i], 0);
  const TileShape aShape = state.shapeOf(aType);
  const TileShape cShape = state.shapeOf(cType);
  const FragTile &aTile = read ? *read : interp.get<FragTile>(op.getA());
  for (size_t i = 0; i < aTile.data.size(); ++i)
    a[size_t(aShape.row[i]) * k + aShape.col[i]] = aTile.data[i];
  if (op.getAcc()) {
    const FragTile &acc = interp.get<FragTile>(op.getAcc());
    for (size_t i = 0; i < acc.data.size(); ++i)
      c[size_t(cShape.row[i]) * n + cShape.col[i]] = acc.data[i];
  }
  for (unsigned row = 0; row < m; ++row)
    for (unsigned x = 0; x < k; ++x) {
      float f = a[size_t(row) * k + x];
      const float *from = b.data() + size_t(x) * n;
      float *to = c.data() + size_t(row) * n;
      for (unsigned col = 0; col < n; ++col)
        to[col] += f * from[col];
    }
  auto tile = std::make_shared<FragTile>();
  tile->data.resize(cShape.row.size());
  for (size_t i = 0; i < tile->data.size(); ++i)
    tile->data[i] = c[size_t(cShape.row[i]) * n + cShape.col[i]];
  interp.set(op.getResult(), Datum(std::shared_ptr<Object>(tile)));
  return success();
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

LogicalResult attn::sim::runFragSmemOp(Operation *op, Interp &interp) {
  FragState &state = interp.state<FragState>();
  if (auto smem = dyn_cast<frag::SmemOp>(op)) {
    auto ring = std::make_shared<FragRing>();
    ring->name = smem.getName().str();
    ring->type = smem.getRing().getType();
    int64_t base = int32_t(smem.getOffset());
    int64_t end = base + ring->type.getBytes();
    if (base < 0)
      return interp.fail(op, "ring '" + ring->name + "' has no offset");
    if (end > int64_t(state.smem.size()))
      return interp.fail(op, "ring '" + ring->name + "' ends at byte " +
                                 Twine(end) + " but the kernel has " +
                                 Twine(state.smem.size()));
    ring->base = base;
    ring->readSinceBarrier.assign(ring->type.getSlots(), false);
    ring->inFlight.assign(ring->type.getSlots(), 0);
    state.rings.push_back(ring);
    interp.set(smem.getRing(), Datum(std::shared_ptr<Object>(ring)));
    return success();
  }
  if (auto pos = dyn_cast<frag::PosOp>(op)) {
    interp.set(pos.getResult(),
               Datum::ofInt(makePos(-int32_t(pos.getPhase() & 1), 0)));
    return success();
  }
  if (auto next = dyn_cast<frag::NextOp>(op)) {
    interp.set(next.getResult(),
               Datum::ofInt(nextPos(interp.getInt(next.getPos()),
                                    next.getPos().getType().getSlots())));
    return success();
  }
  if (auto copy = dyn_cast<frag::CpAsyncOp>(op))
    return startCopy(copy, interp);
  if (isa<frag::CpAsyncCommitOp>(op)) {
    state.groups.push_back(std::move(state.started));
    state.started.clear();
    return success();
  }
  if (auto wait = dyn_cast<frag::CpAsyncWaitOp>(op)) {
    while (state.groups.size() > size_t(wait.getPending())) {
      for (Copy &copy : state.groups.front())
        state.landed.push_back(std::move(copy));
      state.groups.erase(state.groups.begin());
    }
    return success();
  }
  if (isa<frag::CtaSyncOp>(op)) {
    state.barrier();
    return success();
  }
  if (auto load = dyn_cast<frag::LdmatrixOp>(op))
    return runLdmatrix(load, interp);
  if (auto rewrite = dyn_cast<frag::RewriteRowsOp>(op)) {
    size_t base;
    if (failed(readSlot(op, rewrite.getRing(), rewrite.getPos(), interp, base)))
      return failure();
    return rewriteRows(
        rewrite, base, /*first=*/0, /*step=*/1,
        [](unsigned, bool) { return success(); }, interp, state.smem);
  }
  return runMma(cast<frag::MmaOp>(op), interp);
}
