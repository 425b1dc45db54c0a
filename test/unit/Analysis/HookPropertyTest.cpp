//===- HookPropertyTest.cpp - region, encoding and inlined code agree -----===//
//
// Random hooks, random points: the region interpreted directly, the encoded
// program run by attn::mask, and the inlined code interpreted (as scalars and
// on four lanes, undefined cases being errors) give the same bits.
//
//===----------------------------------------------------------------------===//

#include "HookFixture.h"
#include "RandomHook.h"
#include "ScalarEval.h"

#include "attn/Analysis/EncodeHook.h"
#include "attn/Analysis/InlineHook.h"
#include "attn/Mask/Eval.h"

#include <cmath>

using namespace attn;
using namespace attn::test;
using namespace mlir;

namespace {

constexpr unsigned tableRows = 3, tableCols = 5, tableHeads = 4, elements = 8;

/// One point: everything that a hook can read.
struct Point {
  uint32_t params[2];
  float floatTable[tableHeads];
  int32_t intTable[tableRows * tableCols];
  float x[elements];
  float s;
  int32_t args[4]; // b, h, and what the kind has next
  int32_t qLen, kvLen;

  explicit Point(RandomHook &random) {
    params[0] = uint32_t(random.anyInt());
    params[1] = asWord(random.anyFloat());
    for (float &f : floatTable)
      f = random.anyFloat();
    for (int32_t &i : intTable)
      i = random.anyInt();
    for (float &f : x)
      f = random.anyFloat();
    s = random.anyFloat();
    for (int32_t &i : args)
      i = random.anyInt();
    qLen = int32_t(random.below(5000));
    kvLen = int32_t(random.below(5000));
  }
};

int64_t clampTo(uint32_t word, int64_t extent) {
  return std::min(std::max<int64_t>(int32_t(word), 0), extent - 1);
}

/// attn.read, attn.length, attn.element at a point.
uint32_t readSource(Operation *op, ArrayRef<uint32_t> index, const Point &p) {
  if (auto length = dyn_cast<LengthOp>(op))
    return uint32_t(length.getIsKv() ? p.kvLen : p.qLen);
  if (isa<ElementOp>(op))
    return asWord(p.x[clampTo(index[0], elements)]);
  if (index.size() == 1)
    return asWord(p.floatTable[clampTo(index[0], tableHeads)]);
  return uint32_t(p.intTable[clampTo(index[0], tableRows) * tableCols +
                             clampTo(index[1], tableCols)]);
}

/// Argument `i` of the hook as a word.
uint32_t argument(HookOp hook, unsigned i, const Point &p) {
  if (hook.getKind() == HookKind::Score || isVectorHook(hook.getKind()))
    return i == 0 ? asWord(p.s) : uint32_t(p.args[i - 1]);
  return uint32_t(p.args[i]);
}

uint32_t evalRegion(HookOp hook, const Point &p) {
  ScalarEval eval;
  eval.source = [&](Operation *op, ArrayRef<uint32_t> index) {
    return readSource(op, index, p);
  };
  unsigned ordinal = 0;
  for (ParamOp param : hook->getParentRegion()->getOps<ParamOp>())
    eval.values[param] = {p.params[ordinal++]};
  for (BlockArgument arg : hook.getBody().getArguments())
    if (!isa<VectorType>(arg.getType()))
      eval.values[arg] = {argument(hook, arg.getArgNumber(), p)};
  eval.run(hook.getBody().front());
  EXPECT_EQ(eval.error, "");
  return eval.values[hook.getYielded()][0];
}

uint32_t evalProgram(const mask::HookProgram &program, const Point &p) {
  mask::TableData tables[2];
  tables[0] = {p.floatTable, ATTN_F32, 1, {tableHeads, 1, 1}};
  tables[1] = {p.intTable, ATTN_I32, 2, {tableRows, tableCols, 1}};
  mask::Env<float> env;
  env.s = p.s;
  env.b = p.args[0];
  env.h = p.args[1];
  env.q = p.args[2];
  env.k = p.args[3];
  env.i = p.args[3];
  env.qLen = p.qLen;
  env.kvLen = p.kvLen;
  env.x = p.x;
  env.xSize = elements;
  env.bindings = {p.params, 2, tables, 2};
  if (program.kind() == ATTN_HOOK_MASK)
    return mask::evalMask(program, env);
  return asWord(mask::evalFloat(program, env));
}

/// Inlines the hook into a function of its arguments and of everything it reads
/// (one more argument a read), then interprets the function for some points.
std::vector<uint32_t> evalInlined(HookOp hook, ArrayRef<Point> points,
                                  std::string &error) {
  MLIRContext *context = hook.getContext();
  OpBuilder b(context);
  Location loc = b.getUnknownLoc();
  size_t lanes = points.size();
  auto shaped = [&](Type type) -> Type {
    return lanes == 1 ? type : Type(VectorType::get({int64_t(lanes)}, type));
  };
  Block block;
  b.setInsertionPointToStart(&block);
  ScalarEval eval;
  eval.strict = true;
  SmallVector<Value> args;
  for (BlockArgument arg : hook.getBody().getArguments()) {
    if (isa<VectorType>(arg.getType())) {
      args.push_back({});
      continue;
    }
    // b and h stay scalars when there are lanes: they are uniform.
    unsigned number = arg.getArgNumber();
    bool uniform = hook.getBody().getArgument(number).getType().isInteger(32) &&
                   number + 2 < hook.getBody().getNumArguments();
    Value value =
        block.addArgument(uniform ? arg.getType() : shaped(arg.getType()), loc);
    args.push_back(value);
    for (const Point &p : points)
      if (!uniform || eval.values[value].empty())
        eval.values[value].push_back(argument(hook, number, p));
  }
  // A read becomes an operation "attn.read" again, in a form that the
  // interpreter hands to readSource with the operands as they were inlined.
  unsigned lane = 0;
  auto opaque = [&](Operation *op, ValueRange operands) -> FailureOr<Value> {
    OperationState state(loc, "attn.test_read", operands,
                         shaped(op->getResult(0).getType()));
    Operation *copy = b.create(state);
    copy->setAttr("source", b.getI64IntegerAttr(reinterpret_cast<int64_t>(op)));
    return copy->getResult(0);
  };
  HookReads reads;
  reads.param = [&](ParamOp param) -> FailureOr<Value> {
    unsigned ordinal = param.getName() == "p1";
    Value value = block.addArgument(param.getType(), loc);
    eval.values[value] = {points[0].params[ordinal]};
    return value;
  };
  reads.read = [&](ReadOp op, ValueRange index) { return opaque(op, index); };
  reads.length = [&](LengthOp op) { return opaque(op, {}); };
  reads.element = [&](ElementOp op, Value index) { return opaque(op, index); };
  eval.source = [&](Operation *op, ArrayRef<uint32_t> index) {
    auto *source = reinterpret_cast<Operation *>(
        op->getAttrOfType<IntegerAttr>("source").getInt());
    return readSource(source, index, points[lane++ % lanes]);
  };
  FailureOr<Value> result = inlineHook(b, hook, args, reads);
  if (failed(result)) {
    error = "not inlined";
    return {};
  }
  YieldOp::create(b, loc, ValueRange{*result});
  for (Operation &op : block)
    if (op.getName().isRegistered() && failed(verify(&op)))
      error = "not valid: " + op.getName().getStringRef().str();
  eval.run(block);
  if (!eval.error.empty())
    error = eval.error;
  return eval.values[*result];
}

/// Equal bits, or both NaN.
bool same(bool isMask, uint32_t x, uint32_t y) {
  if (!isMask && std::isnan(asFloat(x)) && std::isnan(asFloat(y)))
    return true;
  return x == y;
}

class HookPropertyTest : public HookFixture,
                         public ::testing::WithParamInterface<HookKind> {
protected:
  HookPropertyTest() { context.allowUnregisteredDialects(); }
};

} // namespace

