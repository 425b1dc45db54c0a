//===- Print.cpp - draws a layout as text ---------------------------------===//

#include "attn/Layout/Print.h"

#include <algorithm>

using namespace attn::layout;

static std::string padded(const std::string &text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

/// A table with column and row numbers; cell(row, col) is the text of a cell.
template <typename Cell>
static std::string table(unsigned rows, unsigned cols, Cell cell) {
  size_t width = std::to_string(cols - 1).size();
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned col = 0; col < cols; ++col)
      width = std::max(width, cell(row, col).size());
  size_t head = std::to_string(rows - 1).size();
  std::string out(head, ' ');
  for (unsigned col = 0; col < cols; ++col)
    out += "  " + padded(std::to_string(col), width);
  out += '\n';
  for (unsigned row = 0; row < rows; ++row) {
    out += padded(std::to_string(row), head);
    for (unsigned col = 0; col < cols; ++col)
      out += "  " + padded(cell(row, col), width);
    out += '\n';
  }
  return out;
}

std::string attn::layout::print(const Layout &layout) {
  std::string out(layout.getName());
  out += " " + std::to_string(layout.getRows()) + " x " +
         std::to_string(layout.getCols()) + ", warps " +
         std::to_string(layout.getWarps()) + ", grid " +
         std::to_string(layout.gridRows()) + " x " +
         std::to_string(layout.gridCols()) + ", registers " +
         std::to_string(layout.registersPerThread()) + " of " +
         std::to_string(layout.getAtom().elementBits) + " bits\n";
  return out + table(layout.getRows(), layout.getCols(),
                     [&](unsigned row, unsigned col) {
                       Owner o = layout.owner(row, col);
                       return std::to_string(o.thread) + ":" +
                              std::to_string(o.reg);
                     });
}

std::string attn::layout::print(const Swizzle &swizzle) {
  unsigned chunkCols = 16 / swizzle.getElementBytes();
  std::string out = "swizzle " + std::to_string(swizzle.getSwizzle()) + ", " +
                    std::to_string(swizzle.getRows()) + " x " +
                    std::to_string(swizzle.getCols()) + " of " +
                    std::to_string(swizzle.getElementBytes()) +
                    " bytes, panels " + std::to_string(swizzle.panels()) +
                    " of " + std::to_string(swizzle.panelBytes()) +
                    " bytes; cell = byte offset / 16\n";
  return out + table(swizzle.getRows(), swizzle.getCols() / chunkCols,
                     [&](unsigned row, unsigned chunk) {
                       return std::to_string(
                           swizzle.byteOffset(row, chunk * chunkCols) / 16);
                     });
}
