//===- Scalar.cpp - scalar arithmetic of every level ----------------------===//
//
// The table of ops: for each arith or math op the function that runs it.
//
//   arith.addi : i8   ->  wrap(a + b, 8)
//
// Invariant: results are normalised (sign extended, i1 as 0 or 1, floats
// rounded to their type), whatever the operands.
//
//===----------------------------------------------------------------------===//

#include "attn/Sim/Scalar.h"

#include "attn/Oracle/Element.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace mlir;
using namespace attn::sim;

static int64_t wrap(int64_t v, int32_t width) {
  if (width == 1)
    return v & 1;
  if (width >= 64)
    return v;
  uint64_t shifted = uint64_t(v) << (64 - width);
  return int64_t(shifted) >> (64 - width);
}

static uint64_t zext(int64_t v, int32_t width) {
  return width >= 64 ? uint64_t(v) : uint64_t(v) & ((uint64_t(1) << width) - 1);
}

float attn::sim::roundToType(Type type, float value) {
  if (type.isBF16())
    return oracle::roundTo(oracle::Element::BF16, value);
  if (type.isF16())
    return oracle::roundTo(oracle::Element::F16, value);
  return value;
}

bool attn::sim::isScalar(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() <= 64;
  return type.isIndex() || type.isF32() || type.isF16() || type.isBF16();
}

static int32_t widthOf(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth();
  return 64;
}

//===----------------------------------------------------------------------===//
// Integer ops
//===----------------------------------------------------------------------===//