TEST_P(HookPropertyTest, ThreeFormsAgree) {
  bool isMask = GetParam() == HookKind::Mask;
  unsigned differing = 0;
  for (unsigned seed = 0; seed != 200; ++seed) {
    RandomHook random(&context, seed * 7 + unsigned(GetParam()));
    HookOp hook;
    OwningOpRef<ModuleOp> made = random.make(GetParam(), hook);
    ASSERT_TRUE(succeeded(verify(*made))) << diagnostics;
    mask::HookProgram program;
    std::string error;
    ASSERT_TRUE(encodeHook(hook, program, error)) << error;
    uint32_t previous = 0;
    for (unsigned round = 0; round != 8; ++round) {
      std::vector<Point> points;
      for (unsigned lane = 0; lane != 4; ++lane) {
        points.emplace_back(random);
        // Uniform values are the same on all lanes.
        points.back().args[0] = points[0].args[0];
        points.back().args[1] = points[0].args[1];
        std::copy(std::begin(points[0].params), std::end(points[0].params),
                  points.back().params);
      }
      std::string text;
      llvm::raw_string_ostream(text) << *made << program.str();
      for (const Point &p : points) {
        uint32_t direct = evalRegion(hook, p);
        EXPECT_TRUE(same(isMask, evalProgram(program, p), direct)) << text;
        std::vector<uint32_t> scalar = evalInlined(hook, p, error);
        ASSERT_EQ(error, "") << diagnostics << text;
        EXPECT_TRUE(same(isMask, scalar.at(0), direct)) << text;
        differing += direct != previous;
        previous = direct;
      }
      std::vector<uint32_t> vector = evalInlined(hook, points, error);
      ASSERT_EQ(error, "") << diagnostics << text;
      for (unsigned lane = 0; lane != 4; ++lane)
        EXPECT_TRUE(same(isMask, vector.at(vector.size() == 1 ? 0 : lane),
                         evalRegion(hook, points[lane])))
            << text;
      if (HasFailure())
        return;
    }
  }
  // The hooks are not constants.
  EXPECT_GT(differing, 500u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, HookPropertyTest,
                         ::testing::Values(HookKind::Score, HookKind::Mask,
                                           HookKind::Sink, HookKind::Query),
                         [](const auto &info) {
                           return stringifyHookKind(info.param).str();
                         });
