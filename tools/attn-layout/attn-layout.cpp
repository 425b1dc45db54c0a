//===- attn-layout.cpp - draws who holds what -----------------------------===//
//
//   attn-layout mma_c 16 8 --warps=1        thread:register in each cell
//   attn-layout shared 64 128 --swizzle=128 where each 16-byte chunk lies
//
// Errors go to stderr with exit status 1.
//
//===----------------------------------------------------------------------===//

#include "attn/Layout/Print.h"

#include <CLI/CLI.hpp>

#include <cstdio>

using namespace attn::layout;

static int fail(const std::string &error) {
  std::fprintf(stderr, "attn-layout: error: %s\n", error.c_str());
  return 1;
}

int main(int argc, char **argv) {
  CLI::App app("draws a layout: thread:register of each element of a tile");
  std::string name;
  unsigned rows = 0, cols = 0, warps = 1, swizzle = 128, bytes = 2;
  bool colMajor = false;
  app.add_option(
         "name", name,
         "layout (mma_c, mma_a, mma_b, wgmma_c, wgmma_a, quad16, row_c) "
         "or 'shared' for a swizzled shared tile")
      ->required();
  app.add_option("rows", rows, "rows of the tile")->required();
  app.add_option("cols", cols, "columns of the tile")->required();
  app.add_option("--warps", warps, "warps that hold the tile")
      ->capture_default_str();
  app.add_flag("--col-major", colMajor, "number the grid column by column");
  app.add_option("--swizzle", swizzle, "shared: 0, 32, 64 or 128 bytes")
      ->capture_default_str();
  app.add_option("--element-bytes", bytes, "shared: bytes of an element")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &e) {
    return app.exit(e); // --help
  } catch (const CLI::ParseError &e) {
    return fail(e.what());
  }

  std::string error, text;
  if (name == "shared") {
    auto tile = Swizzle::make(rows, cols, bytes, swizzle, error);
    if (!tile)
      return fail(error);
    text = print(*tile);
  } else {
    auto layout =
        Layout::make(name, rows, cols, warps, error,
                     colMajor ? GridOrder::ColMajor : GridOrder::RowMajor);
    if (!layout)
      return fail(error);
    text = print(*layout);
  }
  std::fputs(text.c_str(), stdout);
  return 0;
}