namespace {
using Instr = ScalarInstr;

/// A binary integer op: F takes (a, b, width) and the result is wrapped.
template <int64_t (*F)(int64_t, int64_t, int32_t)>
void binary(Word *w, const Instr &in) {
  w[in.dst].i = wrap(F(w[in.in[0]].i, w[in.in[1]].i, in.width), in.width);
}

int64_t add(int64_t a, int64_t b, int32_t) {
  return int64_t(uint64_t(a) + uint64_t(b));
}
int64_t sub(int64_t a, int64_t b, int32_t) {
  return int64_t(uint64_t(a) - uint64_t(b));
}
int64_t mul(int64_t a, int64_t b, int32_t) {
  return int64_t(uint64_t(a) * uint64_t(b));
}
int64_t divS(int64_t a, int64_t b, int32_t) {
  return b == 0 ? 0 : b == -1 ? sub(0, a, 0) : a / b;
}
int64_t remS(int64_t a, int64_t b, int32_t) {
  return b == 0 || b == -1 ? 0 : a % b;
}
int64_t floorDiv(int64_t a, int64_t b, int32_t) {
  if (b == 0)
    return 0;
  if (b == -1)
    return sub(0, a, 0);
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}
int64_t ceilDiv(int64_t a, int64_t b, int32_t) {
  if (b == 0)
    return 0;
  if (b == -1)
    return sub(0, a, 0);
  return a / b + ((a % b != 0) && ((a < 0) == (b < 0)));
}
int64_t divU(int64_t a, int64_t b, int32_t width) {
  uint64_t d = zext(b, width);
  return d == 0 ? 0 : int64_t(zext(a, width) / d);
}
int64_t ceilDivU(int64_t a, int64_t b, int32_t width) {
  uint64_t d = zext(b, width), n = zext(a, width);
  return d == 0 ? 0 : int64_t(n / d + (n % d != 0));
}
int64_t remU(int64_t a, int64_t b, int32_t width) {
  uint64_t d = zext(b, width);
  return d == 0 ? 0 : int64_t(zext(a, width) % d);
}
int64_t bitAnd(int64_t a, int64_t b, int32_t) { return a & b; }
int64_t bitOr(int64_t a, int64_t b, int32_t) { return a | b; }
int64_t bitXor(int64_t a, int64_t b, int32_t) { return a ^ b; }
int64_t shl(int64_t a, int64_t b, int32_t width) {
  return int64_t(uint64_t(a) << (zext(b, width) % width));
}
int64_t shrS(int64_t a, int64_t b, int32_t width) {
  int64_t value = width == 1 ? -a : a;
  return value >> (zext(b, width) % width);
}
int64_t shrU(int64_t a, int64_t b, int32_t width) {
  return int64_t(zext(a, width) >> (zext(b, width) % width));
}
int64_t minS(int64_t a, int64_t b, int32_t width) {
  return width == 1 ? (a | b) : a < b ? a : b; // i1: 1 is -1
}
int64_t maxS(int64_t a, int64_t b, int32_t width) {
  return width == 1 ? (a & b) : a > b ? a : b;
}
int64_t minU(int64_t a, int64_t b, int32_t width) {
  return zext(a, width) < zext(b, width) ? a : b;
}
int64_t maxU(int64_t a, int64_t b, int32_t width) {
  return zext(a, width) > zext(b, width) ? a : b;
}

void compareInts(Word *w, const Instr &in) {
  int64_t a = w[in.in[0]].i, b = w[in.in[1]].i;
  if (in.inWidth == 1) { // signed: 1 is -1
    a = -a;
    b = -b;
  }
  uint64_t ua = zext(a, in.inWidth), ub = zext(b, in.inWidth);
  bool r = false;
  switch (static_cast<arith::CmpIPredicate>(in.index)) {
  case arith::CmpIPredicate::eq:
    r = a == b;
    break;
  case arith::CmpIPredicate::ne:
    r = a != b;
    break;
  case arith::CmpIPredicate::slt:
    r = a < b;
    break;
  case arith::CmpIPredicate::sle:
    r = a <= b;
    break;
  case arith::CmpIPredicate::sgt:
    r = a > b;
    break;
  case arith::CmpIPredicate::sge:
    r = a >= b;
    break;
  case arith::CmpIPredicate::ult:
    r = ua < ub;
    break;
  case arith::CmpIPredicate::ule:
    r = ua <= ub;
    break;
  case arith::CmpIPredicate::ugt:
    r = ua > ub;
    break;
  case arith::CmpIPredicate::uge:
    r = ua >= ub;
    break;
  }
  w[in.dst].i = r;
}

void extS(Word *w, const Instr &in) {
  int64_t a = w[in.in[0]].i;
  w[in.dst].i = wrap(in.inWidth == 1 ? -a : a, in.width);
}
void extU(Word *w, const Instr &in) {
  w[in.dst].i = wrap(int64_t(zext(w[in.in[0]].i, in.inWidth)), in.width);
}
void truncInt(Word *w, const Instr &in) {
  w[in.dst].i = wrap(w[in.in[0]].i, in.width);
}
void absInt(Word *w, const Instr &in) {
  int64_t a = w[in.in[0]].i;
  w[in.dst].i = wrap(a < 0 ? sub(0, a, 0) : a, in.width);
}

//===----------------------------------------------------------------------===//
// Float ops
//===----------------------------------------------------------------------===//

template <float (*F)(float, float)> void binaryF(Word *w, const Instr &in) {
  w[in.dst].f = F(w[in.in[0]].f, w[in.in[1]].f);
}
template <float (*F)(float)> void unaryF(Word *w, const Instr &in) {
  w[in.dst].f = F(w[in.in[0]].f);
}

float fadd(float a, float b) { return a + b; }
float fsub(float a, float b) { return a - b; }
float fmul(float a, float b) { return a * b; }
float fdiv(float a, float b) { return a / b; }
float fneg(float a) { return -a; }
float fabsolute(float a) { return std::fabs(a); }
float maxNum(float a, float b) { return std::fmax(a, b); }
float minNum(float a, float b) { return std::fmin(a, b); }
float maxNan(float a, float b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : std::fmax(a, b);
}
float minNan(float a, float b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : std::fmin(a, b);
}
float fexp2(float a) { return std::exp2(a); }
float fexp(float a) { return std::exp(a); }
float flog(float a) { return std::log(a); }
float flog2(float a) { return std::log2(a); }
float fsqrt(float a) { return std::sqrt(a); }
float frsqrt(float a) { return 1.0f / std::sqrt(a); }
float ftanh(float a) { return std::tanh(a); }
float fsin(float a) { return std::sin(a); }
float fcos(float a) { return std::cos(a); }
float ffloor(float a) { return std::floor(a); }
float fceil(float a) { return std::ceil(a); }

void fmaF(Word *w, const Instr &in) {
  w[in.dst].f = std::fma(w[in.in[0]].f, w[in.in[1]].f, w[in.in[2]].f);
}
void toBf16(Word *w, const Instr &in) {
  w[in.dst].f =
      attn::oracle::roundTo(attn::oracle::Element::BF16, w[in.in[0]].f);
}
void toF16(Word *w, const Instr &in) {
  w[in.dst].f =
      attn::oracle::roundTo(attn::oracle::Element::F16, w[in.in[0]].f);
}
/// A float op on a 16-bit type: computed in f32, rounded by `index`.
void copyF(Word *w, const Instr &in) { w[in.dst].f = w[in.in[0]].f; }

void compareFloats(Word *w, const Instr &in) {
  float a = w[in.in[0]].f, b = w[in.in[1]].f;
  bool unordered = std::isnan(a) || std::isnan(b);
  bool r = false;
  using P = arith::CmpFPredicate;
  switch (static_cast<P>(in.index)) {
  case P::AlwaysFalse:
    r = false;
    break;
  case P::AlwaysTrue:
    r = true;
    break;
  case P::OEQ:
    r = a == b;
    break;
  case P::OGT:
    r = a > b;
    break;
  case P::OGE:
    r = a >= b;
    break;
  case P::OLT:
    r = a < b;
    break;
  case P::OLE:
    r = a <= b;
    break;
  case P::ONE:
    r = !unordered && a != b;
    break;
  case P::ORD:
    r = !unordered;
    break;
  case P::UEQ:
    r = unordered || a == b;
    break;
  case P::UGT:
    r = unordered || a > b;
    break;
  case P::UGE:
    r = unordered || a >= b;
    break;
  case P::ULT:
    r = unordered || a < b;
    break;
  case P::ULE:
    r = unordered || a <= b;
    break;
  case P::UNE:
    r = unordered || a != b;
    break;
  case P::UNO:
    r = unordered;
    break;
  }
  w[in.dst].i = r;
}

void intToFloat(Word *w, const Instr &in) {
  int64_t a = w[in.in[0]].i;
  w[in.dst].f = static_cast<float>(in.inWidth == 1 ? -a : a);
}
void uintToFloat(Word *w, const Instr &in) {
  w[in.dst].f = static_cast<float>(zext(w[in.in[0]].i, in.inWidth));
}
void floatToInt(Word *w, const Instr &in) {
  float a = w[in.in[0]].f;
  int32_t width = in.width < 64 ? in.width : 63;
  double limit = std::ldexp(1.0, width - 1);
  int64_t r = 0;
  if (a >= limit)
    r = int64_t((uint64_t(1) << (width - 1)) - 1);
  else if (a < -limit)
    r = -int64_t(uint64_t(1) << (width - 1));
  else if (!std::isnan(a))
    r = static_cast<int64_t>(a);
  w[in.dst].i = wrap(r, in.width);
}

void selectWord(Word *w, const Instr &in) {
  w[in.dst] = w[in.in[0]].i ? w[in.in[1]] : w[in.in[2]];
}
void constantWord(Word *w, const Instr &in) { w[in.dst] = in.imm; }
void bitsToFloat(Word *w, const Instr &in) {
  w[in.dst].f = attn::oracle::bitsToFloat(uint32_t(w[in.in[0]].i));
}
void floatToBits(Word *w, const Instr &in) {
  w[in.dst].i = int32_t(attn::oracle::floatToBits(w[in.in[0]].f));
}
} // namespace

