//===- Interp.cpp - regions, scf and scalars ------------------------------===//
//
// The dialect-free half of the interpreter and the launch of a kernel.
//
//   scf.while: before-region -> condition(go, args) -> after-region -> ...
//
// Invariant: an op that no handler knows ends the run with its name.
//
//===----------------------------------------------------------------------===//

#include "attn/Sim/Interp.h"
#include "AttnInterp.h"

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn::sim;

Interp::Interp(ArrayRef<char> params, const LaunchOptions &options, int32_t cta)
    : root(this), bytes(params), launch(options), ctaIndex(cta) {}

Interp::Interp(Interp &parent)
    : root(parent.root), bytes(parent.bytes), launch(parent.launch),
      ctaIndex(parent.ctaIndex), values(parent.values) {}

const Datum &Interp::get(mlir::Value value) const {
  static const Datum unset;
  auto found = values.find(value);
  assert(found != values.end() && "value is used before it was computed");
  return found == values.end() ? unset : found->second;
}

LogicalResult Interp::fail(Operation *op, const Twine &text, Verdict verdict) {
  report().give(verdict, op->getName().getStringRef() + ": " + text,
                op->getLoc());
  return failure();
}

LogicalResult Interp::run(Region &region, ArrayRef<Datum> args,
                          SmallVectorImpl<Datum> &results) {
  results.clear();
  if (region.empty())
    return success();
  Block &block = region.front();
  assert(args.size() == block.getNumArguments());
  for (auto [arg, datum] : llvm::zip_equal(block.getArguments(), args))
    set(arg, datum);
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      if (watcher && failed(watcher->before(&op, *this)))
        return failure();
      for (mlir::Value operand : op.getOperands())
        results.push_back(get(operand));
      return success();
    }
    if (failed(runOp(&op)))
      return failure();
  }
  return success();
}

LogicalResult Interp::run(Region &region, ArrayRef<Datum> args) {
  SmallVector<Datum> results;
  return run(region, args, results);
}

LogicalResult Interp::runOp(Operation *op) {
  if (!watcher)
    return dispatch(op);
  return success(succeeded(watcher->before(op, *this)) &&
                 succeeded(dispatch(op)) &&
                 succeeded(watcher->after(op, *this)));
}

LogicalResult Interp::dispatch(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  auto handler = root->handlers.find(dialect);
  if (handler != root->handlers.end())
    return handler->second(op, *this);
  if (dialect == "scf")
    return runScf(op);
  return runScalar(op);
}

LogicalResult Interp::runScalar(Operation *op) {
  auto [entry, isNew] = root->decoded.try_emplace(op);
  if (isNew) {
    ScalarInstr instr;
    if (!decodeScalar(op, instr)) {
      // A select between objects is a choice, not arithmetic.
      if (!isa<arith::SelectOp>(op)) {
        root->decoded.erase(op);
        return fail(op, "cannot be interpreted");
      }
      instr.fn = nullptr;
    } else {
      for (unsigned i = 0; i < 3; ++i)
        instr.in[i] = i;
      instr.dst = 3;
    }
    entry->second = instr;
  }
  const ScalarInstr &instr = entry->second;
  if (!instr.fn) {
    set(op->getResult(0),
        Datum(get(op->getOperand(getInt(op->getOperand(0)) ? 1 : 2))));
    return success();
  }
  Word words[4];
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    words[i] = get(operand).word();
  instr.fn(words, instr);
  set(op->getResult(0), Datum(words[3]));
  return success();
}

LogicalResult Interp::turn(Operation *op) {
  uint64_t &most = root->ownReport.turns[op];
  most = std::max(most, ++loopTurns[op]);
  if (++turns <= launch.maxTurns)
    return success();
  return fail(op, "goes on after " + Twine(launch.maxTurns) + " turns of loops",
              Verdict::NoEnd);
}

LogicalResult Interp::runScf(Operation *op) {
  SmallVector<Datum> state, results;
  auto take = [&](ValueRange operands) {
    state.clear();
    for (mlir::Value operand : operands)
      state.push_back(Datum(get(operand)));
  };
  auto define = [&](ArrayRef<Datum> data) {
    for (auto [result, datum] : llvm::zip_equal(op->getResults(), data))
      set(result, datum);
  };
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    bool taken = getInt(branch.getCondition());
    Region &region = taken ? branch.getThenRegion() : branch.getElseRegion();
    if (failed(run(region, {}, results)))
      return failure();
    define(results);
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    int64_t lo = getInt(loop.getLowerBound()),
            hi = getInt(loop.getUpperBound());
    int64_t step = getInt(loop.getStep());
    if (step <= 0)
      return fail(op, "has step " + Twine(step) + " but needs at least 1");
    take(loop.getInitArgs());
    for (int64_t i = lo; i < hi; i += step) {
      SmallVector<Datum> args{Datum::ofInt(i)};
      llvm::append_range(args, state);
      if (failed(turn(op)) || failed(run(loop.getRegion(), args, results)))
        return failure();
      state.assign(results.begin(), results.end());
    }
    define(state);
    return success();
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    take(loop.getInits());
    while (true) {
      if (failed(run(loop.getBefore(), state, results)))
        return failure();
      bool again = results.front().asInt();
      state.assign(results.begin() + 1, results.end());
      if (!again)
        break;
      // The condition alone is no turn.
      if (failed(turn(op)) || failed(run(loop.getAfter(), state, results)))
        return failure();
      state.assign(results.begin(), results.end());
    }
    define(state);
    return success();
  }
  return fail(op, "cannot be interpreted");
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

static llvm::StringMap<KernelRunner> &runners() {
  static llvm::StringMap<KernelRunner> table;
  return table;
}

void attn::sim::registerKernelRunner(StringRef opName, KernelRunner runner) {
  runners()[opName] = std::move(runner);
}

LogicalResult attn::sim::runKernel(Operation *kernel, ArrayRef<char> params,
                                   const LaunchOptions &options,
                                   std::string &error) {
  Report report;
  if (succeeded(runKernel(kernel, params, options, report)))
    return success();
  error = report.message;
  for (const ReportNote &note : report.notes)
    error += "; " + note.text;
  return failure();
}

LogicalResult attn::sim::runKernel(Operation *kernel, ArrayRef<char> params,
                                   const LaunchOptions &options,
                                   Report &report) {
  report.schedule = nameOf(options.schedule).str();
  report.seed = options.seed;
  KernelRunner runner;
  auto found = runners().find(kernel->getName().getStringRef());
  if (found != runners().end())
    runner = found->second;
  else if (isa<attn::KernelOp>(kernel))
    runner = runAttnKernel;
  if (!runner) {
    report.give(Verdict::NotRun,
                "'" + kernel->getName().getStringRef() + "' is not a kernel",
                kernel->getLoc());
    return failure();
  }
  if (options.ctas < 1) {
    report.give(Verdict::NotRun, "launch has " + Twine(options.ctas) +
                                     " blocks but needs at least 1");
    return failure();
  }
  for (int32_t cta = 0; cta < options.ctas; ++cta) {
    Interp interp(params, options, cta);
    LogicalResult ran = runner(kernel, interp);
    const Report &own = interp.report();
    report.steps += own.steps;
    for (auto &[loop, count] : own.turns)
      report.turns[loop] += count;
    if (failed(ran) || !own.ok()) {
      report.give(own.ok() ? Verdict::NotRun : own.verdict, own.message,
                  own.loc);
      report.notes = own.notes;
      return failure();
    }
  }
  return success();
}
