//===- Tile.cpp - attn-tile -----------------------------------------------===//
//
// One attention to tiles, by the schedule and the block map:
//
//   attn.attention %q, %k, %v, %scale
//   ->
//   attn.for_work %plan (..) {
//     request, row_map, segments, load_query, state_init
//     for_kv partial [b0, bn) {
//       load_kv K, load_kv V, qk, apply_score, apply_mask, state_step }
//     state_finish, store }
//
// and a second kernel @<name>_merge for the split items.  The kernel's
// arguments grow by output, lse (softmax only) and plan; its results are gone.
//
// Invariant afterwards: only tile ops.  The one loop visits every block as
// partial, which is right for all of them; attn-peel-classes makes it fast.
//
//===----------------------------------------------------------------------===//

#include "TileUtils.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"

namespace attn {
#define GEN_PASS_DEF_ATTNTILE
#include "attn/Dialect/Attn/AttnPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

RowMapOp attn::createRowMap(OpBuilder &builder, Location loc,
                            const TileShape &shape, Value plan,
                            Block::BlockArgListType fields,
                            RequestOp &request) {
  Type i32 = builder.getI32Type();
  request = RequestOp::create(builder, loc, TypeRange{i32, i32, i32, i32}, plan,
                              fields[0]);
  return RowMapOp::create(builder, loc, shape.rows(), /*request=*/fields[0],
                          /*head=*/fields[1], /*row0=*/fields[2],
                          /*nrows=*/fields[3], request.getQBegin(),
                          request.getQLen(), request.getKvLen(),
                          shape.schedule.getPack());
}

Value attn::applyOutputHook(OpBuilder &builder, Location loc,
                            const TileShape &shape, Value tile, Value rows) {
  if (!shape.hasHook(HookKind::Output))
    return tile;
  return TransformRowsOp::create(builder, loc, tile.getType(), HookKind::Output,
                                 tile, rows);
}

Value attn::exponentFactor(OpBuilder &builder, Location loc,
                           const TileShape &shape, Value scale) {
  FloatAttr attr = builder.getF32FloatAttr(log2e);
  Value base = arith::ConstantOp::create(builder, loc, attr);
  if (!shape.schedule.getFoldScale())
    return base;
  return arith::MulFOp::create(builder, loc, scale, base);
}

namespace {

/// Writes the body of one kernel.
class Tiler {
public:
  Tiler(KernelOp kernel, AttentionOp attention, const TileShape &shape)
      : kernel(kernel), attention(attention), shape(shape), builder(attention),
        loc(attention.getLoc()) {}
  void run();

private:
  Value constant(int32_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  Value loadKV(Value tensor, TileType type, HookKind hook);
  Value loop(Value query, SegmentsOp segments, Value init);

  KernelOp kernel;
  AttentionOp attention;
  const TileShape &shape;
  OpBuilder builder;
  Location loc;

  // Of the item at hand.
  Value factor, requestId, kvHead, kv0, kv1, k0;
  RequestOp request;
  RowMapOp rows;
};

} // namespace

Value Tiler::loadKV(Value tensor, TileType type, HookKind hook) {
  Value tile = LoadKVOp::create(builder, loc, type, tensor, requestId, kvHead,
                                request.getKvBegin(), k0, kv1);
  if (shape.hasHook(hook))
    tile = TransformKeysOp::create(builder, loc, type, hook, tile, requestId,
                                   kvHead, k0, kv1, request.getQLen(),
                                   request.getKvLen());
  return tile;
}

Value Tiler::loop(Value query, SegmentsOp segments, Value init) {
  auto for_kv = ForKVOp::create(
      builder, loc, TypeRange{init.getType()}, segments.getBounds().front(),
      segments.getBounds().back(), kv0, ValueRange{init}, BlockClass::Partial,
      Reference::Exact, shape.schedule.getKvOrder(), shape.schedule.getTileK());
  Region &body = for_kv.getBody();
  Block *block = body.empty() ? &body.emplaceBlock() : &body.front();
  if (block->getNumArguments() == 0) {
    Type i32 = builder.getI32Type();
    block->addArguments({i32, i32, init.getType()}, {loc, loc, loc});
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(block);
  k0 = for_kv.getK0();
  Value state = for_kv.getCarried()[0];

  Value keys = loadKV(attention.getKey(), shape.keyTile(), HookKind::Key);
  Value values =
      loadKV(attention.getValue(), shape.valueTile(), HookKind::Value);
  Value s = QKOp::create(builder, loc, shape.scoreTile(), query, keys);
  if (shape.hasHook(HookKind::Score) || !shape.schedule.getFoldScale())
    s = ApplyScoreOp::create(builder, loc, s.getType(), s, attention.getScale(),
                             rows, k0, kv1);
  s = ApplyMaskOp::create(builder, loc, s.getType(), s, rows, k0, kv1,
                          shape.isSoftmax() ? MaskFill::NegInf
                                            : MaskFill::Zero);
  state = StateStepOp::create(builder, loc, state.getType(), state, s, values,
                              factor, Reference::Exact);
  YieldOp::create(builder, loc, ValueRange{state});
  return for_kv.getResult(0);
}

void Tiler::run() {
  MLIRContext *context = builder.getContext();
  Block &entry = kernel.getBody().front();
  Value output = entry.addArgument(shape.output, loc);
  Value lse = shape.lse ? entry.addArgument(shape.lse, loc) : Value();
  Value plan = entry.addArgument(PlanType::get(context), loc);

  factor = exponentFactor(builder, loc, shape, attention.getScale());
  auto work = ForWorkOp::create(builder, loc, plan);
  Region &body = work.getBody();
  Block *block = body.empty() ? &body.emplaceBlock() : &body.front();
  if (block->getNumArguments() == 0)
    block->addArguments(SmallVector<Type>(8, builder.getI32Type()),
                        SmallVector<Location>(8, loc));
  if (block->empty()) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    YieldOp::create(builder, loc);
  }
  builder.setInsertionPoint(block->getTerminator());
  auto fields = block->getArguments();
  requestId = fields[0];
  kv0 = fields[4];
  kv1 = fields[5];
  rows = createRowMap(builder, loc, shape, plan, fields, request);
  // Unpacked items name the query head.
  kvHead = fields[1];
  if (shape.schedule.getPack() == 1 && shape.group != 1)
    kvHead =
        arith::DivSIOp::create(builder, loc, kvHead, constant(shape.group));

  SmallVector<Type> bounds(shape.blockMap.getClasses().size() + 1,
                           builder.getI32Type());
  auto segments =
      SegmentsOp::create(builder, loc, bounds, rows, kv0, kv1, fields[7],
                         shape.blockMap, shape.schedule.getTileK());
  Value query = LoadQueryOp::create(builder, loc, shape.queryTile(),
                                    attention.getQuery(), rows);
  if (shape.hasHook(HookKind::Query))
    query = TransformRowsOp::create(builder, loc, query.getType(),
                                    HookKind::Query, query, rows);
  Value init =
      StateInitOp::create(builder, loc, TypeRange{shape.state()}).getResult(0);
  Value state = loop(query, segments, init);

  Value sink;
  if (shape.hasHook(HookKind::Sink))
    sink = ApplySinkOp::create(builder, loc, shape.rowVec(), rows);
  SmallVector<Type> finished{shape.outputTile()};
  if (shape.isSoftmax())
    finished.push_back(shape.rowVec());
  auto finish =
      StateFinishOp::create(builder, loc, finished, state, factor, sink);
  Value tile = applyOutputHook(builder, loc, shape, finish.getTile(), rows);
  StoreOp::create(builder, loc, tile, lse ? finish.getRowLse() : Value(), rows,
                  output, lse);

  Operation *end = entry.getTerminator();
  builder.setInsertionPoint(end);
  ReturnOp::create(builder, loc);
  end->erase();
  attention.erase();
}

namespace {

struct Tile : public attn::impl::AttnTileBase<Tile> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (KernelOp kernel :
         llvm::make_early_inc_range(module.getOps<KernelOp>()))
      if (failed(tile(kernel, symbols)))
        return signalPassFailure();
  }