static ScalarFn lookup(StringRef name) {
  return llvm::StringSwitch<ScalarFn>(name)
      .Case("arith.addi", binary<add>)
      .Case("arith.subi", binary<sub>)
      .Case("arith.muli", binary<mul>)
      .Case("arith.divsi", binary<divS>)
      .Case("arith.divui", binary<divU>)
      .Case("arith.floordivsi", binary<floorDiv>)
      .Case("arith.ceildivsi", binary<ceilDiv>)
      .Case("arith.ceildivui", binary<ceilDivU>)
      .Case("arith.remsi", binary<remS>)
      .Case("arith.remui", binary<remU>)
      .Case("arith.andi", binary<bitAnd>)
      .Case("arith.ori", binary<bitOr>)
      .Case("arith.xori", binary<bitXor>)
      .Case("arith.shli", binary<shl>)
      .Case("arith.shrsi", binary<shrS>)
      .Case("arith.shrui", binary<shrU>)
      .Case("arith.minsi", binary<minS>)
      .Case("arith.maxsi", binary<maxS>)
      .Case("arith.minui", binary<minU>)
      .Case("arith.maxui", binary<maxU>)
      .Case("arith.cmpi", compareInts)
      .Case("arith.extsi", extS)
      .Case("arith.extui", extU)
      .Case("arith.trunci", truncInt)
      .Case("arith.index_cast", extS)
      .Case("arith.index_castui", extU)
      .Case("math.absi", absInt)
      .Case("arith.addf", binaryF<fadd>)
      .Case("arith.subf", binaryF<fsub>)
      .Case("arith.mulf", binaryF<fmul>)
      .Case("arith.divf", binaryF<fdiv>)
      .Case("arith.negf", unaryF<fneg>)
      .Case("arith.maximumf", binaryF<maxNan>)
      .Case("arith.minimumf", binaryF<minNan>)
      .Case("arith.maxnumf", binaryF<maxNum>)
      .Case("arith.minnumf", binaryF<minNum>)
      .Case("arith.cmpf", compareFloats)
      .Case("arith.sitofp", intToFloat)
      .Case("arith.uitofp", uintToFloat)
      .Case("arith.fptosi", floatToInt)
      .Case("arith.extf", copyF)
      .Case("math.absf", unaryF<fabsolute>)
      .Case("math.exp2", unaryF<fexp2>)
      .Case("math.exp", unaryF<fexp>)
      .Case("math.log", unaryF<flog>)
      .Case("math.log2", unaryF<flog2>)
      .Case("math.sqrt", unaryF<fsqrt>)
      .Case("math.rsqrt", unaryF<frsqrt>)
      .Case("math.tanh", unaryF<ftanh>)
      .Case("math.sin", unaryF<fsin>)
      .Case("math.cos", unaryF<fcos>)
      .Case("math.floor", unaryF<ffloor>)
      .Case("math.ceil", unaryF<fceil>)
      .Case("math.fma", fmaF)
      .Default(nullptr);
}

