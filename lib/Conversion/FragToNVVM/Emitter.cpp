//===- Emitter.cpp - scalar code ------------------------------------------===//
//
// Addresses and coordinates: constants that are 0 leave no trace, since maps
// are unrolled over up to 64 registers and each op is paid for that often.
//
//   threadCoord of mma_c: row = ((tid >> 2) & 7) + (tid >> 5) * 16,
//                         col = (tid & 3) * 2
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

Value Emitter::i32(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value Emitter::i64(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value Emitter::f32(float value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}

Value Emitter::zero(Type type) {
  return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
}

static Value constantLike(Emitter &e, Value x, int64_t value) {
  return arith::ConstantOp::create(e.b, e.loc,
                                   e.b.getIntegerAttr(x.getType(), value));
}

Value Emitter::add(Value x, Value y) {
  return arith::AddIOp::create(b, loc, x, y);
}

Value Emitter::add(Value x, int64_t constant) {
  return constant == 0 ? x : add(x, constantLike(*this, x, constant));
}

Value Emitter::mul(Value x, int64_t constant) {
  if (constant == 1)
    return x;
  return arith::MulIOp::create(b, loc, x, constantLike(*this, x, constant));
}

Value Emitter::bitAnd(Value x, int64_t constant) {
  return arith::AndIOp::create(b, loc, x, constantLike(*this, x, constant));
}

Value Emitter::bitXor(Value x, Value y) {
  return arith::XOrIOp::create(b, loc, x, y);
}

Value Emitter::bitXor(Value x, int64_t constant) {
  return constant == 0 ? x : bitXor(x, constantLike(*this, x, constant));
}

Value Emitter::shl(Value x, unsigned bits) {
  if (bits == 0)
    return x;
  return arith::ShLIOp::create(b, loc, x, constantLike(*this, x, bits));
}

Value Emitter::shr(Value x, unsigned bits) {
  if (bits == 0)
    return x;
  return arith::ShRUIOp::create(b, loc, x, constantLike(*this, x, bits));
}

Value Emitter::extend(Value x) {
  if (x.getType().isInteger(64))
    return x;
  return arith::ExtSIOp::create(b, loc, b.getI64Type(), x);
}

Value Emitter::advance(Value base, Value bytes) {
  return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                             LLVM::GEPArg(bytes));
}

Value Emitter::advance(Value base, int64_t bytes) {
  if (bytes == 0)
    return base;
  return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base,
                             LLVM::GEPArg(static_cast<int32_t>(bytes)));
}

Value Emitter::element(Value base, Type type, Value index) {
  return LLVM::GEPOp::create(b, loc, base.getType(), type, base,
                             LLVM::GEPArg(index));
}

Value Emitter::intrinsic(StringRef name, Type result, ValueRange args) {
  return LLVM::CallIntrinsicOp::create(b, loc, result, b.getStringAttr(name),
                                       args)
      .getResults();
}

Value Emitter::threadId() {
  Operation *parent = b.getInsertionBlock()->getParentOp();
  auto func = dyn_cast<LLVM::LLVMFuncOp>(parent);
  if (!func)
    func = parent->getParentOfType<LLVM::LLVMFuncOp>();
  auto size = func->getAttrOfType<DenseI32ArrayAttr>(
      NVVM::NVVMDialect::getReqntidAttrName());
  auto range = LLVM::ConstantRangeAttr::get(b.getContext(), APInt(32, 0),
                                            APInt(32, size[0]));
  return NVVM::ThreadIdXOp::create(b, loc, b.getI32Type(), range);
}

/// Sum over bits of `amounts[bit]` (each 0 or a power of two) where the bit of
/// x is set.  Neighbouring bits with doubling amounts are moved in one piece.
static Value sumOfBits(Emitter &e, Value x, ArrayRef<unsigned> amounts) {
  Value sum;
  for (unsigned bit = 0; bit < amounts.size();) {
    if (amounts[bit] == 0) {
      ++bit;
      continue;
    }
    unsigned end = bit + 1;
    while (end < amounts.size() && amounts[end] == 2 * amounts[end - 1])
      ++end;
    Value part = e.bitAnd(e.shr(x, bit), (1u << (end - bit)) - 1);
    part = e.shl(part, llvm::Log2_32(amounts[bit]));
    sum = sum ? e.add(sum, part) : part;
    bit = end;
  }
  return sum ? sum : e.i32(0);
}

