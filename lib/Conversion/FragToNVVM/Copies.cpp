//===- Copies.cpp - cp.async, its groups, the CTA barrier -----------------===//
//
// A slot is filled by the CTA's or the role's threads in chunks of 16 bytes.  With C chunks a row
// and T threads, thread t copies chunk t % C of rows t / C + i * T / C:
// neighbouring threads read neighbouring chunks of a row, and the chunk's place
// in the swizzled slot is the same for every i when T / C is a multiple of 8.
//
//   64 x 128 bf16, 256 threads: 16 chunks a row, 4 copies a thread
//
// Rows that are not valid copy 0 bytes and are filled with zeros; their source
// is the base, so that the address is legal all the same.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

static constexpr unsigned chunkBytes = 16;

/// Byte in the slot of chunk `chunk` of row `row`.
static Value chunkAddress(Emitter &e, const layout::Swizzle &swizzle, Value row,
                          Value chunk) {
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

namespace {

struct CpAsyncLowering : OpConversionPattern<CpAsyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(CpAsyncOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    auto ring = cast<RingType>(op.getRing().getType());
    layout::Swizzle swizzle = swizzleOf(ring);
    Type element = ring.getElement();
    unsigned elements = chunkBytes * 8 / element.getIntOrFloatBitWidth();
    unsigned chunks = ring.getCols() / elements;
    unsigned threads = executingThreads(op);
    if (!llvm::isPowerOf2_32(chunks) || threads % chunks != 0)
      return op.emitError("copy needs a power of two of chunks a row that "
                          "divides ")
             << threads << " threads but a row has " << chunks;
    unsigned step = threads / chunks;
    unsigned copies = llvm::divideCeil(ring.getRows(), step);

    // A copy outside the loops over key blocks runs once an item: its addresses
    // must not be made before and kept through those loops.
    Value tid = executingThread(e, op);
    if (!op->getParentOfType<scf::ForOp>())
      tid = e.opaque(tid);
    Value chunk = e.bitAnd(tid, chunks - 1);
    Value firstRow = e.shr(tid, llvm::Log2_32(chunks));
    Value slot = slotAddress(e, ring, adaptor.getRing().front(),
                             adaptor.getPos().front());
    Value col = e.extend(e.mul(chunk, elements));
    // The row's bits that the swizzle looks at repeat every 8 rows.
    bool sameChunk = swizzle.xorRowMask() == 0 || step % 8 == 0;
    Value first = e.advance(slot, chunkAddress(e, swizzle, firstRow, chunk));
    for (unsigned i = 0; i < copies; ++i) {
      OpBuilder::InsertionGuard guard(rewriter);
      Value row = e.add(firstRow, int64_t(i) * step);
      if ((i + 1) * step > unsigned(ring.getRows())) {
        Value inside = arith::CmpIOp::create(rewriter, op.getLoc(),
                                             arith::CmpIPredicate::slt, row,
                                             e.i32(ring.getRows()));
        auto branch = scf::IfOp::create(rewriter, op.getLoc(), inside,
                                        /*withElseRegion=*/false);
        rewriter.setInsertionPointToStart(&branch.getThenRegion().front());
      }
      auto [offset, valid] = source(op, row, rewriter);
      Value target =
          sameChunk
              ? e.advance(first, int64_t(i) * step * swizzle.rowPitchBytes())
              : e.advance(slot, chunkAddress(e, swizzle, row, chunk));
      Value index = arith::SelectOp::create(rewriter, op.getLoc(), valid,
                                            e.add(offset, col), e.i64(0));
      Value address = e.element(adaptor.getBase().front(), element, index);
      Value bytes = arith::SelectOp::create(rewriter, op.getLoc(), valid,
                                            e.i32(chunkBytes), e.i32(0));
      NVVM::CpAsyncOp::create(rewriter, op.getLoc(), target, address,
                              chunkBytes, NVVM::LoadCacheModifierKind::CG,
                              bytes);
    }
    rewriter.eraseOp(op);
    return success();
  }

  /// The row's region: element offset and whether the row exists.
  static std::pair<Value, Value> source(CpAsyncOp op, Value row,
                                        ConversionPatternRewriter &rewriter) {
    Block &body = op.getBody().front();
    IRMapping map;
    map.map(body.getArgument(0), row);
    for (Operation &nested : body.without_terminator())
      rewriter.clone(nested, map);
    Operation *yield = body.getTerminator();
    return {map.lookupOrDefault(yield->getOperand(0)),
            map.lookupOrDefault(yield->getOperand(1))};
  }
};

struct CommitLowering : OpConversionPattern<CpAsyncCommitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(CpAsyncCommitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVM::CpAsyncCommitGroupOp::create(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};

struct WaitLowering : OpConversionPattern<CpAsyncWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(CpAsyncWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVM::CpAsyncWaitGroupOp::create(rewriter, op.getLoc(), op.getPending());
    rewriter.eraseOp(op);
    return success();
  }
};

struct CtaSyncLowering : OpConversionPattern<CtaSyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(CtaSyncOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    NVVM::BarrierOp::create(rewriter, op.getLoc());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void frag::populateCopyPatterns(const TypeConverter &types,
                                RewritePatternSet &patterns) {
  patterns.add<CpAsyncLowering, CommitLowering, WaitLowering, CtaSyncLowering>(
      types, patterns.getContext());
}
