//===- Mma.cpp - ldmatrix and mma.sync ------------------------------------===//
//
// S = Q K^T of 128 x 64 x 128 on 8 warps: 8 k steps of 4 ldmatrix.x4 and 8 mma.
// Loads run ahead of the MMAs that use them by a fixed number of loads, which
// bounds the registers of operand B whatever its width.  The more rows a warp has,
// the more products a load feeds and the fewer need to be ahead.  Where A lies in
// shared memory too, its loads go along, those of a step before those of B.
//
//   load 0 .. 3, [load 4, mma mma], [load 5, mma mma], ...
//
// Addresses: with s the swizzle's share of the thread's row,
//   (row * pitch + chunk) ^ s ^ c + panel and row constants
// where c is the chunk of the load in its panel: one value for each c, the same
// for all visits and panels; the constants end in the instruction.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

/// Loads in flight for 16 rows; four x4 loads are 16 registers.
static constexpr unsigned loadsAhead = 4;

LdmatrixAddresses::LdmatrixAddresses(Emitter &e, RingType ring,
                                     const layout::Ldmatrix &loads, Value slot)
    : e(e), swizzle(swizzleOf(ring)), loads(loads), slot(slot) {
  // Broadcast operands are read by every warp alike: the offset has no warp
  // bits, and the sum leaves them out.
  ThreadCoord thread =
      e.threadCoord(loads.getLayout().getThreads(), [&](unsigned thread) {
        return loads.threadOffset(thread);
      });
  Value chunk = e.shl(thread.col, 1);
  if (swizzle.xorRowMask()) {
    Value row = e.bitAnd(e.shr(thread.row, swizzle.xorRowShift()),
                         swizzle.xorRowMask());
    chunk = e.bitXor(chunk, e.shl(row, 4));
  }
  threadBytes = e.add(e.mul(thread.row, swizzle.rowPitchBytes()), chunk);
}

SmallVector<Value, 4> LdmatrixAddresses::load(unsigned j) {
  layout::Coord offset = loads.loadOffset(j);
  unsigned panel = 0, column = offset.col;
  if (swizzle.getSwizzle()) {
    panel = offset.col / swizzle.panelCols();
    column = offset.col % swizzle.panelCols();
  }
  unsigned bytes = column * swizzle.getElementBytes();
  unsigned constant =
      panel * swizzle.panelBytes() + offset.row * swizzle.rowPitchBytes();
  // Without a swizzle the column is one more constant.
  if (!swizzle.getSwizzle()) {
    constant += bytes;
    bytes = 0;
  }
  Value &base = chunks[bytes];
  if (!base)
    base = e.advance(slot, e.bitXor(threadBytes, bytes));
  Value address = e.advance(base, constant);

  MLIRContext *ctx = e.b.getContext();
  Type i32 = e.b.getI32Type();
  auto quad = LLVM::LLVMStructType::getLiteral(ctx, {i32, i32, i32, i32});
  Value loaded = NVVM::LdMatrixOp::create(
      e.b, e.loc, quad, address, /*num=*/4,
      loads.isTransposed() ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(ctx, 8, 8), NVVM::LdStMatrixEltType::B16);
  SmallVector<Value, 4> registers;
  for (int64_t i = 0; i < 4; ++i)
    registers.push_back(
        LLVM::ExtractValueOp::create(e.b, e.loc, loaded, ArrayRef<int64_t>{i}));
  return registers;
}

