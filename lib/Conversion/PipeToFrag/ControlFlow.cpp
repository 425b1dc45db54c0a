//===- ControlFlow.cpp - loops and branches with what they carry ----------===//
//
//   scf.for ... iter_args(%O, %m, %token)
//     -> scf.for ... iter_args(%O, %m, %consume, %produce)
//
// A value that crosses a border becomes as many as stand for it: a tile or a
// scalar one, a row map its seven scalars, a done token none.  Positions that
// move inside follow.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Values that cross a border
//===----------------------------------------------------------------------===//

/// The scalars of a row map, as places.
static std::array<Value *, 7> scalarsOf(RowsInfo &rows) {
  return {&rows.request, &rows.head, &rows.row0, &rows.nrows,
          &rows.qBegin,  &rows.qLen, &rows.kvLen};
}

LogicalResult KernelLowering::flatten(ValueRange old,
                                      SmallVectorImpl<Value> &values,
                                      ValueRange joined) {
  for (auto [i, value] : llvm::enumerate(old)) {
    if (isa<pipe::DoneType>(value.getType()))
      continue;
    if (isa<pipe::FutureType>(value.getType()))
      return emitError(value.getLoc())
             << "future across control flow is not built for level L3";
    auto rows = rowMaps.find(value);
    if (rows == rowMaps.end()) {
      Value made = mapping.lookupOrNull(value);
      if (!made)
        return emitError(value.getLoc())
               << "value of type " << value.getType()
               << " across control flow is not built for level L3";
      values.push_back(made);
      continue;
    }
    if (rows->second.first)
      return emitError(value.getLoc())
             << "part of a row map across control flow is not built for level "
                "L3";
    int32_t pack = rows->second.pack;
    int32_t other = joined.empty() ? pack : rowMaps.lookup(joined[i]).pack;
    if (pack != other)
      return emitError(value.getLoc())
             << "row map of " << pack << " packed heads meets one of " << other;
    for (Value *scalar : scalarsOf(rows->second))
      values.push_back(*scalar);
  }
  return success();
}

LogicalResult KernelLowering::flattenTypes(ValueRange old,
                                           SmallVectorImpl<Type> &types) {
  for (Value value : old) {
    if (isa<pipe::DoneType>(value.getType()))
      continue;
    if (isa<RowsType>(value.getType())) {
      types.append(
          std::tuple_size_v<decltype(scalarsOf(std::declval<RowsInfo &>()))>,
          b.getI32Type());
      continue;
    }
    types.push_back(convertType(value));
    if (!types.back())
      return failure();
  }
  return success();
}

