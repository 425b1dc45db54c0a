//===- attn-opt.cpp - passes over text, level by level --------------------===//
//
//   attn-opt --attn-peel-classes kernel.mlir
//   attn-opt --level=L1 kernel.mlir     # pipe.* and llvm.* no longer parse
//
// --level is read before anything else: it decides which dialects exist, so an
// operation of another level is an ordinary parse error.
//
//===----------------------------------------------------------------------===//

#include "attn/InitAll.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"

/// The set of bits of "L0" ... "L4" or "all", 0 if it is none of them.
static unsigned parseLevel(llvm::StringRef text) {
  if (text == "all")
    return attn::levels::all;
  if (text.size() == 2 && text[0] == 'L' && text[1] >= '0' && text[1] <= '4')
    return 1u << (text[1] - '0');
  return 0;
}

int main(int argc, char **argv) {
  unsigned level = attn::levels::all;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (!argument.consume_front("--level=") &&
        !argument.consume_front("-level="))
      continue;
    level = parseLevel(argument);
    if (level == 0) {
      llvm::errs() << "attn-opt: level must be L0, L1, L2, L3, L4 or all, got '"
                   << argument << "'\n";
      return 1;
    }
  }
  // Known to the option parser for --help; its value was read above.
  static llvm::cl::opt<std::string> levelOption(
      "level",
      llvm::cl::desc("register only the dialects of one level "
                     "(L0, L1, L2, L3, L4, all)"),
      llvm::cl::init("all"));

  mlir::DialectRegistry registry;
  attn::registerDialects(registry, level);
  attn::registerPasses();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "attention compiler: pass driver\n", registry));
}
