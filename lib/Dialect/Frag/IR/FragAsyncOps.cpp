//===- FragAsyncOps.cpp - copies by TMA and products by wgmma -------------===//
//
// The shapes of a copy and of a product whose agents finish later:
//
//   box 64x128x1x1 = 8192 elements -> each of the 2 panels of a slot 128x128
//   A 64x128 (view or registers), ring 128x128 nk -> 64x128 under way
//
// Invariant: an accumulator under way has a type of its own, so nothing but
// frag.wgmma_wait can take it.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Frag/IR/Frag.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

//===----------------------------------------------------------------------===//
// TMA
//===----------------------------------------------------------------------===//

TmapDim TmapOp::getDim(unsigned i) {
  return *symbolizeTmapDim(cast<StringAttr>(getDims()[i]).getValue());
}

LogicalResult TmapOp::verify() {
  if (getName() != "q" && getName() != "k" && getName() != "v")
    return emitOpError() << "tensor '" << getName()
                         << "' is not known (known: q, k, v)";
  if (int32_t(getOffset()) < 0 || int32_t(getOffset()) % alignment)
    return emitOpError() << "lies at " << int32_t(getOffset())
                         << " which is not a multiple of " << alignment;
  if (int32_t(getPack()) < 1)
    return emitOpError() << "packs " << int32_t(getPack())
                         << " heads but needs at least 1";
  int32_t promotion = int32_t(getPromotion());
  if (promotion != 0 && promotion != 64 && promotion != 128 && promotion != 256)
    return emitOpError() << "promotion " << promotion
                         << " (known: 0, 64, 128, 256)";
  TmapType type = getTmap().getType();
  if (getDims().size() != type.getBox().size())
    return emitOpError() << "names " << getDims().size()
                         << " dimensions but the box has "
                         << type.getBox().size();
  unsigned seen = 0;
  for (Attribute attr : getDims()) {
    StringRef name = cast<StringAttr>(attr).getValue();
    std::optional<TmapDim> dim = symbolizeTmapDim(name);
    if (!dim)
      return emitOpError() << "dimension '" << name
                           << "' is not known (known: dim, group, token, "
                              "head, batch)";
    if (seen & 1u << unsigned(*dim))
      return emitOpError() << "names dimension '" << name << "' twice";
    seen |= 1u << unsigned(*dim);
  }
  if (getDim(0) != TmapDim::Dim)
    return emitOpError() << "innermost dimension is '"
                         << stringifyTmapDim(getDim(0))
                         << "' but must be 'dim'";
  return success();
}

int64_t TmaLoadOp::getRows() {
  TmapType type = getTmap().getType();
  return type.getBoxBytes() / (type.getBox()[0] * bytesOf(type.getElement()));
}

int64_t TmaLoadOp::getBytes() {
  return getTmap().getType().getBoxBytes() *
         swizzleOf(getRing().getType()).panels();
}

