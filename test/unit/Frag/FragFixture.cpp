//===- FragFixture.cpp - small kernels down to L3 and their runs ----------===//

#include "FragFixture.h"

#include "attn/Conversion/Passes.h"
#include "attn/Dialect/Frag/Transforms/Passes.h"
#include "attn/Sim/FragInterp.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace attn;
using namespace attn::test;

static FragFixture *current = nullptr;

/// Runs the frag.kernel in place of the attn.kernel of the same name.
static mlir::LogicalResult runInstead(mlir::Operation *op,
                                      sim::Interp &interp) {
  auto kernel = current->frag->lookupSymbol<frag::KernelOp>(
      mlir::cast<KernelOp>(op).getSymName());
  if (!kernel)
    return interp.fail(op, "has no kernel at L3");
  return sim::runFragKernel(kernel, interp);
}

FragFixture::FragFixture() {
  context.loadDialect<frag::FragDialect>();
  current = this;
  sim::registerKernelRunner(KernelOp::getOperationName(), runInstead);
}

FragFixture::~FragFixture() { current = nullptr; }

std::string FragFixture::text(const KernelShape &shape) {
  std::string text = kernelText(shape);
  std::string from = "warps = 8";
  text.replace(text.find(from), from.size(),
               "warps = " + std::to_string(shape.tileQ / 16));
  return text;
}

KernelShape FragFixture::shape() {
  KernelShape shape;
  shape.dim = shape.dimV = 64;
  shape.tileQ = 32;
  shape.tileK = 16;
  return shape;
}

bool FragFixture::lower(const std::string &text) {
  source = parse(text);
  frag = parse(text);
  if (!source || !frag || !toPipe(*frag))
    return false;
  mlir::PassManager pm(&context);
  pm.addPass(createPipeToFrag());
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(mlir::createCSEPass());
  pm.addNestedPass<frag::KernelOp>(frag::createFragAllocateSmem());
  pm.addNestedPass<frag::KernelOp>(frag::createFragVerify());
  return succeeded(pm.run(*frag));
}

oracle::Comparison FragFixture::run(const KernelShape &shape,
                                    const Batch &batch, std::string &error,
                                    int32_t splitKeys, int32_t ctas) {
  sim::LaunchOptions options;
  options.ctas = ctas;
  return SimFixture::run(*source, shape, batch, error, splitKeys, options);
}

std::string FragFixture::outcome(const KernelShape &shape, const Batch &batch,
                                 int32_t splitKeys) {
  std::string error;
  oracle::Comparison result = run(shape, batch, error, splitKeys);
  return !error.empty() ? error : result.ok ? "" : "wrong values";
}
