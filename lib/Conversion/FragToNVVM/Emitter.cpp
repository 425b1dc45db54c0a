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

void Emitter::storeIf(Value live, unsigned space, Value address, int64_t offset,
                      ValueRange words) {
  SmallVector<Value> args = {live, address};
  llvm::append_range(args, words);
  unsigned bits = words.front().getType().getIntOrFloatBitWidth();
  if (bits == 1) {
    // A truth value in memory is a byte.
    bits = 8;
    args[2] = arith::ExtUIOp::create(b, loc, b.getI32Type(), args[2]);
  }
  bool shared = space == sharedSpace;
  std::string list, constraints = shared ? "b,r" : "b,l";
  for (size_t i = 2; i < args.size(); ++i) {
    list += (list.empty() ? "$" : ", $") + std::to_string(i);
    constraints += std::string(",") + registerClass(args[i].getType());
  }
  std::string text = shared ? "@$0 st.shared." : "@$0 st.global.";
  if (words.size() > 1) {
    text += "v" + std::to_string(words.size()) + ".";
    list = "{" + list + "}";
  }
  text += "b" + std::to_string(bits);
  text += " [$1+" + std::to_string(offset) + "], " + list + ";";
  assembly(text, constraints, args);
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

Value Emitter::isFirstLane() {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                               bitAnd(threadId(), layout::warpSize - 1),
                               i32(0));
}

Value Emitter::ofFirstLane(Value x) {
  return NVVM::ShflOp::create(b, loc, x.getType(), i32(-1), x, i32(0), i32(31),
                              NVVM::ShflKind::idx, UnitAttr());
}

void Emitter::syncWarp() { NVVM::SyncWarpOp::create(b, loc, i32(-1)); }

Value Emitter::sharedAddress(Value pointer) {
  return LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), pointer);
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

char Emitter::registerClass(Type type) {
  if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type))
    return pointer.getAddressSpace() == sharedSpace ? 'r' : 'l';
  if (type.isF32())
    return 'f';
  if (type.isInteger(64))
    return 'l';
  return type.isInteger(1) ? 'b' : 'r';
}

static LLVM::InlineAsmOp createAsm(Emitter &e, StringRef text,
                                   StringRef constraints, ValueRange args,
                                   Type result) {
  return LLVM::InlineAsmOp::create(
      e.b, e.loc, result ? TypeRange(result) : TypeRange(), args, text,
      constraints, /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(e.b.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
}

Value Emitter::behind(Value x, Value y) {
  // x | (y & 0): grids have one dimension, so that the number is 0.
  Type i32 = b.getI32Type();
  Value zero = NVVM::BlockIdZOp::create(b, loc, i32);
  auto bits = [&](Value value) -> Value {
    return LLVM::BitcastOp::create(b, loc, i32, value);
  };
  Value none = LLVM::AndOp::create(b, loc, bits(y), zero);
  Value same = LLVM::OrOp::create(b, loc, bits(x), none);
  return LLVM::BitcastOp::create(b, loc, b.getF32Type(), same);
}

Value Emitter::opaque(Value x) {
  return createAsm(*this, "mov.b32 $0, $1;", "=r,r", x, b.getI32Type())
      .getRes();
}

SmallVector<Value> Emitter::assembly(StringRef text, StringRef constraints,
                                     ValueRange args, TypeRange results) {
  std::string all = constraints.str();
  all += constraints.empty() ? "~{memory}" : ",~{memory}";
  Type type;
  if (results.size() == 1)
    type = results.front();
  else if (!results.empty())
    type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                            llvm::to_vector(results));
  auto code = createAsm(*this, text, all, args, type);
  if (results.size() <= 1)
    return SmallVector<Value>(code->getResults());
  SmallVector<Value> values;
  for (int64_t i = 0; i < int64_t(results.size()); ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, loc, code.getRes(),
                                                  ArrayRef<int64_t>{i}));
  return values;
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

Value Emitter::packHere(Value low, Value high, Type element) {
  StringRef text = element.isF16() ? "cvt.rn.f16x2.f32 $0, $1, $2;"
                                   : "cvt.rn.bf16x2.f32 $0, $1, $2;";
  return createAsm(*this, text, "=r,f,f", {high, low}, b.getI32Type()).getRes();
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

RoleAttr frag::roleOf(Operation *op) {
  while (Region *region = op->getParentRegion()) {
    op = region->getParentOp();
    if (auto dispatch = dyn_cast<RoleDispatchOp>(op))
      return dispatch.getRole(region->getRegionNumber());
  }
  return {};
}

unsigned frag::executingThreads(Operation *op) {
  if (RoleAttr role = roleOf(op))
    return role.getActive() * layout::warpSize;
  return op->getParentOfType<LLVM::LLVMFuncOp>()
      ->getAttrOfType<DenseI32ArrayAttr>(
          NVVM::NVVMDialect::getReqntidAttrName())[0];
}

Value frag::executingThread(Emitter &e, Operation *op) {
  Value tid = e.threadId();
  // rolesToBranches refuses roles whose threads the low bits do not number.
  if (RoleAttr role = roleOf(op))
    return e.bitAnd(tid, role.getWarps() * layout::warpSize - 1);
  return tid;
}

Value frag::slotAddress(Emitter &e, RingType type, Value ring, Value slot) {
  if (type.getSlots() == 1)
    return ring;
  return e.advance(ring, e.mul(slot, type.getSlotBytes()));
}

Value frag::chunkAddress(Emitter &e, const layout::Swizzle &swizzle, Value row,
                         Value chunk) {
  constexpr unsigned chunkBytes = 16;
  Value bytes = e.mul(row, swizzle.rowPitchBytes());
  unsigned chunksPerPanel = swizzle.rowPitchBytes() / chunkBytes;
  Value inPanel = chunk;
  if (swizzle.panels() > 1 && swizzle.getSwizzle()) {
    Value panel = e.shr(chunk, llvm::Log2_32(chunksPerPanel));
    bytes = e.add(bytes, e.mul(panel, swizzle.panelBytes()));
    inPanel = e.bitAnd(chunk, chunksPerPanel - 1);
  }
  if (swizzle.xorRowMask())
    inPanel = e.bitXor(inPanel, e.bitAnd(e.shr(row, swizzle.xorRowShift()),
                                         swizzle.xorRowMask()));
  return e.add(bytes, e.shl(inPanel, llvm::Log2_32(chunkBytes)));
}