  LogicalResult tile(KernelOp kernel, SymbolTable &symbols) {
    auto attentions = kernel.getBody().getOps<AttentionOp>();
    if (attentions.empty())
      return success(); // tiled already
    AttentionOp attention = *attentions.begin();
    TileShape shape;
    shape.schedule = kernel.getScheduleAttr();
    shape.blockMap = kernel.getBlockMapAttr();
    shape.variant = kernel.getVariant();
    if (!shape.variant)
      return kernel.emitOpError() << "has no variant of its own";
    if (!shape.schedule)
      return kernel.emitOpError() << "has no schedule";
    if (!shape.blockMap)
      return kernel.emitOpError() << "has no block map";
    shape.query = attention.getQuery().getType();
    shape.key = attention.getKey().getType();
    shape.value = attention.getValue().getType();
    shape.output = attention.getOutput().getType();
    if (attention.getLse())
      shape.lse = cast<attn::TensorType>(attention.getLse().getType());
    shape.group = shape.query.getHeads() / shape.key.getHeads();
    int32_t pack = shape.schedule.getPack();
    if (pack != 1 && pack != shape.group)
      return kernel.emitOpError()
             << "packs " << pack << " heads but the group has " << shape.group;
    if (failed(createMergeKernel(kernel, shape, symbols)))
      return failure();
    Tiler(kernel, attention, shape).run();
    return success();
  }
};

} // namespace
