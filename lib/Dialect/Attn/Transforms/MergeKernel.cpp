//===- MergeKernel.cpp - the kernel that merges split partials ------------===//
//
// One group of partials a turn, in split order:
//
//   attn.kernel @prefill_merge(%o, %lse, %plan) merge_of @prefill {
//     for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
//       load_partial first; scf.for the rest { load_partial; merge_tile }
//       [merge_sink] [output hook] store } }
//
// Invariant: the order of the merge is the plan's, so the result does not
// depend on who computed the partials; sink and output hook are applied exactly
// once.
//
//===----------------------------------------------------------------------===//

#include "TileUtils.h"

using namespace mlir;
using namespace attn;

namespace {

/// A finished tile; `lse` is null without normaliser.
struct Finished {
  Value tile, lse;
};

class MergeWriter {
public:
  MergeWriter(OpBuilder &builder, Location loc, const TileShape &shape,
              Value plan, Value rows)
      : builder(builder), loc(loc), shape(shape), plan(plan), rows(rows) {}

  Finished load(Value slot) {
    SmallVector<Type> types{shape.outputTile()};
    if (shape.isSoftmax())
      types.push_back(shape.rowVec());
    auto op = LoadPartialOp::create(builder, loc, types, rows, plan, slot);
    return {op.getTile(), op.getRowLse()};
  }

  Finished merge(Finished a, Finished b) {
    if (!shape.isSoftmax())
      return {AddTileOp::create(builder, loc, a.tile.getType(), a.tile, b.tile),
              Value()};
    auto op =
        MergeTileOp::create(builder, loc, a.tile.getType(), a.lse.getType(),
                            a.tile, a.lse, b.tile, b.lse);
    return {op.getTile(), op.getRowLse()};
  }

  /// Slots [first, first + count) in ascending order; count is at least 1.
  Finished mergeAll(Value first, Value count) {
    Value one = arith::ConstantIntOp::create(builder, loc, 1, 32);
    Finished start = load(first);
    Value second = arith::AddIOp::create(builder, loc, first, one);
    Value end = arith::AddIOp::create(builder, loc, first, count);
    SmallVector<Value> carried{start.tile};
    if (start.lse)
      carried.push_back(start.lse);
    auto loop = scf::ForOp::create(builder, loc, second, end, one, carried);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      auto args = loop.getRegionIterArgs();
      Finished old{args[0], start.lse ? Value(args[1]) : Value()};
      Finished next = merge(old, load(loop.getInductionVar()));
      SmallVector<Value> yielded{next.tile};
      if (next.lse)
        yielded.push_back(next.lse);
      scf::YieldOp::create(builder, loc, yielded);
    }
    return {loop.getResult(0), start.lse ? Value(loop.getResult(1)) : Value()};
  }

private:
  OpBuilder &builder;
  Location loc;
  const TileShape &shape;
  Value plan, rows;
};

} // namespace

/// The variant with the hooks that act on a merged row.  Parameters and tables
/// stay even if no hook does: both kernels are launched with one parameter
/// struct, and a launch whose struct differs in size from the entry's is refused
/// by the driver.
static void cloneLateHooks(OpBuilder &builder, VariantOp variant) {
  auto clone = cast<VariantOp>(builder.clone(*variant));
  for (HookOp hook :
       llvm::make_early_inc_range(clone.getBody().getOps<HookOp>()))
    if (hook.getKind() != HookKind::Sink && hook.getKind() != HookKind::Output)
      hook.erase();
}

LogicalResult attn::createMergeKernel(KernelOp kernel, const TileShape &shape,
                                      SymbolTable &symbols) {
  std::string name = (kernel.getSymName() + "_merge").str();
  if (symbols.lookup(name))
    return kernel.emitOpError() << "needs the name @" << name
                                << " for its merge kernel but it is taken";
  OpBuilder builder(kernel->getContext());
  builder.setInsertionPointAfter(kernel);
  Location loc = kernel.getLoc();
  auto merge = KernelOp::create(
      builder, loc, name, kernel.getTargetAttr(), kernel.getScheduleAttr(),
      kernel.getBlockMapAttr(),
      FlatSymbolRefAttr::get(builder.getContext(), kernel.getSymName()));
  Block &entry = merge.getBody().empty() ? merge.getBody().emplaceBlock()
                                         : merge.getBody().front();
  Value output = entry.addArgument(shape.output, loc);
  Value lse = shape.lse ? entry.addArgument(shape.lse, loc) : Value();
  Value plan = entry.addArgument(PlanType::get(builder.getContext()), loc);

  builder.setInsertionPointToEnd(&entry);
  cloneLateHooks(builder, shape.variant);
  auto work = ForMergeOp::create(builder, loc, plan);
  ReturnOp::create(builder, loc);
  Region &body = work.getBody();
  Block *block = body.empty() ? &body.emplaceBlock() : &body.front();
  if (block->getNumArguments() == 0)
    block->addArguments(SmallVector<Type>(6, builder.getI32Type()),
                        SmallVector<Location>(6, loc));
  if (block->empty()) {
    builder.setInsertionPointToEnd(block);
    YieldOp::create(builder, loc);
  }
  builder.setInsertionPoint(block->getTerminator());

  auto fields = block->getArguments();
  RequestOp request;
  RowMapOp rows = createRowMap(builder, loc, shape, plan, fields, request);
  Finished result = MergeWriter(builder, loc, shape, plan, rows)
                        .mergeAll(/*first=*/fields[4], /*count=*/fields[5]);
  if (shape.hasHook(HookKind::Sink)) {
    Value sink = ApplySinkOp::create(builder, loc, shape.rowVec(), rows);
    auto op = MergeSinkOp::create(builder, loc, result.tile.getType(),
                                  result.lse.getType(), result.tile, result.lse,
                                  sink);
    result = {op.getTile(), op.getRowLse()};
  }
  Value tile = applyOutputHook(builder, loc, shape, result.tile, rows);
  StoreOp::create(builder, loc, tile, lse ? result.lse : Value(), rows, output,
                  lse);
  symbols.insert(merge);
  return success();
}
