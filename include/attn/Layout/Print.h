//===- Print.h - draws a layout as text -------------------------*- C++ -*-===//
//
// One line a row of the tile, thread:register in each cell.
//
//         0    1    2
//    0  0:0  0:1  1:0
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LAYOUT_PRINT_H
#define ATTN_LAYOUT_PRINT_H

#include "attn/Layout/Layout.h"
#include "attn/Layout/Swizzle.h"

#include <string>

namespace attn::layout {

/// A head line with the facts, then the tile.
std::string print(const Layout &layout);

/// One cell a 16-byte chunk of the tile: its byte offset divided by 16.
std::string print(const Swizzle &swizzle);

} // namespace attn::layout

#endif // ATTN_LAYOUT_PRINT_H
