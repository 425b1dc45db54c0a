//===- Work.cpp - parameters, the plan, row maps --------------------------===//
//
// The plan is an array of i32 words behind one pointer (include/attn/ABI):
//
//   attn.load_item %plan[%i]  -> word(items_offset / 4 + i * 8 + field)
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

#include <cstddef>

using namespace mlir;
using namespace attn;

static constexpr int32_t itemWords = sizeof(attn_work_item) / 4;
static constexpr int32_t requestWords = sizeof(attn_request_record) / 4;
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

LogicalResult KernelLowering::convert(pipe::NextWorkOp op) {
  if (op.getOrder() != pipe::WorkOrder::Static)
    return refuse(op, "order = dynamic");
  Scalars s{b, op.getLoc()};
  Value count = headerWord(op.getMerges() ? offsetof(attn_plan_header, merges)
                                          : offsetof(attn_plan_header, items));
  Value previous = at(op.getPrevious());
  Value first = frag::CtaIdOp::create(b, op.getLoc(), b.getI32Type());
  Value step = frag::CtaCountOp::create(b, op.getLoc(), b.getI32Type());
  Value begin = s.cmp(arith::CmpIPredicate::slt, previous, s.i32(0));
  Value index = s.select(begin, first, s.add(previous, step));
  Value inside = s.cmp(arith::CmpIPredicate::slt, index, count);
  mapping.map(op.getIndex(), s.select(inside, index, s.i32(-1)));
  return success();
}

/// Word `index * words` behind a byte offset of the header.
static Value recordBase(Scalars &s, Value byteOffset, Value index,
                        int32_t words) {
  Value base = arith::ShRUIOp::create(s.b, s.loc, byteOffset, s.i32(2));
  return s.add(s.extU(base), s.mul(s.ext(index), s.i64(words)));
}

LogicalResult KernelLowering::convert(LoadItemOp op) {
  Scalars s{b, op.getLoc()};
  bool merge = op.getNumResults() == 6;
  Value offset = headerWord(merge ? offsetof(attn_plan_header, merges_offset)
                                  : offsetof(attn_plan_header, items_offset));
  Value base = recordBase(s, offset, at(op.getIndex()), itemWords);
  for (auto [i, field] : llvm::enumerate(op.getFields()))
    mapping.map(field, planWord(s.add(base, s.i64(i)), op.getLoc()));
  return success();
}

LogicalResult KernelLowering::convert(RequestOp op) {
  Scalars s{b, op.getLoc()};
  Value base =
      recordBase(s, headerWord(offsetof(attn_plan_header, requests_offset)),
                 at(op.getRequest()), requestWords);
  for (auto [i, field] : llvm::enumerate(op.getResults()))
    mapping.map(field, planWord(s.add(base, s.i64(i)), op.getLoc()));
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
  rows.rows = op.getResult().getType().getRows();
  Type type = vecType(rows.rows, b.getI32Type());
  if (!type)
    return failure();
  // Neither is kept if no hook asks for it.
  rows.positions =
      map(type, {}, op.getLoc(), [&](Scalars &s, ValueRange args, auto &yield) {
        Value t = s.add(rows.row0, args.back());
        Value shift = s.sub(rows.kvLen, rows.qLen);
        yield.push_back(s.add(s.divU(t, rows.pack), shift));
      });
  rows.queryHeads =
      map(type, {}, op.getLoc(), [&](Scalars &s, ValueRange args, auto &yield) {
        Value t = s.add(rows.row0, args.back());
        Value first = s.mul(rows.head, s.i32(rows.pack));
        yield.push_back(s.add(first, s.remU(t, rows.pack)));
      });
  rowMaps[op.getResult()] = rows;
  return success();
}
