//===- FragGroupOps.cpp - checks of tiles that groups exchange ------------===//
//
//   frag.st_tile %o into %ring part %g     16 x 128 into one of 64 rows x 128
//   frag.ld_tile %ring part %c1            16 x 128, or 16 rows of a vector
//
// Invariant: a thread's registers lie in a ring at its own place plus constants:
// columns of a lane do not reach over a panel, and rows of a part begin where the
// swizzle does.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Frag/IR/Frag.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

static constexpr int32_t swizzlePeriod = 8;
/// Columns of f32 that an access takes at most.
static constexpr int32_t accessCols = 4;

static LogicalResult verifyPart(Operation *op, Type value, RingType ring,
                                int32_t col, bool load) {
  auto reg = dyn_cast<RegType>(value);
  auto vec = dyn_cast<VecType>(value);
  Type element = reg ? reg.getElement() : vec.getElement();
  if (!element.isF32() || !ring.getElement().isF32())
    return op->emitOpError()
           << "moves f32, not " << element << " and " << ring.getElement();
  if (vec && vec.getPartial())
    return op->emitOpError() << "vector is partial: reduce it first";
  if (ring.getSlots() != 1)
    return op->emitOpError()
           << "takes a ring of 1 slot but it has " << ring.getSlots();
  if (ring.getSwizzle() != 128 && (reg || ring.getSwizzle() != 0))
    return op->emitOpError()
           << "takes a ring with swizzle " << (reg ? "128" : "0 or 128")
           << " but it has " << ring.getSwizzle();
  int32_t rows = reg ? reg.getRows() : vec.getRows();
  if (ring.getRows() % rows != 0 || rows % swizzlePeriod != 0)
    return op->emitOpError() << "has " << rows << " rows but the ring has "
                             << ring.getRows() << ", not a multiple";
  int32_t cols = reg ? reg.getCols() : 1, has = ring.getCols();
  if (reg && load)
    has = int32_t(llvm::alignTo(has, layoutOf(reg).getAtom().cols));
  if (col < 0 || col + cols > has || (reg && col % accessCols != 0))
    return op->emitOpError() << "takes columns " << col << " to " << col + cols
                             << " but the ring has " << has;
  return success();
}

LogicalResult StTileOp::verify() {
  return verifyPart(*this, getValue().getType(), getRing().getType(),
                    int32_t(getCol()), /*load=*/false);
}

LogicalResult LdTileOp::verify() {
  return verifyPart(*this, getResult().getType(), getRing().getType(),
                    int32_t(getCol()), /*load=*/true);
}
