//===- Wgmma.cpp - products of a warpgroup --------------------------------===//
//
//   frag.wgmma "wgmma.m64n128k16" kn %P, %v[%p] acc %O
//     -> one inline asm: wgmma.fence
//                        a step of k: descriptor of V + constant, wgmma with A
//                        in registers
//                        wgmma.commit_group
//        its 64 f32 results are tied to the accumulator
//   frag.wgmma_wait pending 0 %f pin %p
//     -> wgmma.wait_group 0 with accumulator and pinned values tied through it
//
// A whole GEMM is one block, so LLVM can put nothing between its steps, and
// ties make each register go in and out as itself: no moves.  Nothing can read
// an accumulator before the wait, since its values come out of that only.
//
// Descriptors: a low word in a register, made once a slot; its steps are
// constants in the block (include/attn/Layout/Wgmma.h).
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "attn/Layout/Wgmma.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;
using layout::WgmmaMajor;
using layout::WgmmaOperand;

static FailureOr<WgmmaOperand> operandOf(Operation *op, RingType type,
                                         WgmmaMajor major) {
  std::string error;
  auto operand = WgmmaOperand::make(swizzleOf(type), major, error);
  if (!operand)
    return op->emitOpError(error);
  return *operand;
}

/// Low word of a slot's descriptor.  The slot is added to a finished word, so
/// that all but one multiplication is the same for every slot.
static Value lowWord(Emitter &e, const WgmmaOperand &operand, RingType type,
                     Value ring, Value slot) {
  Value start = e.bitAnd(e.sharedAddress(ring), WgmmaOperand::addressMask);
  start = e.shr(start, llvm::Log2_32(WgmmaOperand::unitBytes));
  Value word =
      arith::OrIOp::create(e.b, e.loc, start, e.i32(operand.lowBits()));
  if (type.getSlots() == 1)
    return word;
  return e.add(word,
               e.mul(slot, type.getSlotBytes() / WgmmaOperand::unitBytes));
}

namespace {

/// The text of a GEMM.  Operands: results, registers or descriptor of A,
/// descriptor of B, then the tied accumulator.
class WgmmaText {
public:
  WgmmaText(unsigned columns, bool f16, unsigned results)
      : results(results), columns(columns), type(f16 ? "f16" : "bf16") {
    for (unsigned i = 0; i < results; ++i)
      accumulator += (i ? ", $" : "$") + std::to_string(i);
  }

  std::string wholeGemm(const WgmmaOperand *a, const WgmmaOperand &b,
                        bool accumulate) {
    text = "{\n.reg .pred first, next;\n.reg .b32 wa, wb, ha, hb;\n"
           ".reg .b64 da, db;\n";
    line("setp.ne.b32 first, ", accumulate ? 1 : 0, ", 0;");
    line("setp.ne.b32 next, 1, 0;");
    if (a)
      line("mov.b32 ha, ", a->highWord(), ";");
    line("mov.b32 hb, ", b.highWord(), ";");
    line("wgmma.fence.sync.aligned;");
    // Behind the results: one descriptor or four registers a step.
    unsigned bInput = results + (a ? 1 : 4 * b.steps());
    bool transposed = b.getMajor() == WgmmaMajor::MN;
    for (unsigned step = 0; step < b.steps(); ++step) {
      std::string left = a ? "da" : registersOfStep(step);
      if (a)
        descriptor("wa", "ha", "da", results, a->stepOffset(step));
      descriptor("wb", "hb", "db", bInput, b.stepOffset(step));
      line("wgmma.mma_async.sync.aligned.m64n", columns, "k16.f32.", type, ".",
           type, " {", accumulator, "}, ", left, ", db, ",
           step ? "next" : "first", ", 1, 1, ", a ? "0, " : "",
           transposed ? 1 : 0, ";");
    }
    line("wgmma.commit_group.sync.aligned;");
    return text + "}";
  }

private:
  template <typename... Parts> void line(Parts... parts) {
    llvm::raw_string_ostream os(text);
    (os << ... << parts) << "\n";
  }

  /// A descriptor from an input's low word, `offset` units on.
  void descriptor(const char *low, const char *high, const char *pair,
                  unsigned input, uint32_t offset) {
    line("add.s32 ", low, ", $", input, ", ", offset, ";");
    line("mov.b64 ", pair, ", {", low, ", ", high, "};");
  }

  std::string registersOfStep(unsigned step) const {
    std::string list;
    for (unsigned i = 0; i < 4; ++i)
      list += (i ? ", $" : "{$") + std::to_string(results + 4 * step + i);
    return list + "}";
  }

