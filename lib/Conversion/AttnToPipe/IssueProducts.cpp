//===- IssueProducts.cpp - products that an agent finishes ----------------===//
//
// A product whose agent is not the role's own threads is issued and joined; the
// slots that it reads are released by its token.
//
//   %s = attn.qk %qt, %kt          %f = pipe.issue mma { qk; yield }
//   pipe.release %slot      ->     %s, %d = pipe.join %f
//                                  pipe.release %slot done %d
//
// A slot that is held over a loop, as Q's, needs no token of the products in
// the loop: futures do not leave their block, so they have finished with it.
//
// Invariant: a product is joined right where it is issued; what runs between the
// two is the business of pipe-skew-products.
//
//===----------------------------------------------------------------------===//

#include "VisitLoop.h"
#include "attn/Conversion/Passes.h"

namespace attn {
#define GEN_PASS_DEF_PIPEISSUEPRODUCTS
#include "attn/Dialect/Conversion/ConversionPasses.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static pipe::Agent agentOf(Operation *product, pipe::ScheduleAttr schedule) {
  return schedule.getAgent(product->getName().stripDialect());
}

static void issue(Operation *product, pipe::Agent agent) {
  OpBuilder b(product);
  Location loc = product->getLoc();
  Type type = product->getResult(0).getType();
  auto issued = pipe::IssueOp::create(
      b, loc, pipe::FutureType::get(b.getContext(), type), agent);
  auto join = pipe::JoinOp::create(b, loc, issued.getFuture());
  product->getResult(0).replaceAllUsesWith(join.getPayload());
  for (Value operand : product->getOperands())
    if (pipe::ReleaseOp release = releaseBeside(product, operand))
      release.getDoneMutable().append(join.getDone());
  Block *body = b.createBlock(&issued.getBody());
  product->moveBefore(body, body->end());
  b.setInsertionPointToEnd(body);
  pipe::YieldOp::create(b, loc, product->getResult(0));
}

namespace {
struct IssueProducts : attn::impl::PipeIssueProductsBase<IssueProducts> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    auto schedule = getPipeSchedule(kernel, "pipe-issue-products");
    if (failed(schedule))
      return signalPassFailure();
    SmallVector<Operation *> products;
    kernel.walk([&](Operation *op) {
      if (isa<QKOp, PVOp>(op) && !op->getParentOfType<pipe::IssueOp>())
        products.push_back(op);
    });
    llvm::erase_if(products, [&](Operation *op) {
      return agentOf(op, *schedule) == pipe::Agent::Threads;
    });
    if (products.empty())
      return markAllAnalysesPreserved();
    for (Operation *op : products)
      issue(op, agentOf(op, *schedule));
  }
};
} // namespace
