//===- Copies.cpp - cp.async, its groups, the CTA barrier -----------------===//
//
// A slot is filled by the CTA's or the role's threads in chunks of 16 bytes.  With C chunks a row
// and T threads, thread t copies chunk t % C of rows t / C + i * T / C:
// neighbouring threads read neighbouring chunks of a row, and the chunk's place
// in the swizzled slot is the same for every i when T / C is a multiple of 8.
//
//   64 x 128 bf16, 256 threads: 16 chunks a row, 4 copies a thread
//
// C must be a power of two: other rows are cut into pieces, 12 chunks into 8 and 4.
//
// Rows that are not valid copy 0 bytes and are filled with zeros; nothing is
// read then, so their source may lie anywhere.
//
// A thread's rows are a fixed distance apart.  Where the row's offset is affine in
// the row, which is seen from the region, each address is the one before plus the
// same number of bytes: two registers are kept through the loop instead of two a
// row.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

static constexpr unsigned chunkBytes = 16;

namespace {

struct CpAsyncLowering : OpConversionPattern<CpAsyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(CpAsyncOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Emitter e(rewriter, op.getLoc());
    auto ring = cast<RingType>(op.getRing().getType());
    Type element = ring.getElement();
    unsigned chunks = ring.getCols() * bytesOf(element) / chunkBytes;
    Value tid = threadOf(op, e);
    Piece piece{op, adaptor.getBase().front(),
                slotAddress(e, ring, adaptor.getRing().front(),
                            adaptor.getPos().front()),
                tid, executingThreads(op)};
    if (Value slope = slopeOf(op, e))
      piece.rowBytes = e.mul(slope, bytesOf(element));
    for (; piece.chunk < chunks; piece.chunk += piece.chunks) {
      piece.chunks = llvm::bit_floor(
          std::min(chunks - piece.chunk, piece.threads & -piece.threads));
      copyPiece(piece, rewriter);
    }
    rewriter.eraseOp(op);
    return success();
  }

  /// The thread's number, such that addresses made from it are kept through the
  /// loop over key blocks that the copy stands in and no further: what runs once
  /// an item must not take registers from those loops.
  static Value threadOf(CpAsyncOp op, Emitter &e) {
    scf::ForOp loop;
    for (Operation *up = op; (up = up->getParentOp());)
      if (auto found = dyn_cast<scf::ForOp>(up))
        loop = found;
    OpBuilder::InsertionGuard guard(e.b);
    if (loop)
      e.b.setInsertionPoint(loop);
    return e.opaque(executingThread(e, op));
  }

  /// Some neighbouring chunks of every row.
  struct Piece {
    CpAsyncOp op;
    Value base, slot, thread;
    unsigned threads;
    Value rowBytes = {}; ///< from a row to the next; null if that differs
    unsigned chunk = 0, chunks = 0;
  };

  static void copyPiece(const Piece &piece,
                        ConversionPatternRewriter &rewriter) {
    CpAsyncOp op = piece.op;
    Emitter e(rewriter, op.getLoc());
    auto ring = cast<RingType>(op.getRing().getType());
    layout::Swizzle swizzle = swizzleOf(ring);
    Type element = ring.getElement();
    unsigned step = piece.threads / piece.chunks;
    unsigned copies = llvm::divideCeil(ring.getRows(), step);
    Value chunk = e.add(e.bitAnd(piece.thread, piece.chunks - 1), piece.chunk);
    Value firstRow = e.shr(piece.thread, llvm::Log2_32(piece.chunks));
    Value col = e.extend(e.mul(chunk, chunkBytes / bytesOf(element)));
    // The row's bits that the swizzle looks at repeat every 8 rows.
    bool sameChunk = swizzle.xorRowMask() == 0 || step % 8 == 0;
    Value first =
        e.advance(piece.slot, chunkAddress(e, swizzle, firstRow, chunk));
    auto addressOf = [&](Value offset) {
      return e.element(piece.base, element, e.add(offset, col));
    };
    Value next, distance;
    if (piece.rowBytes) {
      next = addressOf(source(op, firstRow, rewriter).first);
      distance = e.mul(piece.rowBytes, step);
    }
    for (unsigned i = 0; i < copies; ++i) {
      OpBuilder::InsertionGuard guard(rewriter);
      Value row = e.add(firstRow, int64_t(i) * step);
      if ((i + 1) * step > unsigned(ring.getRows())) { // the last one
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
              : e.advance(piece.slot, chunkAddress(e, swizzle, row, chunk));
      Value bytes = arith::SelectOp::create(rewriter, op.getLoc(), valid,
                                            e.i32(chunkBytes), e.i32(0));
      NVVM::CpAsyncOp::create(rewriter, op.getLoc(), target,
                              next ? next : addressOf(offset), chunkBytes,
                              NVVM::LoadCacheModifierKind::CG, bytes);
      if (next && i + 1 < copies)
        next = e.advance(next, distance);
    }
  }

  /// What the row's offset grows by from row to row, an i64; null if it is not
  /// affine in the row.
  static Value slopeOf(CpAsyncOp op, Emitter &e) {
    Block &body = op.getBody().front();
    // Null: the value does not depend on the row, and is made here once more.
    llvm::DenseMap<Value, Value> slopes;
    IRMapping same;
    slopes[body.getArgument(0)] = e.i64(1);
    for (Operation &nested : body.without_terminator()) {
      SmallVector<Value> of, operands;
      for (Value operand : nested.getOperands()) {
        of.push_back(slopes.lookup(operand));
        operands.push_back(same.lookupOrDefault(operand));
      }
      if (llvm::none_of(of, [](Value slope) { return bool(slope); })) {
        e.b.clone(nested, same);
        continue;
      }
      Value slope;
      if (isa<arith::ExtUIOp, arith::ExtSIOp>(nested))
        slope = of[0]; // rows of a slot are few and not negative
      else if (isa<arith::AddIOp>(nested) && of[0] && of[1])
        slope = e.add(of[0], of[1]);
      else if (isa<arith::AddIOp>(nested))
        slope = of[0] ? of[0] : of[1];
      else if (isa<arith::MulIOp>(nested) && !(of[0] && of[1]) &&
               nested.getResult(0).getType().isInteger(64))
        slope = arith::MulIOp::create(e.b, e.loc, of[0] ? of[0] : operands[0],
                                      of[1] ? of[1] : operands[1]);
      else if (!isa<arith::CmpIOp>(nested))
        return {};
      else
        continue; // of the row's validity
      slopes[nested.getResult(0)] = slope;
    }
    return slopes.lookup(body.getTerminator()->getOperand(0));
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