  unsigned results, columns;
  StringRef type;
  std::string accumulator, text;
};

struct ViewRowsLowering : OpConversionPattern<ViewRowsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ViewRowsOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    RingType type = op.getRing().getType();
    FailureOr<WgmmaOperand> operand = operandOf(op, type, WgmmaMajor::K);
    if (failed(operand))
      return failure();
    Value word = lowWord(e, *operand, type, adaptor.getRing().front(),
                         adaptor.getPos().front());
    // `first` is a multiple of 8: what it is for one row is what it is for 8,
    // by 8.
    rewriter.replaceOp(op, e.add(word, e.mul(adaptor.getFirst().front(),
                                             operand->rowOffset(8) / 8)));
    return success();
  }
};

struct WgmmaLowering : OpConversionPattern<WgmmaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(WgmmaOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    InflightType cType = op.getResult().getType();
    unsigned results = layoutOf(cType.getReg()).registersPerThread();
    RingType ring = op.getRing().getType();
    FailureOr<WgmmaOperand> b = operandOf(
        op, ring,
        op.getBOrder() == BOrder::NK ? WgmmaMajor::K : WgmmaMajor::MN);
    if (failed(b))
      return failure();
    std::optional<WgmmaOperand> a;
    SmallVector<Value> args;
    if (isa<ViewType>(op.getA().getType())) {
      // Its panels are as far apart as those of the slot that it shows.
      auto view = op.getA().getDefiningOp<ViewRowsOp>();
      if (!view)
        return op.emitOpError() << "operand A must come from frag.view_rows "
                                   "itself";
      FailureOr<WgmmaOperand> made =
          operandOf(op, view.getRing().getType(), WgmmaMajor::K);
      if (failed(made))
        return failure();
      a = *made;
      args.append(adaptor.getA().begin(), adaptor.getA().end());
    } else {
      appendRegisters(cast<RegType>(op.getA().getType()), adaptor.getA(), args);
    }
    std::string constraints;
    for (unsigned i = 0; i < results; ++i)
      constraints += i ? ",=f" : "=f";
    args.push_back(lowWord(e, *b, ring, adaptor.getRing().front(),
                           adaptor.getPos().front()));
    for (size_t i = 0; i < args.size(); ++i)
      constraints += ",r";
    if (op.getAcc()) {
      args.append(adaptor.getAcc().begin(), adaptor.getAcc().end());
      for (unsigned i = 0; i < results; ++i)
        constraints += "," + std::to_string(i);
    }
    WgmmaText text(cType.getCols(), ring.getElement().isF16(), results);
    SmallVector<SmallVector<Value>> out = {e.assembly(
        text.wholeGemm(a ? &*a : nullptr, *b, bool(op.getAcc())), constraints,
        args, SmallVector<Type>(results, rewriter.getF32Type()))};
    rewriter.replaceOpWithMultiple(op, std::move(out));
    return success();
  }

  /// Four registers a step, in the order of the layout's grid.
  static void appendRegisters(RegType type, ValueRange values,
                              SmallVectorImpl<Value> &args) {
    layout::Layout layout = layoutOf(type);
    for (unsigned step = 0; step < layout.gridCols(); ++step)
      llvm::append_range(args,
                         values.slice(layout.gridRegister(0, step) / 2, 4));
  }
};

struct WgmmaWaitLowering : OpConversionPattern<WgmmaWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(WgmmaWaitOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    SmallVector<Value> through = llvm::to_vector(adaptor.getInflight());
    for (ValueRange pinned : adaptor.getPinned())
      llvm::append_range(through, pinned);
    std::string outputs, ties;
    SmallVector<Type> types;
    for (auto [i, value] : llvm::enumerate(through)) {
      types.push_back(value.getType());
      outputs += (i ? ",=" : "=") +
                 std::string(1, Emitter::registerClass(value.getType()));
      ties += "," + std::to_string(i);
    }
    std::string text = "wgmma.wait_group.sync.aligned " +
                       std::to_string(op.getPending()) + ";";
    ArrayRef<Value> values;
    SmallVector<Value> waited =
        e.assembly(text, outputs + ties, through, types);
    values = waited;
    SmallVector<SmallVector<Value>> results;
    auto take = [&](size_t count) {
      results.emplace_back(values.take_front(count));
      values = values.drop_front(count);
    };
    take(adaptor.getInflight().size());
    for (ValueRange pinned : adaptor.getPinned())
      take(pinned.size());
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

} // namespace

void frag::populateWgmmaPatterns(const TypeConverter &types,
                                 RewritePatternSet &patterns) {
  patterns.add<ViewRowsLowering, WgmmaLowering, WgmmaWaitLowering>(
      types, patterns.getContext());
}
