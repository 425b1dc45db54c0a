//===- MergeKernel.cpp - the kernel that merges split partials ------------===//
//
// One group of partials a turn, in split order:
//
//   attn.kernel @prefill_merge(%scale, %o, %lse, %plan) merge_of @prefill {
//     for_merge %plan (%req, %head, %row0, %nrows, %first, %count) {
//       load_partial first; scf.for the rest { load_partial; merge_state }
//       finish [sink] [output hook] store } }
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

/// O, then m and l with softmax.
using Parts = SmallVector<Value, 3>;

class MergeWriter {
public:
  /// `factor` is null without normaliser.
  MergeWriter(OpBuilder &builder, Location loc, const TileShape &shape,
              Value plan, Value rows, Value factor)
      : builder(builder), loc(loc), shape(shape), plan(plan), rows(rows),
        factor(factor) {}

  Parts load(Value slot) {
    SmallVector<Type> types{shape.outputTile()};
    if (factor)
      types.append(2, shape.rowVec());
    return Parts(LoadPartialOp::create(builder, loc, types, rows, plan, slot)
                     ->getResults());
  }

  Parts merge(ValueRange a, ValueRange b) {
    if (!factor)
      return {AddTileOp::create(builder, loc, a[0].getType(), a[0], b[0])};
    return Parts(MergeStateOp::create(builder, loc, a.getTypes(), a[0], a[1],
                                      a[2], b[0], b[1], b[2], factor)
                     ->getResults());
  }

  /// Slots [first, first + count) in ascending order; count is at least 1.
  Parts mergeAll(Value first, Value count) {
    Value one = arith::ConstantIntOp::create(builder, loc, 1, 32);
    Parts start = load(first);
    Value second = arith::AddIOp::create(builder, loc, first, one);
    Value end = arith::AddIOp::create(builder, loc, first, count);
    auto loop = scf::ForOp::create(builder, loc, second, end, one, start);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Parts next = merge(loop.getRegionIterArgs(), load(loop.getInductionVar()));
    scf::YieldOp::create(builder, loc, next);
    return Parts(loop.getResults());
  }

private:
  OpBuilder &builder;
  Location loc;
  const TileShape &shape;
  Value plan, rows, factor;
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
  Value scale = entry.addArgument(builder.getF32Type(), loc);
  Value output = entry.addArgument(shape.output, loc);
  Value lse = shape.lse ? entry.addArgument(shape.lse, loc) : Value();
  Value plan = entry.addArgument(PlanType::get(builder.getContext()), loc);

  builder.setInsertionPointToEnd(&entry);
  cloneLateHooks(builder, shape.variant);
  Value factor;
  if (shape.isSoftmax())
    factor = exponentFactor(builder, loc, shape, scale);
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
  Parts state = MergeWriter(builder, loc, shape, plan, rows, factor)
                    .mergeAll(/*first=*/fields[4], /*count=*/fields[5]);
  Value tile = state[0], rowLse;
  if (factor) {
    Value sink;
    if (shape.hasHook(HookKind::Sink))
      sink = ApplySinkOp::create(builder, loc, shape.rowVec(), rows);
    auto finish = FinishOp::create(builder, loc, tile.getType(), shape.rowVec(),
                                   tile, state[1], state[2], factor, sink);
    tile = finish.getTile();
    rowLse = finish.getRowLse();
  }
  tile = applyOutputHook(builder, loc, shape, tile, rows);
  StoreOp::create(builder, loc, tile, lse ? rowLse : Value(), rows, output,
                  lse);
  symbols.insert(merge);
  return success();
}
