//===- FragTiles.cpp - L3: register tiles and row vectors -----------------===//
//
// Every op runs over [thread][register]; what threads exchange they exchange
// along the lane masks of the layout:
//
//   frag.reduce_row sum row:  own registers first, then lanes ^ 1, lanes ^ 2
//
//===----------------------------------------------------------------------===//

#include "FragState.h"
#include "attn/Target/Exp2.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::sim;

static std::shared_ptr<FragTile> newTile(const TileShape &shape) {
  auto tile = std::make_shared<FragTile>();
  tile->data.resize(size_t(shape.threads) * shape.regs);
  return tile;
}

static std::shared_ptr<FragVec> newVec(const TileShape &shape) {
  auto vec = std::make_shared<FragVec>();
  vec->data.resize(size_t(shape.threads) * shape.rows);
  return vec;
}

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

static LogicalResult runMap(frag::MapOp op, Interp &interp) {
  FragState &state = interp.state<FragState>();
  auto [it, fresh] = state.cache->programs.try_emplace(op);
  FragProgram &program = it->second;
  std::string error;
  Block &body = op.getBody().front();
  if (fresh && !program.compile(body, /*onFma=*/false, error))
    return interp.fail(op, error);
  unsigned share = op.getExp2Fma().value_or(0);
  FragProgram &onFma =
      share ? state.cache->fmaPrograms.try_emplace(op).first->second : program;
  if (share && onFma.steps.empty() && !onFma.compile(body, true, error))
    return interp.fail(op, error);
  std::optional<layout::Layout> columns;

  Type tileType;
  SmallVector<Type> types(op.getInputs().getTypes());
  llvm::append_range(types, op.getResultTypes());
  for (Type type : types)
    if (isa<frag::RegType>(type))
      tileType = type;
  if (share)
    columns = frag::layoutOf(cast<frag::RegType>(tileType));
  const TileShape shape =
      state.shapeOf(tileType ? tileType : op.getResultTypes()[0]);
  unsigned perThread = tileType ? shape.regs : shape.rows;

  std::vector<Word> slots(program.slotCount);
  program.capture(interp, slots.data());
  struct Input {
    const float *tile;
    const Word *vec;
  };
  SmallVector<Input> inputs;
  for (mlir::Value value : op.getInputs())
    inputs.push_back(
        isa<frag::RegType>(value.getType())
            ? Input{interp.get<FragTile>(value).data.data(), nullptr}
            : Input{nullptr, interp.get<FragVec>(value).data.data()});
  struct Output {
    std::shared_ptr<FragTile> tile;
    std::shared_ptr<FragVec> vec;
  };
  SmallVector<Output> outputs;
  for (Type type : op.getResultTypes())
    outputs.push_back(isa<frag::RegType>(type)
                          ? Output{newTile(shape), nullptr}
                          : Output{nullptr, newVec(shape)});

  for (unsigned t = 0; t < shape.threads; ++t)
    for (unsigned r = 0; r < perThread; ++r) {
      size_t at = size_t(t) * perThread + r;
      unsigned rowSlot = tileType ? shape.slot[r] : r;
      for (auto [i, input] : llvm::enumerate(inputs))
        slots[i] = input.tile ? Word::ofFloat(input.tile[at])
                              : input.vec[size_t(t) * shape.rows + rowSlot];
      if (tileType) {
        slots[inputs.size()] = Word::ofInt(shape.row[at]);
        slots[inputs.size() + 1] = Word::ofInt(shape.col[at]);
      } else {
        slots[inputs.size()] = Word::ofInt(shape.slotRow[at]);
      }
      bool moved = share && exp2fma::isOnFma(columns->colSlot(r), share);
      (moved ? onFma : program).run(slots.data());
      for (auto [i, output] : llvm::enumerate(outputs)) {
        Word value = slots[program.results[i]];
        if (output.tile)
          output.tile->data[at] = value.f;
        else
          output.vec->data[at] = value;
      }
    }
  for (auto [result, output] : llvm::zip(op.getResults(), outputs))
    interp.set(result, output.tile
                           ? Datum(std::shared_ptr<Object>(output.tile))
                           : Datum(std::shared_ptr<Object>(output.vec)));
  return success();
}

