//===- FragSmemOps.cpp - checks of ldmatrix and MMA -----------------------===//
//
// The shapes of C = A * B + acc with B in a ring:
//
//   nk: A 128x128, ring 64x128 (n x k)  -> 128x64
//   kn: A 128x64,  ring 64x128 (k x n)  -> 128x128
//   nk .. part: A 16x128, 16 of 64 rows -> 16x16
//
// Invariant: the layouts are those of the atom: mma_a for A, mma_c for C.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Frag/IR/Frag.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

static LogicalResult verifyOperandA(Operation *op, RegType a) {
  if (a.getLayout().getAtom().getValue() != "mma_a")
    return op->emitOpError()
           << "operand A has layout '" << a.getLayout().getAtom().getValue()
           << "' but the atom takes 'mma_a'";
  return success();
}

LogicalResult LdmatrixOp::verify() {
  RingType ring = getRing().getType();
  RegType tile = getResult().getType();
  if (failed(verifyOperandA(*this, tile)))
    return failure();
  if (ring.getElement() != tile.getElement())
    return emitOpError() << "ring holds " << ring.getElement()
                         << " but the result holds " << tile.getElement();
  if (ring.getRows() != tile.getRows() || ring.getCols() != tile.getCols())
    return emitOpError() << "ring is " << ring.getRows() << "x"
                         << ring.getCols() << " but the result is "
                         << tile.getRows() << "x" << tile.getCols();
  std::string error;
  if (!layout::Ldmatrix::make(layoutOf(tile), layout::MmaOperand::A, error))
    return emitOpError() << error;
  return success();
}

RegType MmaOp::getAFragments() {
  if (auto registers = dyn_cast<RegType>(getA().getType()))
    return registers;
  auto ring = cast<RingType>(getA().getType());
  auto layout =
      LayoutAttr::get(getContext(), StringAttr::get(getContext(), "mma_a"),
                      getResult().getType().getLayout().getWarps(),
                      getResult().getType().getLayout().getGroups());
  return RegType::getChecked([&] { return emitOpError(); }, getContext(),
                             ring.getRows(), ring.getCols(), ring.getElement(),
                             layout);
}

int32_t MmaOp::getBRows() {
  if (!getPart())
    return getRing().getType().getRows();
  return getBOrder() == BOrder::NK ? getResult().getType().getCols()
                                   : getAFragments().getCols();
}

layout::Ldmatrix MmaOp::getBLoads() {
  return operandBOf(getRing().getType(), getBOrder(), unsigned(getBRows()),
                    unsigned(getResult().getType().getLayout().getWarps()));
}

int64_t MmaOp::getPartBytes() {
  return int64_t(getBRows()) * swizzleOf(getRing().getType()).rowPitchBytes();
}

LogicalResult MmaOp::verify() {
  if (getAtom() != mmaM16N8K16)
    return emitOpError() << "atom '" << getAtom()
                         << "' is not known (known: " << mmaM16N8K16 << ")";
  auto slots = dyn_cast<RingType>(getA().getType());
  if (bool(slots) != bool(getAPos()))
    return emitOpError("takes A from a ring iff it has a position in it");
  if (slots && getAPos().getType().getSlots() != slots.getSlots())
    return emitOpError() << "position in A has "
                         << getAPos().getType().getSlots()
                         << " slots but the ring has " << slots.getSlots();
  RegType a = getAFragments(), c = getResult().getType();
  RingType ring = getRing().getType();
  if (!a || failed(verifyOperandA(*this, a)))
    return failure();
  if (c.getLayout().getAtom().getValue() != "mma_c" || !c.getElement().isF32())
    return emitOpError() << "result is " << c
                         << " but the atom gives f32 in layout 'mma_c'";
  if (ring.getElement() != a.getElement())
    return emitOpError() << "A holds " << a.getElement() << " but the ring "
                         << ring.getElement();
  bool nk = getBOrder() == BOrder::NK;
  int32_t rows = getBRows();
  // Parts begin where the swizzle does.
  if (ring.getRows() % rows != 0 || (getPart() && rows % 16 != 0))
    return emitOpError() << "takes a part of " << rows << " rows of "
                         << ring.getRows()
                         << " but parts are a multiple of 16 rows that divides "
                            "the slot's";
  int32_t k = nk ? ring.getCols() : rows;
  int32_t n = nk ? rows : ring.getCols();
  if (a.getCols() != k)
    return emitOpError() << "A has " << a.getCols() << " columns but B has "
                         << k << " rows of k";
  if (c.getRows() != a.getRows() || c.getCols() != n)
    return emitOpError() << "result is " << c.getRows() << "x" << c.getCols()
                         << " but the product is " << a.getRows() << "x" << n;
  if (a.getLayout().getWarps() != c.getLayout().getWarps())
    return emitOpError() << "A has " << a.getLayout().getWarps()
                         << " warps but the result has "
                         << c.getLayout().getWarps();
  if (a.getLayout().getGroups() != c.getLayout().getGroups())
    return emitOpError() << "A has " << a.getLayout().getGroups()
                         << " groups but the result has "
                         << c.getLayout().getGroups();
  std::string error;
  auto b = layout::Layout::make("mma_b", k, n, a.getLayout().getWarps(), error);
  if (!b || !layout::Ldmatrix::make(*b,
                                    nk ? layout::MmaOperand::BFromNK
                                       : layout::MmaOperand::BFromKN,
                                    error))
    return emitOpError() << error;
  if (getAcc() && getAcc().getType() != c)
    return emitOpError() << "acc is " << getAcc().getType()
                         << " but the result is " << c;
  return success();
}
