//===- AttnInterp.cpp - tile ops of levels L1 and L2 ----------------------===//
//
// The handler of the attn dialect: work loops, the loop over key blocks, the
// parts of the state.  Memory is in AttnMemory.cpp, hooks in AttnHooks.cpp.
//
//   attn.for_work  ->  items cta, cta + ctas, ... of the plan
//
// Invariant: a kernel runs from its parameter struct alone.
//
//===----------------------------------------------------------------------===//

#include "AttnInterp.h"

#include "attn/Dialect/Pipe/IR/Pipe.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::sim;

oracle::Element attn::sim::elementOf(Type type) {
  return type.isBF16()  ? oracle::Element::BF16
         : type.isF16() ? oracle::Element::F16
                        : oracle::Element::F32;
}

Tile *attn::sim::tileOf(Operation *op, mlir::Value value, Interp &interp) {
  Tile *tile = &interp.get<Tile>(value);
  const Tile *source = tile->whole ? tile->whole.get() : tile;
  if (!source->released.empty()) {
    (void)interp.fail(op, "reads " + source->released + " after its release",
                      Verdict::Race);
    return nullptr;
  }
  return tile;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// Fields of record `index`: 8 of an item, 6 of a merge record.
static LogicalResult loadFields(Operation *op, const PlanHandle &plan,
                                bool merges, int64_t index,
                                SmallVectorImpl<Datum> &fields,
                                Interp &interp) {
  const attn_plan_header &header = *plan.header;
  int64_t count = merges ? header.merges : header.items;
  if (!merges && index < 0) {
    for (int i = 0; i < 8; ++i)
      fields.push_back(Datum::ofInt(i == 6 ? -1 : 0)); // slot
    return success();
  }
  if (!merges)
    index &= (int64_t(1) << 30) - 1;
  if (index < 0 || index >= count)
    return interp.fail(op, "reads record " + Twine(index) +
                               " but the plan has " + Twine(count));
  int32_t words[8];
  const char *from = plan.bytes() +
                     (merges ? header.merges_offset : header.items_offset) +
                     index * 32;
  std::memcpy(words, from, sizeof(words));
  for (int i = 0; i < (merges ? 6 : 8); ++i)
    fields.push_back(Datum::ofInt(words[i]));
  return success();
}

static LogicalResult forWork(Operation *op, mlir::Value planValue, Region &body,
                             bool merges, Interp &interp) {
  const PlanHandle &plan = interp.get<PlanHandle>(planValue);
  int64_t count = merges ? plan.header->merges : plan.header->items;
  for (int64_t i = interp.cta(); i < count; i += interp.ctas()) {
    SmallVector<Datum> fields;
    if (failed(loadFields(op, plan, merges, i, fields, interp)) ||
        failed(interp.run(body, fields)))
      return failure();
  }
  return success();
}

static LogicalResult request(RequestOp op, Interp &interp) {
  const PlanHandle &plan = interp.get<PlanHandle>(op.getPlan());
  int64_t index = interp.getInt(op.getRequest());
  if (index == 0 && plan.header->requests == 0) {
    // Of the inert item in an empty batch.
    for (mlir::Value result : op->getResults())
      interp.set(result, Datum::ofInt(0));
    return success();
  }
  if (index < 0 || index >= int64_t(plan.header->requests))
    return interp.fail(op, "reads request " + Twine(index) +
                               " but the plan has " +
                               Twine(plan.header->requests));
  attn_request_record record;
  std::memcpy(&record,
              plan.bytes() + plan.header->requests_offset +
                  index * sizeof(record),
              sizeof(record));
  interp.set(op.getQBegin(), Datum::ofInt(record.q_begin));
  interp.set(op.getQLen(), Datum::ofInt(record.q_len));
  interp.set(op.getKvBegin(), Datum::ofInt(record.kv_begin));
  interp.set(op.getKvLen(), Datum::ofInt(record.kv_len));
  return success();
}

static LogicalResult forKV(ForKVOp op, Interp &interp) {
  int64_t lo = interp.getInt(op.getLo()), hi = interp.getInt(op.getHi());
  int64_t base = interp.getInt(op.getBase());
  bool descending = op.getOrder() == KVOrder::Descending;
  SmallVector<Datum> state, results;
  for (mlir::Value init : op.getInits())
    state.push_back(Datum(interp.get(init)));
  for (int64_t t = lo; t < hi; ++t) {
    int64_t j = descending ? lo + hi - 1 - t : t;
    SmallVector<Datum> args{Datum::ofInt(j),
                            Datum::ofInt(base + j * op.getTileK())};
    llvm::append_range(args, state);
    if (failed(interp.turn(op)) ||
        failed(interp.run(op->getRegion(0), args, results)))
      return failure();
    state.assign(results.begin(), results.end());
  }
  for (auto [result, datum] : llvm::zip_equal(op->getResults(), state))
    interp.set(result, datum);
  return success();
}

static LogicalResult speculate(SpeculateOp op, Interp &interp) {
  bool exact = interp.options().forceExact;
  SmallVector<Datum> state, verdict;
  if (failed(interp.run(op.getBody(), {Datum::ofInt(exact)}, state)))
    return failure();
  if (!exact) {
    if (failed(interp.run(op.getCheck(), state, verdict)))
      return failure();
    if (!verdict.front().asInt() &&
        failed(interp.run(op.getBody(), {Datum::ofInt(1)}, state)))
      return failure();
  }
  for (auto [result, datum] : llvm::zip_equal(op->getResults(), state))
    interp.set(result, datum);
  return success();
}

//===----------------------------------------------------------------------===//
// The state's parts
//===----------------------------------------------------------------------===//

static LogicalResult stateInit(StateInitOp op, Interp &interp) {
  bool first = true; // of the vectors: m, then l
  for (mlir::Value result : op->getResults()) {
    Type type = result.getType();
    if (auto tile = dyn_cast<TileType>(type)) {
      interp.set(result, Datum::make<Tile>(tile.getRows(), tile.getCols()));
    } else if (auto vec = dyn_cast<RowVecType>(type)) {
      float fill = first ? -std::numeric_limits<float>::infinity() : 0.0f;
      first = false;
      interp.set(result, Datum::make<RowVec>(vec.getRows(), fill));
    } else {
      return interp.fail(op, "state must be expanded to its parts");
    }
  }
  return success();
}

static LogicalResult exactPrefix(ExactPrefixOp op, Interp &interp) {
  constexpr float limit = 536870912.0f; // 2^29
  int64_t blocks = interp.getInt(op.getHi()) - interp.getInt(op.getLo());
  bool all = interp.getInt(op.getExact()) || interp.options().forceExact;
  const RowVec &m = interp.get<RowVec>(op.getM());
  const RowMap &map = interp.get<RowMap>(op.getRows());
  float c = interp.getFloat(op.getC());
  bool some = false;
  for (auto [r, row] : llvm::enumerate(map.rows))
    some |= row.live && !(std::fabs(c * m.data[r]) < limit);
  int64_t result = all ? blocks : some ? std::min<int64_t>(1, blocks) : 0;
  interp.set(op.getResult(), Datum::ofInt(result));
  return success();
}

static LogicalResult check(CheckOp op, Interp &interp) {
  Tile *o = tileOf(op, op.getO(), interp);
  if (!o)
    return failure();
  const RowVec &l = interp.get<RowVec>(op.getL());
  const RowMap &map = interp.get<RowMap>(op.getRows());
  float limit = std::ldexp(1.0f, op.getLimit());
  bool ok = true;
  for (auto [r, row] : llvm::enumerate(map.rows)) {
    if (!row.live || (op.getSettled() && std::isnan(l.data[r])))
      continue;
    ok &= l.data[r] < limit;
    for (int32_t d = 0; d < o->cols; ++d)
      ok &= std::isfinite(o->row(r)[d]);
  }
  if (interp.options().forceExact)
    ok = true;
  else if (interp.options().failCheck)
    ok = false;
  interp.set(op.getResult(), Datum::ofInt(ok));
  return success();
}

static LogicalResult checkSums(CheckSumsOp op, Interp &interp) {
  const RowVec &l = interp.get<RowVec>(op.getL());
  const RowMap &map = interp.get<RowMap>(op.getRows());
  float limit = std::ldexp(1.0f, op.getLimit());
  bool ok = true;
  for (auto [r, row] : llvm::enumerate(map.rows))
    ok &= !row.live || l.data[r] < limit;
  interp.set(op.getResult(), Datum::ofInt(ok));
  return success();
}

/// Ops on tiles and vectors; null result if `op` is not one.
static LogicalResult runTileOp(Operation *op, Interp &interp) {
  auto vec = [&](mlir::Value v) -> const RowVec & {
    return interp.get<RowVec>(v);
  };
  auto newTile = [](mlir::Value v) {
    auto type = cast<TileType>(v.getType());
    return std::make_shared<Tile>(type.getRows(), type.getCols());
  };
  auto newVec = [](mlir::Value v) {
    return std::make_shared<RowVec>(cast<RowVecType>(v.getType()).getRows());
  };
  // Every tile operand must still be there.
  for (mlir::Value operand : op->getOperands())
    if (isa<TileType>(operand.getType()) && !tileOf(op, operand, interp))
      return failure();
  auto tile = [&](mlir::Value v) -> const Tile & {
    return interp.get<Tile>(v);
  };

  if (auto x = dyn_cast<QKOp>(op)) {
    auto out = newTile(x.getResult());
    productNK(tile(x.getQuery()), tile(x.getKey()), *out);
    interp.set(x.getResult(), Datum(out));
  } else if (auto x = dyn_cast<PVOp>(op)) {
    auto out = std::make_shared<Tile>(tile(x.getAcc()));
    productKN(tile(x.getP()), tile(x.getValue()), *out);
    interp.set(x.getResult(), Datum(out));
  } else if (auto x = dyn_cast<RowMaxOp>(op)) {
    auto out = newVec(x.getResult());
    rowMax(tile(x.getTile()), vec(x.getM()), *out);
    interp.set(x.getResult(), Datum(out));
  } else if (auto x = dyn_cast<LazyMaxOp>(op)) {
    auto out = newVec(x.getResult());
    lazyMax(tile(x.getTile()), vec(x.getM()), interp.getFloat(x.getC()),
            x.getThreshold(), *out);
    interp.set(x.getResult(), Datum(out));
  } else if (auto x = dyn_cast<AlphaOp>(op)) {
    auto out = newVec(x.getResult());
    alpha(vec(x.getM()), vec(x.getMNew()), interp.getFloat(x.getC()), *out);
    interp.set(x.getResult(), Datum(out));
  } else if (auto x = dyn_cast<ExpOp>(op)) {
    auto out = newTile(x.getResult());
    expTile(tile(x.getTile()), vec(x.getM()), interp.getFloat(x.getC()),
            x.getReference() == Reference::Frozen, *out);
    interp.set(x.getResult(), Datum(out));
  } else if (auto x = dyn_cast<RowSumOp>(op)) {
    auto out = newVec(x.getResult());
    rowSum(tile(x.getTile()), vec(x.getL()),
           x.getAlpha() ? &vec(x.getAlpha()) : nullptr, *out);
    interp.set(x.getResult(), Datum(out));
  } else if (auto x = dyn_cast<RescaleOp>(op)) {
    auto out = newTile(x.getResult());
    rescale(tile(x.getTile()), vec(x.getFactor()), *out);
    interp.set(x.getResult(), Datum(out));
  } else if (auto x = dyn_cast<PackOp>(op)) {
    auto out = std::make_shared<Tile>(tile(x.getTile()));
    oracle::Element element =
        elementOf(cast<TileType>(x.getResult().getType()).getElement());
    for (float &v : out->data)
      v = oracle::roundTo(element, v);
    interp.set(x.getResult(), Datum(out));
  } else if (auto x = dyn_cast<FinishOp>(op)) {
    auto out = newTile(x.getTile());
    auto lse = newVec(x.getRowLse());
    finish(tile(x.getO()), vec(x.getM()), vec(x.getL()),
           interp.getFloat(x.getC()), x.getSink() ? &vec(x.getSink()) : nullptr,
           *out, *lse);
    interp.set(x.getTile(), Datum(out));
    interp.set(x.getRowLse(), Datum(lse));
  } else if (auto x = dyn_cast<MergeStateOp>(op)) {
    auto o = newTile(x.getO());
    auto m = newVec(x.getM()), l = newVec(x.getL());
    mergeState({tile(x.getOA()), vec(x.getMA()), vec(x.getLA())},
               {tile(x.getOB()), vec(x.getMB()), vec(x.getLB())},
               interp.getFloat(x.getC()), *o, *m, *l);
    interp.set(x.getO(), Datum(o));
    interp.set(x.getM(), Datum(m));
    interp.set(x.getL(), Datum(l));
  } else if (auto x = dyn_cast<AddTileOp>(op)) {
    auto out = std::make_shared<Tile>(tile(x.getA()));
    const Tile &b = tile(x.getB());
    for (size_t i = 0; i < b.data.size(); ++i)
      out->data[i] += b.data[i];
    interp.set(x.getTile(), Datum(out));
  } else {
    return interp.fail(op, "cannot be interpreted");
  }
  return success();
}

LogicalResult attn::sim::runAttnOp(Operation *op, Interp &interp) {
  if (isa<VariantOp, TableOp>(op))
    return success();
  if (isa<ParamOp>(op)) {
    ExternFn read = resolveHookOp(op, interp);
    if (!read)
      return interp.fail(op, "names a parameter that the variant lacks");
    interp.set(op->getResult(0), Datum(read(nullptr)));
    return success();
  }
  if (auto work = dyn_cast<ForWorkOp>(op))
    return forWork(op, work.getPlan(), work.getBody(), false, interp);
  if (auto work = dyn_cast<ForMergeOp>(op))
    return forWork(op, work.getPlan(), work.getBody(), true, interp);
  if (auto item = dyn_cast<LoadItemOp>(op)) {
    SmallVector<Datum> fields;
    if (failed(loadFields(op, interp.get<PlanHandle>(item.getPlan()),
                          item.getNumResults() == 6,
                          interp.getInt(item.getIndex()), fields, interp)))
      return failure();
    for (auto [result, datum] : llvm::zip_equal(op->getResults(), fields))
      interp.set(result, datum);
    return success();
  }
  if (auto x = dyn_cast<RequestOp>(op))
    return request(x, interp);
  if (auto x = dyn_cast<RowMapOp>(op)) {
    auto word = [&](mlir::Value v) { return int32_t(interp.getInt(v)); };
    interp.set(x.getResult(),
               Datum::make<RowMap>(makeRowMap(
                   word(x.getRequest()), word(x.getHead()), word(x.getRow0()),
                   word(x.getNrows()), word(x.getQBegin()), word(x.getQLen()),
                   word(x.getKvLen()), x.getPack(),
                   cast<RowsType>(x.getResult().getType()).getRows())));
    return success();
  }
  if (auto x = dyn_cast<SliceRowsOp>(op)) {
    auto map = std::make_shared<RowMap>(interp.get<RowMap>(x.getRows()));
    int64_t n = x.getResult().getType().getRows();
    int64_t from = interp.getInt(x.getRank()) * n;
    if (from < 0 || from + n > int64_t(map->rows.size()))
      return interp.fail(op, "takes rows from " + Twine(from) + " of " +
                                 Twine(map->rows.size()));
    map->rows.assign(map->rows.begin() + from, map->rows.begin() + from + n);
    map->first += int32_t(from);
    interp.set(x.getResult(), Datum(std::shared_ptr<Object>(map)));
    return success();
  }
  if (auto x = dyn_cast<SliceTileOp>(op)) {
    if (!tileOf(op, x.getTile(), interp))
      return failure();
    auto whole = interp.get(x.getTile()).share<Tile>();
    int64_t n = x.getResult().getType().getRows();
    int64_t from = interp.getInt(x.getRank()) * n;
    if (from < 0 || from + n > whole->rows)
      return interp.fail(op, "takes rows from " + Twine(from) + " of " +
                                 Twine(whole->rows));
    auto part = std::make_shared<Tile>(int32_t(n), whole->cols);
    std::copy_n(whole->row(int32_t(from)), part->data.size(),
                part->data.begin());
    part->whole = whole->whole ? whole->whole : whole;
    interp.set(x.getResult(), Datum(std::shared_ptr<Object>(part)));
    return success();
  }
  if (auto x = dyn_cast<ForKVOp>(op))
    return forKV(x, interp);
  if (auto x = dyn_cast<SpeculateOp>(op))
    return speculate(x, interp);
  if (auto x = dyn_cast<StateInitOp>(op))
    return stateInit(x, interp);
  if (auto x = dyn_cast<ExactPrefixOp>(op))
    return exactPrefix(x, interp);
  if (auto x = dyn_cast<CheckSumsOp>(op))
    return checkSums(x, interp);
  if (auto x = dyn_cast<CheckOp>(op))
    return check(x, interp);
  if (isa<ApplyScoreOp, ApplyMaskOp, ApplySinkOp, TransformRowsOp,
          TransformKeysOp, RewriteQueryOp, RewriteKVOp>(op))
    return runHookedOp(op, interp);
  if (isa<LoadQueryOp, LoadKVOp, CopyQueryOp, CopyKVOp, StoreOp, StorePartialOp,
          LoadPartialOp, ZeroRowsOp>(op))
    return runMemoryOp(op, interp);
  return runTileOp(op, interp);
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

static Datum bindTensor(attn::TensorType type,
                        const attn_kernel_params &params) {
  auto handle = std::make_shared<TensorHandle>();
  handle->element = elementOf(type.getElement());
  handle->dim = type.getDim();
  uint64_t base = 0;
  switch (type.getRole()) {
  case TensorRole::Query:
    base = params.q, handle->strides = params.q_strides;
    break;
  case TensorRole::Key:
    base = params.k, handle->strides = params.k_strides;
    break;
  case TensorRole::Value:
    base = params.v, handle->strides = params.v_strides;
    break;
  case TensorRole::Output:
    base = params.o, handle->strides = params.o_strides;
    break;
  case TensorRole::Lse:
    base = params.lse, handle->strides = params.lse_strides;
    break;
  }
  handle->base = reinterpret_cast<char *>(base);
  return Datum(handle);
}

LogicalResult attn::sim::runAttnKernel(Operation *op, Interp &interp) {
  auto kernel = cast<KernelOp>(op);
  AttnState &state = interp.state<AttnState>();
  state.kernel = kernel;
  state.layout.emplace(kernel);
  if (interp.params().size() < state.layout->totalBytes())
    return interp.fail(
        op, "parameter struct has " + Twine(interp.params().size()) +
                " bytes but needs " + Twine(state.layout->totalBytes()));
  state.params = interp.param<attn_kernel_params>(0);
  interp.addHandler("attn", runAttnOp);
  interp.addHandler("pipe", runPipeOp);

  SmallVector<Datum> args;
  for (BlockArgument arg : kernel.getBody().getArguments()) {
    if (auto tensor = dyn_cast<attn::TensorType>(arg.getType())) {
      args.push_back(bindTensor(tensor, state.params));
    } else if (isa<PlanType>(arg.getType())) {
      auto plan = std::make_shared<PlanHandle>();
      plan->header =
          reinterpret_cast<const attn_plan_header *>(state.params.plan);
      if (!plan->header)
        return interp.fail(op, "plan pointer is null");
      args.push_back(Datum(plan));
    } else if (arg.getType().isF32()) {
      args.push_back(Datum::ofFloat(state.params.scale));
    } else {
      return interp.fail(op, "argument " + Twine(arg.getArgNumber()) +
                                 " has no place in the parameter struct");
    }
  }
  if (!kernel.getPlan())
    return interp.fail(op, "has no plan: it is not at level L1 or L2");
  return interp.run(kernel.getBody(), args);
}
