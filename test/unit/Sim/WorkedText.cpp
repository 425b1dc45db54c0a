//===- WorkedText.cpp - the worked kernels with small tiles ---------------===//

#include "KernelText.h"

#include <fstream>
#include <iterator>

using namespace attn;
using namespace attn::test;

mlir::OwningOpRef<mlir::ModuleOp>
SimFixture::parseWorked(const std::string &file, KernelShape &shape) {
  std::ifstream in(ATTN_TEST_INPUTS "/" + file);
  std::string text((std::istreambuf_iterator<char>(in)),
                   std::istreambuf_iterator<char>());
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace("128", "16");
  replace("%c127 = arith.constant 127", "%c127 = arith.constant 15");
  replace("tile<64x", "tile<8x");
  replace("rowvec<64x", "rowvec<8x");
  replace("rows<64>", "rows<8>");
  shape.heads = 8;
  shape.kvHeads = 2;
  shape.dim = shape.dimV = 16;
  shape.tileQ = shape.tileK = 16;
  shape.pack = 4;
  shape.name = "prefill";
  return parse(text);
}
