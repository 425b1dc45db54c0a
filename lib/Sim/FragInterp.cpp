//===- FragInterp.cpp - L3: launch, scalars, bodies of maps ---------------===//
//
// A body is decoded once a CTA into a flat list and run for each element:
//
//   frag.map (%x = %s, %m = %v) at (%r, %c) { subf, fma, exp2, yield }
//     -> slots: x, m, r, c, captured..., results...;  three steps an element
//
//===----------------------------------------------------------------------===//

#include "attn/Sim/FragInterp.h"
#include "FragState.h"
#include "attn/Target/Exp2.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

oracle::Element attn::sim::fragElement(Type type) {
  return type.isF16()    ? oracle::Element::F16
         : type.isBF16() ? oracle::Element::BF16
                         : oracle::Element::F32;
}

Word attn::sim::loadWord(Type type, const char *at) {
  if (isa<FloatType>(type))
    return Word::ofFloat(oracle::loadElement(fragElement(type), at, 0));
  if (type.isInteger(64)) {
    int64_t value;
    std::memcpy(&value, at, sizeof(value));
    return Word::ofInt(value);
  }
  if (type.isInteger(1))
    return Word::ofInt(*at != 0);
  int32_t value;
  std::memcpy(&value, at, sizeof(value));
  return Word::ofInt(value);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

bool FragProgram::compile(Block &block, bool onFma, std::string &error) {
  llvm::DenseMap<mlir::Value, uint32_t> slots;
  auto slotOfValue = [&](mlir::Value value) {
    auto [it, fresh] = slots.try_emplace(value, slotCount);
    if (fresh)
      ++slotCount;
    return std::make_pair(it->second, fresh);
  };
  for (BlockArgument arg : block.getArguments())
    slotOfValue(arg);
  args = block.getNumArguments();
  auto use = [&](mlir::Value value) {
    auto [slot, fresh] = slotOfValue(value);
    if (fresh) // from above
      captured.push_back({value, slot});
    return slot;
  };
  for (Operation &op : block.without_terminator()) {
    Step step;
    if (auto load = dyn_cast<frag::LoadScalarOp>(op)) {
      step.element = load.getResult().getType();
    } else if (auto offset = dyn_cast<frag::OffsetOp>(op)) {
      step.element = offset.getBase().getType();
    } else if (isa<frag::ElementOp>(op)) {
      step.element = {};
    } else if (!decodeScalar(&op, step.scalar)) {
      error =
          ("'" + op.getName().getStringRef() + "' cannot be interpreted").str();
      return false;
    }
    if (onFma && isa<math::Exp2Op>(op))
      step.scalar.fn = [](Word *slots, const ScalarInstr &instr) {
        slots[instr.dst] =
            Word::ofFloat(exp2fma::evaluate(slots[instr.in[0]].f));
      };
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      step.scalar.in[i] = use(operand);
    step.scalar.dst = slotOfValue(op.getResult(0)).first;
    steps.push_back(step);
  }
  for (mlir::Value value : block.getTerminator()->getOperands())
    results.push_back(use(value));
  return true;
}

void FragProgram::capture(Interp &interp, Word *slots) const {
  for (auto [value, slot] : captured)
    slots[slot] = interp.get(value).word();
}

void FragProgram::run(Word *slots, ArrayRef<float> row) const {
  for (const Step &step : steps) {
    const ScalarInstr &instr = step.scalar;
    if (instr.fn) {
      instr.fn(slots, instr);
      continue;
    }
    if (!step.element) {
      int64_t last = int64_t(row.size()) - 1;
      int64_t index = std::clamp<int64_t>(slots[instr.in[0]].i, 0, last);
      slots[instr.dst] = Word::ofFloat(row[index]);
      continue;
    }
    int64_t base = slots[instr.in[0]].i, index = slots[instr.in[1]].i;
    if (auto ptr = dyn_cast<frag::PtrType>(step.element))
      slots[instr.dst] =
          Word::ofInt(base + index * frag::bytesOf(ptr.getElement()));
    else
      slots[instr.dst] =
          loadWord(step.element, reinterpret_cast<const char *>(base) +
                                     index * frag::bytesOf(step.element));
  }
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

const TileShape &FragState::shapeOf(Type type) {
  auto [it, fresh] = shapes.try_emplace(type);
  TileShape &shape = it->second;
  if (!fresh)
    return shape;
  auto reg = dyn_cast<frag::RegType>(type);
  layout::Layout layout =
      reg ? frag::layoutOf(reg) : frag::layoutOf(cast<frag::VecType>(type));
  shape.threads = threadCount ? threadCount : layout.getThreads();
  shape.regs = layout.registersPerThread();
  shape.rows = layout.rowsPerThread();
  shape.laneMasks = layout.rowLaneMasks();
  for (unsigned r = 0; r < shape.regs; ++r)
    shape.slot.push_back(layout.rowSlot(r));
  for (unsigned t = firstThread; t < firstThread + shape.threads; ++t) {
    for (unsigned r = 0; r < shape.regs; ++r) {
      layout::Coord c = layout.coord(t, r);
      shape.row.push_back(c.row);
      shape.col.push_back(c.col);
    }
    for (unsigned i = 0; i < shape.rows; ++i)
      shape.slotRow.push_back(layout.rowOf(t, i));
  }
  return shape;
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

static LogicalResult runScalarOp(Operation *op, Interp &interp) {
  if (auto param = dyn_cast<frag::ParamOp>(op)) {
    size_t offset = uint32_t(param.getOffset());
    Type type = param.getResult().getType();
    if (type.isF32())
      interp.set(op->getResult(0), Datum::ofFloat(interp.param<float>(offset)));
    else if (type.isInteger(32))
      interp.set(op->getResult(0), Datum::ofInt(interp.param<int32_t>(offset)));
    else
      interp.set(op->getResult(0), Datum::ofInt(interp.param<int64_t>(offset)));
    return success();
  }
  if (auto opaque = dyn_cast<frag::OpaqueOp>(op)) {
    interp.set(op->getResult(0),
               Datum::ofInt(interp.getInt(opaque.getValue())));
    return success();
  }
  if (isa<frag::CtaIdOp>(op)) {
    interp.set(op->getResult(0), Datum::ofInt(interp.cta()));
    return success();
  }
  if (isa<frag::CtaCountOp>(op)) {
    interp.set(op->getResult(0), Datum::ofInt(interp.ctas()));
    return success();
  }
  if (auto offset = dyn_cast<frag::OffsetOp>(op)) {
    int64_t bytes = frag::bytesOf(offset.getBase().getType().getElement());
    interp.set(op->getResult(0),
               Datum::ofInt(interp.getInt(offset.getBase()) +
                            bytes * interp.getInt(offset.getElements())));
    return success();
  }
  auto load = cast<frag::LoadScalarOp>(op);
  Type type = load.getResult().getType();
  int64_t base = interp.getInt(load.getBase());
  if (!base)
    return interp.fail(op, "reads through a null pointer");
  interp.set(op->getResult(0),
             Datum(loadWord(type, reinterpret_cast<const char *>(base) +
                                      interp.getInt(load.getIndex()) *
                                          frag::bytesOf(type))));
  return success();
}

LogicalResult attn::sim::runFragOp(Operation *op, Interp &interp) {
  if (isa<frag::ParamOp, frag::CtaIdOp, frag::CtaCountOp, frag::OpaqueOp,
          frag::OffsetOp, frag::LoadScalarOp>(op))
    return runScalarOp(op, interp);
  if (isa<frag::SmemOp, frag::PosOp, frag::NextOp, frag::CpAsyncOp,
          frag::CpAsyncCommitOp, frag::CpAsyncWaitOp, frag::CtaSyncOp,
          frag::LdmatrixOp, frag::MmaOp, frag::RewriteRowsOp>(op))
    return runFragSmemOp(op, interp);
  return runFragTileOp(op, interp);
}

LogicalResult attn::sim::runFragKernel(Operation *op, Interp &interp) {
  auto kernel = cast<frag::KernelOp>(op);
  if (interp.params().size() < size_t(kernel.getParamsBytes()))
    return interp.fail(op, "needs " + Twine(kernel.getParamsBytes()) +
                               " bytes of parameters but has " +
                               Twine(interp.params().size()));
  // Every 16-bit and 32-bit pattern of it is a NaN.
  interp.state<FragState>().smem.assign(kernel.getSmem(), 0xff);
  interp.addHandler("frag", runFragOp);
  return interp.run(kernel.getBody());
}

void attn::sim::registerFragKernels() {
  registerKernelRunner(frag::KernelOp::getOperationName(), runFragKernel);
}