static LogicalResult keepColumns(frag::KeepColumnsOp op, Interp &interp) {
  const TileShape &shape =
      interp.state<FragState>().shapeOf(op.getTile().getType());
  int32_t cols = op.getTile().getType().getCols();
  auto tile = std::make_shared<FragTile>(interp.get<FragTile>(op.getTile()));
  const FragVec &hi = interp.get<FragVec>(op.getHi());
  const FragVec *lo = op.getLo() ? &interp.get<FragVec>(op.getLo()) : nullptr;
  float fill = interp.get(op.getFill()).word().f;
  for (unsigned t = 0; t < shape.threads; ++t)
    for (unsigned r = 0; r < shape.regs; ++r) {
      size_t at = size_t(t) * shape.regs + r;
      size_t row = size_t(t) * shape.rows + shape.slot[r];
      int32_t begin = lo ? lo->data[row].i : 0, end = hi.data[row].i;
      if (begin < 0 || end < 0 || begin > cols || end > cols)
        return interp.fail(op, "limits " + Twine(begin) + " and " + Twine(end) +
                                   " of " + Twine(cols) + " columns");
      if (shape.col[at] < begin || shape.col[at] >= end)
        tile->data[at] = fill;
    }
  interp.set(op.getResult(), Datum(std::shared_ptr<Object>(tile)));
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static float combine(frag::ReduceKind kind, float a, float b) {
  return kind == frag::ReduceKind::Max ? std::fmax(a, b) : a + b;
}

/// Adds up (or takes the maximum of) the lanes that share a row.
static void butterfly(const TileShape &shape, frag::ReduceKind kind,
                      std::vector<Word> &data) {
  for (unsigned mask : shape.laneMasks) {
    std::vector<Word> before = data;
    for (unsigned t = 0; t < shape.threads; ++t)
      for (unsigned i = 0; i < shape.rows; ++i)
        data[t * shape.rows + i].f =
            combine(kind, before[t * shape.rows + i].f,
                    before[(t ^ mask) * shape.rows + i].f);
  }
}

static void reduceRow(frag::ReduceRowOp op, Interp &interp) {
  FragState &state = interp.state<FragState>();
  const TileShape shape = state.shapeOf(op.getTile().getType());
  const FragTile &tile = interp.get<FragTile>(op.getTile());
  auto vec = newVec(shape);
  bool max = op.getKind() == frag::ReduceKind::Max;
  for (Word &word : vec->data)
    word = Word::ofFloat(max ? -std::numeric_limits<float>::infinity() : 0);
  for (unsigned t = 0; t < shape.threads; ++t)
    for (unsigned r = 0; r < shape.regs; ++r) {
      float &f = vec->data[t * shape.rows + shape.slot[r]].f;
      f = combine(op.getKind(), f, tile.data[size_t(t) * shape.regs + r]);
    }
  if (op.getScope() == frag::ReduceScope::Row)
    butterfly(shape, op.getKind(), vec->data);
  interp.set(op.getResult(), Datum(std::shared_ptr<Object>(vec)));
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// Calls fn(element address, tile index) for each element of the mask's rows
/// and memory's columns.
template <class Op, class Fn>
static LogicalResult forElements(Op op, frag::RegType type, Interp &interp,
                                 Fn fn) {
  FragState &state = interp.state<FragState>();
  const TileShape shape = state.shapeOf(type);
  bool write = std::is_same_v<Op, frag::StoreOp>;
  const FragVec &offset = interp.get<FragVec>(op.getOffsets());
  const FragVec &live = interp.get<FragVec>(op.getMask());
  char *memory = reinterpret_cast<char *>(interp.getInt(op.getBase()));
  int32_t cols = int32_t(op.getCols().value_or(type.getCols()));
  unsigned bytes = frag::bytesOf(type.getElement());
  for (unsigned t = 0; t < shape.threads; ++t)
    for (unsigned r = 0; r < shape.regs; ++r) {
      size_t at = size_t(t) * shape.regs + r;
      size_t row = size_t(t) * shape.rows + shape.slot[r];
      if (!live.data[row].i || int32_t(shape.col[at]) >= cols)
        continue;
      if (!memory)
        return interp.fail(op, "goes through a null pointer");
      char *address = memory + (offset.data[row].i + shape.col[at]) * bytes;
      if (state.onGlobal && failed(state.onGlobal(op, address, bytes, write)))
        return failure();
      fn(address, at);
    }
  return success();
}

/// The same for the rows of a vector; `once` for one lane a row.
template <class Fn>
static LogicalResult forRows(Operation *op, frag::VecType type,
                             mlir::Value base, mlir::Value offsets,
                             mlir::Value mask, Interp &interp, bool once,
                             Fn fn) {
  FragState &state = interp.state<FragState>();
  const TileShape shape = state.shapeOf(type);
  const FragVec &offset = interp.get<FragVec>(offsets);
  const FragVec &live = interp.get<FragVec>(mask);
  char *memory = reinterpret_cast<char *>(interp.getInt(base));
  unsigned bytes = frag::bytesOf(type.getElement());
  for (unsigned t = 0; t < shape.threads; ++t) {
    if (once && shape.col[size_t(t) * shape.regs] != 0)
      continue;
    for (unsigned i = 0; i < shape.rows; ++i) {
      size_t at = size_t(t) * shape.rows + i;
      if (!live.data[at].i)
        continue;
      if (!memory)
        return interp.fail(op, "goes through a null pointer");
      char *address = memory + offset.data[at].i * bytes;
      if (state.onGlobal && failed(state.onGlobal(op, address, bytes, once)))
        return failure();
      fn(address, at);
    }
  }
  return success();
}

static void storeWord(Type type, char *at, Word word) {
  if (isa<FloatType>(type)) {
    oracle::storeElement(fragElement(type), at, 0, word.f);
  } else if (type.isInteger(64)) {
    std::memcpy(at, &word.i, sizeof(int64_t));
  } else if (type.isInteger(1)) {
    *at = char(word.i);
  } else {
    int32_t value = int32_t(word.i);
    std::memcpy(at, &value, sizeof(value));
  }
}

static LogicalResult runMemory(Operation *op, Interp &interp) {
  if (auto load = dyn_cast<frag::LoadOp>(op)) {
    auto type = load.getResult().getType();
    auto tile = newTile(interp.state<FragState>().shapeOf(type));
    auto element = fragElement(type.getElement());
    if (failed(forElements(
            load, type, interp, [&](const char *address, size_t at) {
              tile->data[at] = oracle::loadElement(element, address, 0);
            })))
      return failure();
    interp.set(load.getResult(), Datum(std::shared_ptr<Object>(tile)));
    return success();
  }
  if (auto store = dyn_cast<frag::StoreOp>(op)) {
    const FragTile &tile = interp.get<FragTile>(store.getTile());
    auto type = store.getTile().getType();
    auto element = fragElement(type.getElement());
    return forElements(store, type, interp, [&](char *address, size_t at) {
      oracle::storeElement(element, address, 0, tile.data[at]);
    });
  }
  if (auto load = dyn_cast<frag::LoadVecOp>(op)) {
    auto type = load.getResult().getType();
    auto vec = newVec(interp.state<FragState>().shapeOf(type));
    if (failed(forRows(op, type, load.getBase(), load.getOffsets(),
                       load.getMask(), interp, /*once=*/false,
                       [&](const char *address, size_t at) {
                         vec->data[at] = loadWord(type.getElement(), address);
                       })))
      return failure();
    interp.set(load.getResult(), Datum(std::shared_ptr<Object>(vec)));
    return success();
  }
  auto store = cast<frag::StoreVecOp>(op);
  const FragVec &vec = interp.get<FragVec>(store.getVec());
  auto type = store.getVec().getType();
  return forRows(op, type, store.getBase(), store.getOffsets(), store.getMask(),
                 interp, /*once=*/true, [&](char *address, size_t at) {
                   storeWord(type.getElement(), address, vec.data[at]);
                 });
}

//===----------------------------------------------------------------------===//
// The layout change
//===----------------------------------------------------------------------===//

static void transposeQuads(frag::QuadTransposeOp op, Interp &interp) {
  FragState &state = interp.state<FragState>();
  const TileShape source = state.shapeOf(op.getTile().getType());
  const TileShape target = state.shapeOf(op.getResult().getType());
  const FragTile &tile = interp.get<FragTile>(op.getTile());
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, float> elements;
  for (size_t i = 0; i < tile.data.size(); ++i)
    elements[{source.row[i], source.col[i]}] = tile.data[i];
  auto result = newTile(target);
  for (size_t i = 0; i < target.row.size(); ++i)
    result->data[i] = elements.lookup({target.row[i], target.col[i]});
  interp.set(op.getResult(), Datum(std::shared_ptr<Object>(result)));
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

LogicalResult attn::sim::runFragTileOp(Operation *op, Interp &interp) {
  FragState &state = interp.state<FragState>();
  if (auto map = dyn_cast<frag::MapOp>(op))
    return runMap(map, interp);
  if (auto splat = dyn_cast<frag::SplatOp>(op)) {
    Type type = splat.getResult().getType();
    const TileShape &shape = state.shapeOf(type);
    Word word = interp.get(splat.getValue()).word();
    if (isa<frag::RegType>(type)) {
      auto tile = newTile(shape);
      std::fill(tile->data.begin(), tile->data.end(), word.f);
      interp.set(splat.getResult(), Datum(std::shared_ptr<Object>(tile)));
    } else {
      auto vec = newVec(shape);
      // A scalar as a sum of shares: one lane holds it.
      bool partial = cast<frag::VecType>(type).getPartial();
      for (unsigned t = 0; t < shape.threads; ++t)
        for (unsigned i = 0; i < shape.rows; ++i)
          vec->data[t * shape.rows + i] =
              partial && shape.col[size_t(t) * shape.regs] != 0
                  ? Word::ofFloat(0)
                  : word;
      interp.set(splat.getResult(), Datum(std::shared_ptr<Object>(vec)));
    }
    return success();
  }
  if (auto keep = dyn_cast<frag::KeepColumnsOp>(op))
    return keepColumns(keep, interp);
  if (auto rewrite = dyn_cast<frag::RewriteTileOp>(op))
    return rewriteTile(rewrite, interp);
  if (auto reduce = dyn_cast<frag::ReduceRowOp>(op)) {
    reduceRow(reduce, interp);
    return success();
  }
  if (auto reduce = dyn_cast<frag::ReduceQuadOp>(op)) {
    const TileShape shape = state.shapeOf(reduce.getVec().getType());
    auto vec = std::make_shared<FragVec>(interp.get<FragVec>(reduce.getVec()));
    butterfly(shape, frag::ReduceKind::Sum, vec->data);
    interp.set(reduce.getResult(), Datum(std::shared_ptr<Object>(vec)));
    return success();
  }
  if (auto any = dyn_cast<frag::AnyOp>(op)) {
    bool found = false;
    for (Word word : interp.get<FragVec>(any.getVec()).data)
      found |= word.i != 0;
    if (any.getScope() != frag::VoteScope::Warp)
      state.barrier();
    interp.set(any.getResult(), Datum::ofInt(found));
    return success();
  }
  if (auto pack = dyn_cast<frag::PackOp>(op)) {
    // Registers stay where they are: the verifier compared the layouts.
    auto tile =
        std::make_shared<FragTile>(interp.get<FragTile>(pack.getTile()));
    Type element = pack.getResult().getType().getElement();
    for (float &f : tile->data)
      f = roundToType(element, f);
    interp.set(pack.getResult(), Datum(std::shared_ptr<Object>(tile)));
    return success();
  }
  if (auto transpose = dyn_cast<frag::QuadTransposeOp>(op)) {
    transposeQuads(transpose, interp);
    return success();
  }
  if (isa<frag::LoadOp, frag::StoreOp, frag::LoadVecOp, frag::StoreVecOp>(op))
    return runMemory(op, interp);
  return interp.fail(op, "cannot be interpreted");
}
