//===- Work.cpp - parameters, the plan, row maps --------------------------===//
//
// The plan is an array of i32 words behind one pointer (include/attn/ABI):
//
//   attn.load_item %plan[%i]  -> word(items_offset / 4 + i * 8 + field)
//   of a word that may be no item: scf.if real { the same } else { inert item }
//
// Parameters and the plan's header are read once, at the begin of the kernel.
// A row map becomes the scalars that it was made of; only what hooks ask for a
// row (position, query head) is kept as a vector, so that a division by the
// pack is not repeated on every visit.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "attn/ABI/KernelParams.h"
#include "attn/ABI/WorkItem.h"
#include "mlir/IR/Matchers.h"

#include <cstddef>

using namespace mlir;
using namespace attn;

static constexpr int32_t itemWords = sizeof(attn_work_item) / 4;
static constexpr int32_t requestWords = sizeof(attn_request_record) / 4;
/// A work word's index; the bits above say how to run it.
static constexpr int32_t indexMask = (1 << 30) - 1;
static_assert(sizeof(attn_merge_item) == sizeof(attn_work_item),
              "items and merges are read alike");

Value KernelLowering::param(StringRef name, Type type) {
  std::string key = name.str();
  if (isa<frag::PtrType>(type))
    key += " as pointer";
  Value &value = paramCache[key];
  if (!value) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(prologueEnd);
    std::optional<uint32_t> offset = params.offsetOf(name);
    assert(offset && "field is known by construction");
    value =
        frag::ParamOp::create(b, kernel.getLoc(), type, name, int32_t(*offset));
  }
  return value;
}

Value KernelLowering::stride(StringRef tensor, StringRef which) {
  return param((tensor + "_strides." + which).str(), b.getI64Type());
}

Value KernelLowering::planWord(Value index, Location loc) {
  auto type = frag::PtrType::get(b.getContext(), b.getI32Type());
  return frag::LoadScalarOp::create(b, loc, b.getI32Type(), param("plan", type),
                                    index);
}

Value KernelLowering::headerWord(unsigned byteOffset) {
  Value &value = headerCache[byteOffset];
  if (!value) {
    auto type = frag::PtrType::get(b.getContext(), b.getI32Type());
    param("plan", type);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(prologueEnd);
    Scalars s{b, kernel.getLoc()};
    value = planWord(s.i64(byteOffset / 4), kernel.getLoc());
  }
  return value;
}