static bool wordOfAttr(Attribute attr, Word &word) {
  if (auto integer = dyn_cast<IntegerAttr>(attr)) {
    if (integer.getValue().getBitWidth() > 64)
      return false;
    word.i =
        wrap(integer.getValue().getSExtValue(), widthOf(integer.getType()));
    return true;
  }
  if (auto real = dyn_cast<FloatAttr>(attr)) {
    word.f = static_cast<float>(real.getValueAsDouble());
    return true;
  }
  return false;
}

bool attn::sim::decodeScalar(Operation *op, ScalarInstr &instr) {
  if (op->getNumResults() != 1 || op->getNumOperands() > 3)
    return false;
  Type result = op->getResult(0).getType();
  if (!isScalar(result) ||
      !llvm::all_of(op->getOperandTypes(), [](Type t) { return isScalar(t); }))
    return false;
  instr = ScalarInstr();
  instr.width = widthOf(result);
  if (op->getNumOperands() > 0)
    instr.inWidth = widthOf(op->getOperand(0).getType());
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    instr.fn = constantWord;
    return wordOfAttr(constant.getValue(), instr.imm);
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    instr.index = static_cast<int32_t>(compare.getPredicate());
  else if (auto compare = dyn_cast<arith::CmpFOp>(op))
    instr.index = static_cast<int32_t>(compare.getPredicate());
  if (isa<arith::SelectOp>(op)) {
    instr.fn = selectWord;
    return true;
  }
  if (isa<arith::TruncFOp>(op)) {
    instr.fn = result.isBF16() ? toBf16 : result.isF16() ? toF16 : copyF;
    return true;
  }
  if (isa<arith::BitcastOp>(op)) {
    Type from = op->getOperand(0).getType();
    if (from.isInteger(32) && result.isF32())
      instr.fn = bitsToFloat;
    else if (from.isF32() && result.isInteger(32))
      instr.fn = floatToBits;
    return instr.fn != nullptr;
  }
  instr.fn = lookup(op->getName().getStringRef());
  // Arithmetic on 16-bit floats would need rounding after each op; nothing
  // produces it.
  bool half = result.isF16() || result.isBF16();
  return instr.fn != nullptr && !half;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

using Resolver = llvm::function_ref<ExternFn(Operation *)>;

uint32_t ScalarProgram::slotOf(Value value, Resolver resolve,
                               std::string &error) {
  auto known = slots.find(value);
  if (known != slots.end())
    return known->second;
  // A value from above: constants and what the resolver knows.
  Operation *def = value.getDefiningOp();
  if (!def) {
    error = "uses an argument of a region around it";
    return 0;
  }
  if (!append(def, resolve, error))
    return 0;
  return slots.lookup(value);
}

bool ScalarProgram::append(Operation *op, Resolver resolve,
                           std::string &error) {
  if (op->getNumResults() != 1) {
    error = "'" + op->getName().getStringRef().str() + "' is not a scalar op";
    return false;
  }
  ScalarInstr instr;
  ExternFn external;
  bool plain = decodeScalar(op, instr);
  if (!plain) {
    external = resolve(op);
    if (!external) {
      error = "'" + op->getName().getStringRef().str() + "' is not a scalar op";
      return false;
    }
  }
  SmallVector<uint32_t> operands;
  for (Value operand : op->getOperands()) {
    // Handles (tables, vectors) belong to the resolver.
    if (!isScalar(operand.getType())) {
      operands.push_back(0);
      continue;
    }
    operands.push_back(slotOf(operand, resolve, error));
    if (!error.empty())
      return false;
  }
  instr.dst = slotCount++;
  slots[op->getResult(0)] = instr.dst;
  if (plain) {
    for (auto [i, slot] : llvm::enumerate(operands))
      instr.in[i] = slot;
  } else {
    instr.fn = nullptr;
    instr.index = static_cast<int32_t>(externs.size());
    externs.push_back(std::move(external));
    externOperands.emplace_back(operands.begin(), operands.end());
  }
  code.push_back(instr);
  return true;
}

bool ScalarProgram::compile(Block &block, Resolver resolve,
                            std::string &error) {
  *this = ScalarProgram();
  error.clear();
  args = block.getNumArguments();
  slotCount = args;
  for (BlockArgument arg : block.getArguments())
    slots[arg] = arg.getArgNumber();
  for (Operation &op : block.without_terminator())
    if (!append(&op, resolve, error))
      return false;
  for (Value value : block.getTerminator()->getOperands()) {
    results.push_back(slotOf(value, resolve, error));
    if (!error.empty())
      return false;
  }
  slots.clear();
  return true;
}

void ScalarProgram::runExtern(Word *words, const ScalarInstr &instr) const {
  Word operands[8];
  const std::vector<uint32_t> &from = externOperands[instr.index];
  for (size_t i = 0; i < from.size() && i < 8; ++i)
    operands[i] = words[from[i]];
  words[instr.dst] = externs[instr.index](operands);
}
