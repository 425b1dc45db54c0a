//===- Tiles.cpp - tiles in the scratch buffer ----------------------------===//
//
// Allocation is a stack: a region frees what it took when it ends (Control.cpp
// resets `top`), and an op writes into an operand's buffer when that operand
// dies in the op.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attn::cpu {

Buffer KernelLowering::allocate(Buffer::Layout layout, int64_t outer,
                                int64_t cols) {
  Buffer b;
  b.layout = layout;
  b.cols = cols;
  b.pitch = llvm::alignTo(cols, lanes);
  b.outer = layout == Buffer::Rows ? llvm::alignTo(outer, rowBlock) : outer;
  b.offset = top;
  int64_t floats = b.outer * b.pitch;
  top = llvm::alignTo(top + floats * 4, 64);
  high = std::max(high, top);
  return b;
}

Buffer KernelLowering::allocateFor(Type type) {
  if (auto tile = dyn_cast<TileType>(type))
    return allocate(Buffer::Rows, tile.getRows(), tile.getCols());
  // Whole vectors of rows, and room for the dead rows of the last block.
  int64_t rows = cast<RowVecType>(type).getRows();
  return allocate(Buffer::Vector, 1, llvm::alignTo(rows, rowBlock));
}

bool KernelLowering::diesIn(Value v, Operation *op) {
  if (v.getParentBlock() != op->getBlock())
    return false;
  return llvm::all_of(v.getUsers(), [&](Operation *user) {
    return user == op ||
           (user->getBlock() == op->getBlock() && user->isBeforeInBlock(op));
  });
}

Buffer KernelLowering::resultBuffer(Operation *op, Value result, Value reuse) {
  Buffer own = reuse && diesIn(reuse, op) ? buffer(reuse)
                                          : allocateFor(result.getType());
  buffers[result] = own;
  return own;
}

Buffer KernelLowering::buffer(Value v) const {
  auto it = buffers.find(v);
  assert(it != buffers.end() && "tile without a buffer");
  return it->second;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value KernelLowering::address(const Buffer &b, Value floats) {
  Value base = g.atByte(scratch, b.offset);
  return floats ? g.at(base, floats, g.f32) : base;
}

Value KernelLowering::rowAddress(const Buffer &b, Value row) {
  return address(b, g.mul(row, g.i64c(b.pitch)));
}

Value KernelLowering::vectorElement(const Buffer &b, Value row) {
  return address(b, row);
}

Value KernelLowering::elementAddress(const Buffer &b, Value row, Value col) {
  if (b.layout == Buffer::Rows)
    return address(b, g.add(g.mul(row, g.i64c(b.pitch)), col));
  Value i = b.transposed ? col : row;
  Value c = b.transposed ? row : col;
  int64_t w = panelWidth();
  Value panel = g.divC(c, w);
  Value width = g.i64c(w);
  if (restWidth(b))
    width = g.select(g.cmp(CmpI::slt, panel, g.i64c(fullPanels(b))), width,
                     g.i64c(restWidth(b)));
  Value index = g.mul(panel, g.i64c(b.outer * w));
  index = g.add(index, g.mul(i, width));
  return address(b, g.add(index, g.remC(c, w)));
}

Value KernelLowering::panelVector(const Buffer &b, Value i, int64_t v) {
  int64_t panel = v / panelVectors;
  int64_t width = panel < fullPanels(b) ? panelWidth() : restWidth(b);
  int64_t start = panel * b.outer * panelWidth() + v % panelVectors * lanes;
  Value base = g.atByte(scratch, b.offset + start * 4);
  return g.at(base, g.mul(i, g.i64c(width)), g.f32);
}

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

void KernelLowering::forRows(llvm::function_ref<void(Value)> f) {
  g.loop(g.i64c(0), liveRows, 1, f);
}

void KernelLowering::forVectors(int64_t cols,
                                llvm::function_ref<void(Value, unsigned)> f) {
  int64_t whole = cols / lanes * lanes;
  if (whole)
    g.loop(g.i64c(0), g.i64c(whole), lanes, [&](Value c) { f(c, 0); });
  if (cols > whole)
    f(g.i64c(whole), unsigned(cols - whole));
}

SmallVector<Value> KernelLowering::forVectors(
    int64_t cols, ValueRange inits,
    llvm::function_ref<SmallVector<Value>(Value, unsigned, ValueRange)> f) {
  int64_t whole = cols / lanes * lanes;
  SmallVector<Value> carried(inits);
  if (whole)
    carried = g.loop(g.i64c(0), g.i64c(whole), lanes, carried,
                     [&](Value c, ValueRange now) { return f(c, 0, now); });
  if (cols > whole)
    carried = f(g.i64c(whole), unsigned(cols - whole), carried);
  return carried;
}

void KernelLowering::fill(const Buffer &b, float value) {
  Value v = g.vfc(value);
  g.loop(g.i64c(0), g.i64c(b.outer * b.pitch), lanes,
         [&](Value i) { g.storeV(v, address(b, i)); });
}

void KernelLowering::copy(const Buffer &from, const Buffer &to) {
  assert(from.layout == to.layout && from.pitch == to.pitch &&
         from.outer == to.outer && "copy between different tiles");
  g.loop(g.i64c(0), g.i64c(from.outer * from.pitch), lanes,
         [&](Value i) { g.storeV(g.loadV(address(from, i)), address(to, i)); });
}

} // namespace attn::cpu