/// A word of the header that is needed once an item, read behind `index`, a
/// number of the item.  Several roles keep it: the warp that hands out items holds
/// little else.  A warp that computes would hold it through the loops over key
/// blocks, so it reads it again, out of the first-level cache.  A constant address
/// would be read before the loop over items, whatever the text says; the sign of
/// the number, which is 0, ties it to the item.
Value KernelLowering::headerWordOf(Value index, unsigned byteOffset) {
  if (!launched.empty())
    return headerWord(byteOffset);
  Location loc = kernel.getLoc();
  Scalars s{b, loc};
  Value opaque = frag::OpaqueOp::create(b, loc, b.getI32Type(), index);
  Value sign = arith::ShRUIOp::create(b, loc, opaque, s.i32(31));
  return planWord(s.extU(s.add(sign, s.i32(int32_t(byteOffset / 4)))), loc);
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

/// The two words of the plan's header that a dynamic order counts in.
Value KernelLowering::queue() {
  if (!queueCache) {
    auto type = frag::PtrType::get(b.getContext(), b.getI32Type());
    Value plan = param("plan", type);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(prologueEnd);
    Scalars s{b, kernel.getLoc()};
    queueCache = frag::OffsetOp::create(
        b, kernel.getLoc(), plan,
        s.i64(offsetof(attn_plan_header, queue_next) / 4));
  }
  return queueCache;
}

LogicalResult KernelLowering::convert(pipe::NextWorkOp op) {
  Scalars s{b, op.getLoc()};
  Value count = headerWord(op.getMerges() ? offsetof(attn_plan_header, merges)
                                          : offsetof(attn_plan_header, items));
  if (op.getOrder() == pipe::WorkOrder::Dynamic) {
    // The plan has one queue, and one warp of a CTA takes from it.
    if (op.getMerges())
      return refuse(op, "dynamic order of merges");
    if (launched.empty() || role.warps * role.replicas() != 1)
      return op.emitOpError()
             << "takes items in dynamic order by "
             << role.warps * role.replicas() << " warps of role '"
             << role.name() << "' but it is built for 1 warp of several roles";
    mapping.map(op.getIndex(),
                frag::NextWorkOp::create(b, op.getLoc(), b.getI32Type(),
                                         queue(), count));
    return success();
  }
  Value previous = at(op.getPrevious());
  Value first = frag::CtaIdOp::create(b, op.getLoc(), b.getI32Type());
  Value step = frag::CtaCountOp::create(b, op.getLoc(), b.getI32Type());
  Value begin = s.cmp(arith::CmpIPredicate::slt, previous, s.i32(0));
  Value index = s.select(begin, first, s.add(previous, step));
  Value inside = s.cmp(arith::CmpIPredicate::slt, index, count);
  mapping.map(op.getIndex(), s.select(inside, index, s.i32(-1)));
  return success();
}

/// True for the index of a loop that goes on while next_work gives one: it is
/// not negative and has no bits above the number.
static bool isPlainIndex(Value index) {
  auto arg = dyn_cast<BlockArgument>(index);
  auto loop = arg ? dyn_cast<scf::WhileOp>(arg.getOwner()->getParentOp())
                  : scf::WhileOp();
  if (!loop || arg.getOwner() != loop.getAfterBody())
    return false;
  scf::ConditionOp end = loop.getConditionOp();
  Value passed = end.getArgs()[arg.getArgNumber()];
  auto test = end.getCondition().getDefiningOp<arith::CmpIOp>();
  IntegerAttr::ValueType zero;
  return passed.getDefiningOp<pipe::NextWorkOp>() && test &&
         test.getPredicate() == arith::CmpIPredicate::sge &&
         test.getLhs() == passed &&
         matchPattern(test.getRhs(), m_ConstantInt(&zero)) && zero.isZero();
}

/// Word `index * words` behind a byte offset of the header.
static Value recordBase(Scalars &s, Value byteOffset, Value index,
                        int32_t words) {
  Value base = arith::ShRUIOp::create(s.b, s.loc, byteOffset, s.i32(2));
  return s.add(s.extU(base), s.mul(s.ext(index), s.i64(words)));
}

void KernelLowering::readRecord(ValueRange fields, Value offset, Value index,
                                int32_t words, Value real,
                                ArrayRef<int32_t> inert, Location loc) {
  auto read = [&] {
    Scalars s{b, loc};
    SmallVector<Value> values;
    Value base = recordBase(s, offset, index, words);
    for (size_t i = 0; i < fields.size(); ++i)
      values.push_back(planWord(s.add(base, s.i64(i)), loc));
    return values;
  };
  SmallVector<Value> values;
  if (!real) {
    values = read();
  } else {
    auto ifOp =
        scf::IfOp::create(b, loc, SmallVector<Type>(fields.getTypes()), real,
                          /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&ifOp.getThenRegion().front());
    scf::YieldOp::create(b, loc, read());
    b.setInsertionPointToStart(&ifOp.getElseRegion().front());
    Scalars s{b, loc};
    SmallVector<Value> nothing;
    for (size_t i = 0; i < fields.size(); ++i)
      nothing.push_back(s.i32(i < inert.size() ? inert[i] : 0));
    scf::YieldOp::create(b, loc, nothing);
    values = SmallVector<Value>(ifOp.getResults());
  }
  for (auto [field, value] : llvm::zip_equal(fields, values)) {
    mapping.map(field, value);
    if (real)
      realItems[field] = real;
  }
}

LogicalResult KernelLowering::convert(LoadItemOp op) {
  bool merge = op.getNumResults() == 6;
  Value index = at(op.getIndex()), real;
  Value offset =
      headerWordOf(index, merge ? offsetof(attn_plan_header, merges_offset)
                                : offsetof(attn_plan_header, items_offset));
  if (!isPlainIndex(op.getIndex())) {
    Scalars s{b, op.getLoc()};
    real = s.cmp(arith::CmpIPredicate::sge, index, s.i32(0));
    index = arith::AndIOp::create(b, op.getLoc(), index, s.i32(indexMask));
  }
  // Inert: no rows, no keys, and a result that is not split.
  readRecord(op.getFields(), offset, index, itemWords, real,
             {0, 0, 0, 0, 0, 0, -1, 0}, op.getLoc());
  return success();
}

LogicalResult KernelLowering::convert(RequestOp op) {
  Value request = at(op.getRequest());
  Value offset =
      headerWordOf(request, offsetof(attn_plan_header, requests_offset));
  readRecord(op.getResults(), offset, request, requestWords,
             realItems.lookup(op.getRequest()), {}, op.getLoc());
  return success();
}

//===----------------------------------------------------------------------===//
// Row maps
//===----------------------------------------------------------------------===//

/// The query head of each row, in a vector of a type.
Value KernelLowering::queryHeads(const RowsInfo &rows, Type type,
                                 Location loc) {
  return map(type, {}, loc, [&](Scalars &s, ValueRange args, auto &yield) {
    Value t = s.add(rows.row0, rows.inTile(s, args.back()));
    Value first = s.mul(rows.head, s.i32(rows.pack));
    yield.push_back(s.add(first, s.remU(t, rows.pack)));
  });
}

LogicalResult KernelLowering::addRowVectors(Value old, RowsInfo &rows) {
  Location loc = old.getLoc();
  if (llvm::none_of(old.getUsers(),
                    llvm::IsaPred<ApplyScoreOp, ApplyMaskOp, ApplySinkOp>))
    return success();
  Type type = vecType(rows.rows, b.getI32Type());
  if (!type)
    return failure();
  // Neither is kept if no hook asks for it.
  rows.positions =
      map(type, {}, loc, [&](Scalars &s, ValueRange args, auto &yield) {
        Value t = s.add(rows.row0, rows.inTile(s, args.back()));
        Value shift = s.sub(rows.kvLen, rows.qLen);
        yield.push_back(s.add(s.divU(t, rows.pack), shift));
      });
  rows.queryHeads = queryHeads(rows, type, loc);
  return success();
}

LogicalResult KernelLowering::convert(RowMapOp op) {
  RowsInfo rows;
  rows.request = at(op.getRequest());
  rows.head = at(op.getHead());
  rows.row0 = at(op.getRow0());
  rows.nrows = at(op.getNrows());
  rows.qBegin = at(op.getQBegin());
  rows.qLen = at(op.getQLen());
  rows.kvLen = at(op.getKvLen());
  rows.pack = int32_t(op.getPack());
  rows.rows = rows.tileRows = op.getResult().getType().getRows();
  if (failed(addRowVectors(op.getResult(), rows)))
    return failure();
  rowMaps[op.getResult()] = rows;
  return success();
}

LogicalResult KernelLowering::convert(SliceRowsOp op) {
  RowsInfo rows = rowMaps[op.getRows()];
  rows.rows = op.getResult().getType().getRows();
  Scalars s{b, op.getLoc()};
  Value first = s.mul(at(op.getRank()), s.i32(rows.rows));
  rows.first = rows.first ? s.add(rows.first, first) : first;
  if (failed(addRowVectors(op.getResult(), rows)))
    return failure();
  rowMaps[op.getResult()] = rows;
  return success();
}