LogicalResult TmaLoadOp::verify() {
  TmapType tmap = getTmap().getType();
  RingType ring = getRing().getType();
  if (getCoordinates().size() + 1 != tmap.getBox().size())
    return emitOpError() << "has " << getCoordinates().size()
                         << " coordinates but the tensor map has "
                         << tmap.getBox().size() - 1
                         << " dimensions behind the first";
  if (tmap.getElement() != ring.getElement())
    return emitOpError() << "copies " << tmap.getElement() << " into a ring of "
                         << ring.getElement();
  if (tmap.getSwizzle() != ring.getSwizzle())
    return emitOpError() << "swizzle of the tensor map is " << tmap.getSwizzle()
                         << " but that of the ring " << ring.getSwizzle();
  layout::Swizzle swizzle = swizzleOf(ring);
  if (tmap.getBox()[0] != int64_t(swizzle.panelCols()))
    return emitOpError() << "innermost box has " << tmap.getBox()[0]
                         << " columns but a panel of the ring "
                         << swizzle.panelCols();
  if (getFirst() &&
      (tmap.getBoxBytes() > int64_t(swizzle.panelBytes()) || getRows() % 8))
    return emitOpError() << "box has " << getRows() << " rows but a slot "
                         << ring.getRows()
                         << ", and a part of it a multiple of 8";
  if (!getFirst() && tmap.getBoxBytes() != int64_t(swizzle.panelBytes()))
    return emitOpError() << "box has " << tmap.getBoxBytes()
                         << " bytes but a panel of the ring "
                         << swizzle.panelBytes();
  if (!(*this)->getParentOfType<ElectOp>())
    return emitOpError() << "is for one thread and must be in frag.elect";
  if (getBars().getType().getLanes() != 1)
    return emitOpError() << "barriers have " << getBars().getType().getLanes()
                         << " lanes but bytes come on one";
  return success();
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

int32_t attn::frag::wgmmaColumns(StringRef atom) {
  int32_t columns = 0;
  if (!atom.consume_front("wgmma.m64n") || atom.consumeInteger(10, columns) ||
      atom != "k16" || columns < 8 || columns > 256 || columns % 8)
    return 0;
  return columns;
}

LogicalResult ViewRowsOp::verify() {
  RingType ring = getRing().getType();
  ViewType view = getView().getType();
  if (ring.getElement() != view.getElement() ||
      ring.getCols() != view.getCols() ||
      ring.getSwizzle() != view.getSwizzle())
    return emitOpError() << "view is " << view << " but the ring is " << ring;
  if (view.getRows() > ring.getRows())
    return emitOpError() << "view has " << view.getRows()
                         << " rows but a slot has " << ring.getRows();
  return success();
}

LogicalResult WgmmaOp::verify() {
  int32_t columns = wgmmaColumns(getAtom());
  if (!columns)
    return emitOpError() << "atom '" << getAtom()
                         << "' is not known (known: wgmma.m64n<N>k16, N a "
                            "multiple of 8 from 8 to 256)";
  InflightType c = getResult().getType();
  RingType ring = getRing().getType();
  int32_t rows, cols;
  Type element;
  if (auto view = dyn_cast<ViewType>(getA().getType())) {
    rows = view.getRows();
    cols = view.getCols();
    element = view.getElement();
  } else {
    auto reg = cast<RegType>(getA().getType());
    rows = reg.getRows();
    cols = reg.getCols();
    element = reg.getElement();
    StringRef atom = reg.getLayout().getAtom().getValue();
    if (atom != "wgmma_a")
      return emitOpError() << "operand A has layout '" << atom
                           << "' but the atom takes 'wgmma_a'";
  }
  if (c.getLayout().getAtom().getValue() != "wgmma_c" ||
      !c.getElement().isF32())
    return emitOpError() << "result is " << c
                         << " but the atom gives f32 in layout 'wgmma_c'";
  if (ring.getElement() != element)
    return emitOpError() << "A holds " << element << " but the ring "
                         << ring.getElement();
  bool nk = getBOrder() == BOrder::NK;
  int32_t k = nk ? ring.getCols() : ring.getRows();
  int32_t n = nk ? ring.getRows() : ring.getCols();
  if (cols != k)
    return emitOpError() << "A has " << cols << " columns but B has " << k
                         << " rows of k";
  if (k % 16)
    return emitOpError() << "k is " << k << " but a step takes 16";
  if (columns != n)
    return emitOpError() << "atom has " << columns << " columns but B has "
                         << n;
  // One accumulator of 64 rows: the warps of one warpgroup.
  if (rows != 64 || c.getRows() != 64 || c.getCols() != n)
    return emitOpError() << "A has " << rows << " rows and the result is "
                         << c.getRows() << "x" << c.getCols()
                         << " but the atom gives 64x" << n;
  assert(c.getLayout().getWarps() == 4 && "64 rows in this layout");
  if (getAcc() && getAcc().getType() != c.getReg())
    return emitOpError() << "acc is " << getAcc().getType()
                         << " but the result is " << c.getReg();
  return success();
}

LogicalResult WgmmaWaitOp::inferReturnTypes(MLIRContext *context,
                                            std::optional<Location> location,
                                            ValueRange operands, DictionaryAttr,
                                            OpaqueProperties, RegionRange,
                                            SmallVectorImpl<Type> &types) {
  auto inflight = dyn_cast<InflightType>(operands[0].getType());
  if (!inflight)
    return emitOptionalError(location, "waits for a value that is not under "
                                       "way");
  types.push_back(inflight.getReg());
  llvm::append_range(types, operands.drop_front().getTypes());
  return success();
}

LogicalResult WgmmaWaitOp::verify() {
  if (int32_t(getPending()) < 0)
    return emitOpError() << "waits until at most " << int32_t(getPending())
                         << " products are under way";
  return success();
}