FailureOr<ValueRange> KernelLowering::bind(ValueRange old, ValueRange like,
                                           ValueRange values) {
  for (auto [value, other] : llvm::zip_equal(old, like)) {
    if (isa<pipe::DoneType>(value.getType()))
      continue;
    if (!isa<RowsType>(value.getType())) {
      mapping.map(value, values.front());
      values = values.drop_front();
      continue;
    }
    RowsInfo rows = rowMaps[other];
    for (Value *scalar : scalarsOf(rows)) {
      *scalar = values.front();
      values = values.drop_front();
    }
    if (failed(addRowVectors(value, rows)))
      return failure();
    rowMaps[value] = rows;
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::convertIf(scf::IfOp op) {
  SmallVector<unsigned> moved = channels->movedIn(op);
  SmallVector<Type> types;
  if (failed(flattenTypes(op.getResults(), types)))
    return failure();
  SmallVector<Value> before;
  for (unsigned position : moved) {
    before.push_back(channels->at(position));
    types.push_back(before.back().getType());
  }
  bool hasElse = !op.getElseRegion().empty() || !types.empty();
  auto newOp =
      scf::IfOp::create(b, op.getLoc(), types, at(op.getCondition()), hasElse);
  ValueRange passed = op.getThenRegion().front().getTerminator()->getOperands();
  auto convertArm = [&](Region &from, Region &to) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    if (to.front().mightHaveTerminator() && !to.front().empty())
      to.front().back().erase();
    b.setInsertionPointToEnd(&to.front());
    channels->set(moved, before);
    SmallVector<Value> yields;
    if (!from.empty() &&
        (failed(convertBlock(from.front())) ||
         failed(flatten(from.front().getTerminator()->getOperands(), yields,
                        passed))))
      return failure();
    for (unsigned position : moved)
      yields.push_back(channels->at(position));
    scf::YieldOp::create(b, op.getLoc(), yields);
    return success();
  };
  if (failed(convertArm(op.getThenRegion(), newOp.getThenRegion())))
    return failure();
  if (hasElse && failed(convertArm(op.getElseRegion(), newOp.getElseRegion())))
    return failure();
  auto rest = bind(op.getResults(), passed, newOp.getResults());
  if (failed(rest))
    return failure();
  channels->set(moved, *rest);
  return success();
}

LogicalResult KernelLowering::convertFor(scf::ForOp op) {
  SmallVector<unsigned> moved = channels->movedIn(op);
  SmallVector<Value> inits;
  if (failed(flatten(op.getInitArgs(), inits)))
    return failure();
  for (unsigned position : moved)
    inits.push_back(channels->at(position));
  auto newOp =
      scf::ForOp::create(b, op.getLoc(), at(op.getLowerBound()),
                         at(op.getUpperBound()), at(op.getStep()), inits);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *body = newOp.getBody();
    if (!body->empty())
      body->back().erase(); // the terminator of a loop without values
    b.setInsertionPointToEnd(body);
    mapping.map(op.getInductionVar(), newOp.getInductionVar());
    auto rest = bind(op.getRegionIterArgs(), op.getInitArgs(),
                     newOp.getRegionIterArgs());
    if (failed(rest))
      return failure();
    channels->set(moved, *rest);
    SmallVector<Value> yields;
    if (failed(convertBlock(*op.getBody())) ||
        failed(flatten(op.getBody()->getTerminator()->getOperands(), yields,
                       op.getInitArgs())))
      return failure();
    for (unsigned position : moved)
      yields.push_back(channels->at(position));
    scf::YieldOp::create(b, op.getLoc(), yields);
  }
  auto rest = bind(op.getResults(), op.getInitArgs(), newOp.getResults());
  if (failed(rest))
    return failure();
  channels->set(moved, *rest);
  return success();
}

LogicalResult KernelLowering::convertWhile(scf::WhileOp op) {
  SmallVector<unsigned> moved = channels->movedIn(op);
  SmallVector<Value> inits;
  SmallVector<Type> types;
  if (failed(flatten(op.getInits(), inits)) ||
      failed(flattenTypes(op.getResults(), types)))
    return failure();
  for (unsigned position : moved) {
    inits.push_back(channels->at(position));
    types.push_back(inits.back().getType());
  }
  auto newOp = scf::WhileOp::create(b, op.getLoc(), types, inits);
  ValueRange passed = op.getConditionOp().getArgs();
  {
    OpBuilder::InsertionGuard guard(b);
    auto enter = [&](Region &region, ValueRange old, ValueRange like,
                     TypeRange argTypes) -> LogicalResult {
      Block *block =
          b.createBlock(&region, {}, argTypes,
                        SmallVector<Location>(argTypes.size(), op.getLoc()));
      auto rest = bind(old, like, block->getArguments());
      if (failed(rest))
        return failure();
      channels->set(moved, *rest);
      return success();
    };
    if (failed(enter(newOp.getBefore(), op.getBeforeArguments(), op.getInits(),
                     SmallVector<Type>(ValueRange(inits).getTypes()))) ||
        failed(convertBlock(op.getBefore().front())))
      return failure();
    SmallVector<Value> forwarded;
    if (failed(flatten(passed, forwarded)))
      return failure();
    for (unsigned position : moved)
      forwarded.push_back(channels->at(position));
    scf::ConditionOp::create(b, op.getLoc(),
                             at(op.getConditionOp().getCondition()), forwarded);

    if (failed(
            enter(newOp.getAfter(), op.getAfterArguments(), passed, types)) ||
        failed(convertBlock(op.getAfter().front())))
      return failure();
    SmallVector<Value> yields;
    if (failed(flatten(op.getYieldOp().getResults(), yields, op.getInits())))
      return failure();
    for (unsigned position : moved)
      yields.push_back(channels->at(position));
    scf::YieldOp::create(b, op.getLoc(), yields);
  }
  auto rest = bind(op.getResults(), passed, newOp.getResults());
  if (failed(rest))
    return failure();
  channels->set(moved, *rest);
  return success();
}
