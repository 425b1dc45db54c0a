//===- Report.cpp - work and data movement of a kernel --------------------===//
//
// Elements moved between HBM and on-chip memory for one head of N tokens, head
// dim d and M elements of on-chip memory:
//
//   standard attention          4 N d + 4 N^2
//   FlashAttention-1 order      2 N d + T_c (3 N d + 4 N)   B_c = ceil(M / 4d),
//   T_c = ceil(N / B_c) FlashAttention-2 order      2 N d + N + ceil(N / B_r) 2
//   N d   B_r = min(B_c, d) this schedule               2 N d + N + ceil(N /
//   rows) 2 N d, rows of one tile
//
// (Dao et al., FlashAttention, 2022, theorem 2 and algorithm 1; Dao,
// FlashAttention-2, 2023, algorithm 1.)
//
//===----------------------------------------------------------------------===//

#include "attn/Compiler/Compiler.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Schedule/Schedule.h"
#include "attn/Target/TargetSpec.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attn;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

static void line(raw_ostream &os, StringRef name, double value,
                 StringRef unit) {
  os << "  " << llvm::left_justify(name, 34) << llvm::format("%18.6g ", value)
     << unit << "\n";
}

static void count(raw_ostream &os, StringRef name, int64_t value) {
  os << "  " << llvm::left_justify(name, 34)
     << llvm::format("%18lld", (long long)value) << " elements\n";
}

static void reportKernel(KernelOp kernel, const TargetSpec &target, int64_t n,
                         raw_ostream &os) {
  auto query =
      cast<attn::TensorType>(kernel.getTensor(TensorRole::Query).getType());
  auto value =
      cast<attn::TensorType>(kernel.getTensor(TensorRole::Value).getType());
  ScheduleAttr schedule = kernel.getScheduleAttr();
  int64_t d = query.getDim(), heads = query.getHeads();
  // On-chip memory of the roofline model: 100,000 elements, the paper's figure
  // for a 192 KB SM; see docs/report.md.
  int64_t m = 100000;
  int64_t bc = ceilDiv(m, 4 * d), br = std::min(bc, d);
  int64_t rows = schedule.getTileQ() / schedule.getPack();
  double flops = 2.0 * double(n) * double(n) * double(d + value.getDim());

  os << "kernel " << kernel.getSymName() << " on " << target.name
     << ", one head of " << n << " tokens, head dim " << d << "\n";
  count(os, "standard attention", 4 * n * d + 4 * n * n);
  count(os, "FlashAttention-1 order",
        2 * n * d + ceilDiv(n, bc) * (3 * n * d + 4 * n));
  count(os, "FlashAttention-2 order",
        2 * n * d + n + ceilDiv(n, br) * 2 * n * d);
  int64_t ours =
      2 * n * d + n + ceilDiv(n, rows) * 2 * n * d / schedule.getPack();
  count(os, "this schedule", ours);
  unsigned bytes = query.getElement().getIntOrFloatBitWidth() / 8;
  line(os, "floating-point operations", flops, "FLOP");
  line(os, "arithmetic intensity", flops / double(ours * bytes), "FLOP/byte");
  if (target.peakFlops > 0) {
    double compute = flops * double(heads) / target.peakFlops;
    double memory =
        double(ours * bytes) * double(heads) / target.memoryBytesPerSecond;
    line(os, "compute time, all heads", compute * 1e6, "us");
    line(os, "memory time, all heads", memory * 1e6, "us");
    os << "  " << llvm::left_justify("predicted limiter", 34)
       << (compute > memory ? "tensor cores" : "HBM") << "\n";
  }
  ProblemFacts facts;
  std::string error;
  if (target.isGpu() && ProblemFacts::of(kernel, facts, error)) {
    Resources needs = resourcesOf(facts, schedule);
    line(os, "shared memory", double(needs.sharedBytes), "bytes");
    line(os, "registers a thread, estimated", double(needs.registersPerThread),
         "");
    line(os, "threads", double(needs.threads), "");
    line(os, "CTAs an SM",
         target.occupancy(unsigned(needs.threads), unsigned(needs.sharedBytes),
                          unsigned(registersAtLaunch(needs, target))),
         "");
  }
  os << "  schedule " << schedule << "\n";
}

LogicalResult attn::printReport(ModuleOp source, const LoweringOptions &options,
                                int64_t tokens, raw_ostream &os) {
  std::string error;
  const TargetSpec *target = findTarget(options.target, error);
  if (!target)
    return source.emitError(error);
  OwningOpRef<ModuleOp> module = lowerTo(source, options, Level::Problem);
  if (!module)
    return failure();
  for (KernelOp kernel : module->getOps<KernelOp>())
    reportKernel(kernel, *target, tokens, os);
  return success();
}