ThreadCoord
Emitter::threadCoord(unsigned threads,
                     llvm::function_ref<layout::Coord(unsigned)> offset) {
  SmallVector<unsigned> rows, cols;
  for (unsigned bit = 1; bit < threads; bit *= 2) {
    layout::Coord share = offset(bit);
    rows.push_back(share.row);
    cols.push_back(share.col);
  }
  Value tid = threadId();
  return {sumOfBits(*this, tid, rows), sumOfBits(*this, tid, cols)};
}

Value Emitter::opaque(Value x) {
  return LLVM::InlineAsmOp::create(
             b, loc, b.getI32Type(), x, "mov.b32 $0, $1;", "=r,r",
             /*has_side_effects=*/true, /*is_align_stack=*/false,
             LLVM::tailcallkind::TailCallKind::None,
             LLVM::AsmDialectAttr::get(b.getContext(),
                                       LLVM::AsmDialect::AD_ATT),
             /*operand_attrs=*/ArrayAttr())
      .getRes();
}

Value Emitter::uniform(Value x) {
  return NVVM::ReduxOp::create(b, loc, x.getType(), x, NVVM::ReduxKind::OR,
                               i32(-1));
}

ThreadCoord Emitter::threadCoord(const layout::Layout &layout) {
  return threadCoord(layout.getThreads(), [&](unsigned thread) {
    return layout.threadOffset(thread);
  });
}

Value Emitter::overLanes(Value x, ArrayRef<unsigned> laneMasks,
                         llvm::function_ref<Value(Value, Value)> combine) {
  for (unsigned mask : laneMasks) {
    Value other =
        NVVM::ShflOp::create(b, loc, x.getType(), i32(-1), x, i32(mask),
                             i32(31), NVVM::ShflKind::bfly, UnitAttr());
    x = combine(x, other);
  }
  return x;
}

static VectorType pairOf(Type element) { return VectorType::get(2, element); }

static Value vectorOf(Emitter &e, Value low, Value high) {
  Value v = LLVM::UndefOp::create(e.b, e.loc, pairOf(low.getType()));
  v = LLVM::InsertElementOp::create(e.b, e.loc, v, low, e.i32(0));
  return LLVM::InsertElementOp::create(e.b, e.loc, v, high, e.i32(1));
}

Value Emitter::pack(Value low, Value high, Type element) {
  // A truncation of a pair is one cvt.rn.{bf16x2,f16x2}.f32.
  Value v = LLVM::FPTruncOp::create(b, loc, pairOf(element),
                                    vectorOf(*this, low, high));
  return LLVM::BitcastOp::create(b, loc, b.getI32Type(), v);
}

Value Emitter::join(Value low, Value high, Type element) {
  return LLVM::BitcastOp::create(b, loc, b.getI32Type(),
                                 vectorOf(*this, low, high));
}

Value Emitter::half(Value word, unsigned which, Type element) {
  Value v = LLVM::BitcastOp::create(b, loc, pairOf(element), word);
  return LLVM::ExtractElementOp::create(b, loc, v, i32(which));
}

Value frag::elementOf(Emitter &e, RegType type, ValueRange values,
                      unsigned reg) {
  if (!isPacked(type.getElement()))
    return values[reg];
  return e.half(values[reg / 2], reg % 2, type.getElement());
}

SmallVector<Value> frag::packTile(Emitter &e, RegType type,
                                  ValueRange elements) {
  if (!isPacked(type.getElement()))
    return llvm::to_vector(elements);
  SmallVector<Value> words;
  for (unsigned reg = 0; reg + 1 < elements.size(); reg += 2)
    words.push_back(
        e.join(elements[reg], elements[reg + 1], type.getElement()));
  return words;
}

Value frag::slotAddress(Emitter &e, RingType type, Value ring, Value slot) {
  if (type.getSlots() == 1)
    return ring;
  return e.advance(ring, e.mul(slot, type.getSlotBytes()));
}