/// acc += a * b for one 16 x 8 x 16 atom.
static void emitAtom(Emitter &e, NVVM::MMATypes type, ValueRange a,
                     ValueRange b, MutableArrayRef<Value> acc) {
  Type f32 = e.b.getF32Type();
  auto result =
      LLVM::LLVMStructType::getLiteral(e.b.getContext(), {f32, f32, f32, f32});
  SmallVector<Value> aArgs = llvm::to_vector(a), bArgs = llvm::to_vector(b);
  if (type == NVVM::MMATypes::f16) {
    // The op takes f16 operands as vectors, bf16 ones as words.
    auto pair = VectorType::get(2, e.b.getF16Type());
    for (SmallVector<Value> *args : {&aArgs, &bArgs})
      for (Value &arg : *args)
        arg = LLVM::BitcastOp::create(e.b, e.loc, pair, arg);
  }
  Value d = NVVM::MmaOp::create(
      e.b, e.loc, result, aArgs, bArgs, ValueRange(acc),
      ArrayRef<int64_t>{16, 8, 16}, std::nullopt, std::nullopt,
      std::array<NVVM::MMATypes, 2>{type, type},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  for (int64_t i = 0; i < 4; ++i)
    acc[i] = LLVM::ExtractValueOp::create(e.b, e.loc, d, ArrayRef<int64_t>{i});
}

namespace {

struct LdmatrixLowering : OpConversionPattern<LdmatrixOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(LdmatrixOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    auto ring = cast<RingType>(op.getRing().getType());
    layout::Ldmatrix loads = operandAOf(cast<RegType>(op.getType()));
    Value slot = slotAddress(e, ring, adaptor.getRing().front(),
                             adaptor.getPos().front());
    LdmatrixAddresses addresses(e, ring, loads, slot);
    SmallVector<SmallVector<Value>> results(1);
    for (unsigned j = 0; j < loads.loads(); ++j)
      results[0].append(addresses.load(j));
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

struct MmaLowering : OpConversionPattern<frag::MmaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(frag::MmaOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    RegType aType = op.getAFragments();
    auto ring = cast<RingType>(op.getRing().getType());
    layout::Layout aLayout = layoutOf(aType);
    layout::Layout c = layoutOf(cast<RegType>(op.getType()));
    layout::Ldmatrix loads = op.getBLoads();
    NVVM::MMATypes type =
        aType.getElement().isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
    SmallVector<SmallVector<Value>> results(1);
    SmallVector<Value> &acc = results[0];
    if (op.getAcc())
      acc = llvm::to_vector(adaptor.getAcc());
    else
      acc.assign(c.registersPerThread(), e.f32(0));

    Value slot = slotAddress(e, ring, adaptor.getRing().front(),
                             adaptor.getPos().front());
    if (op.getPart())
      slot =
          e.advance(slot, e.mul(adaptor.getPart().front(), op.getPartBytes()));
    LdmatrixAddresses addresses(e, ring, loads, slot);
    // Fragments of A, one for 16 rows and a step of k.
    layout::Ldmatrix aLoads = operandAOf(aType);
    std::optional<LdmatrixAddresses> aAddresses;
    SmallVector<Value> a;
    if (op.getAPos()) {
      auto aRing = cast<RingType>(op.getA().getType());
      aAddresses.emplace(e, aRing, aLoads,
                         slotAddress(e, aRing, adaptor.getA().front(),
                                     adaptor.getAPos().front()));
      a.resize(aLayout.machineRegistersPerThread());
    } else {
      a = llvm::to_vector(adaptor.getA());
    }

    // The loads of a step: what there is of A, then a pair of atoms of B each.
    unsigned steps = aLayout.gridCols(), pairs = loads.loadsPerStep();
    unsigned rows = c.gridRows(), ofA = aAddresses ? rows : 0;
    unsigned perStep = ofA + pairs, issued = 0;
    SmallVector<SmallVector<Value, 4>> b(steps * pairs);
    auto issue = [&](unsigned load) {
      unsigned step = load / perStep, i = load % perStep;
      if (i >= ofA) {
        unsigned j = step * pairs + i - ofA;
        b[j] = addresses.load(j);
        return;
      }
      SmallVector<Value, 4> fragment = aAddresses->load(aLoads.loadOf(step, i));
      llvm::copy(fragment, a.begin() + aLayout.gridRegister(i, step) / 2);
    };
    for (unsigned next = 0; next < steps * pairs; ++next) {
      unsigned step = next / pairs, pair = next % pairs;
      unsigned last = step * perStep + ofA + pair + loadsAhead / rows;
      for (; issued < steps * perStep && issued <= last; ++issued)
        issue(issued);
      for (unsigned which = 0; which < 2; ++which)
        for (unsigned row = 0; row < rows; ++row)
          emitAtom(e, type,
                   ArrayRef(a).slice(aLayout.gridRegister(row, step) / 2, 4),
                   ArrayRef(b[next]).slice(2 * which, 2),
                   MutableArrayRef(acc).slice(
                       c.gridRegister(row, 2 * pair + which), 4));
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

} // namespace

void frag::populateMmaPatterns(const TypeConverter &types,
                               RewritePatternSet &patterns) {
  patterns.add<LdmatrixLowering, MmaLowering>(types, patterns.getContext());
}
