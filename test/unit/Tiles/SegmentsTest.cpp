//===- SegmentsTest.cpp - emitted block bounds against brute force --------===//
//
// Runs attn-expand-segments, evaluates the arithmetic that it wrote, and
// compares with a look at every (row, key) of the slice:
//
//   mask text -> attn-derive-block-map -> attn-expand-segments -> evaluate
//   mask hook, encoded                 -> every live row and key
//
// The bounds must be exact: a block is outside [b0, bn) iff no live row sees a
// key of it, and in the full segment iff every live row sees all its keys.
//
//===----------------------------------------------------------------------===//

#include "attn/ABI/WorkItem.h"
#include "attn/Analysis/EncodeHook.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Mask/Eval.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace attn;

namespace {

/// The inputs of one item and its request.
struct Item {
  int32_t row0 = 0, nrows = 0, kv0 = 0, kv1 = 0, qLen = 0, kvLen = 0;
  int32_t window = 0, other = 0; // parameters
  uint32_t flags = 0;
};

constexpr char prologue[] = R"(
!Q = !attn.tensor<query, f32, heads = 12, dim = 64, ragged>
!K = !attn.tensor<key, f32, heads = 12, dim = 64, ragged>
!V = !attn.tensor<value, f32, heads = 12, dim = 64, ragged>
attn.kernel @kernel(%tq: !Q, %tk: !K, %tv: !V, %scale: f32, %plan: !attn.plan) {
  attn.variant @v {
    %w = attn.param "window" : i32
    %other = attn.param "other" : i32
)";
constexpr char epilogue[] = R"(
  }
  attn.return
}
)";

class Segments : public ::testing::Test {
protected:
  Segments() {
    context.loadDialect<AttnDialect, arith::ArithDialect, scf::SCFDialect>();
    context.allowUnregisteredDialects();
  }

  /// Derives the map of `mask` (a hook, or empty) and expands its segments.
  void build(StringRef mask, int32_t pack, int32_t tileK) {
    this->tileK = tileK;
    this->pack = pack;
    std::string text = prologue + mask.str() + epilogue;
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    kernel = *module->getOps<KernelOp>().begin();
    ScopedDiagnosticHandler quiet(&context, [&](Diagnostic &d) {
      return success(d.getSeverity() == DiagnosticSeverity::Remark);
    });
    PassManager derive(module->getContext(), ModuleOp::getOperationName());
    derive.addNestedPass<KernelOp>(createAttnDeriveBlockMap());
    ASSERT_TRUE(succeeded(derive.run(*module)));
    map = kernel.getBlockMapAttr();
    program = mask::HookProgram();
    std::string error;
    if (HookOp hook = kernel.getVariant().getHook(HookKind::Mask))
      ASSERT_TRUE(encodeHook(hook, program, error)) << error;
    addItem();
    PassManager expand(module->getContext(), ModuleOp::getOperationName());
    expand.addNestedPass<KernelOp>(createAttnExpandSegments());
    ASSERT_TRUE(succeeded(expand.run(*module)));
  }

  void addItem() {
    Location loc = kernel.getLoc();
    OpBuilder b(kernel.getBody().front().getTerminator());
    Type i32 = b.getI32Type();
    auto work = ForWorkOp::create(b, loc, kernel.getPlan());
    Region &region = work.getBody();
    Block *block = region.empty() ? &region.emplaceBlock() : &region.front();
    if (block->getNumArguments() == 0)
      block->addArguments(SmallVector<Type>(8, i32),
                          SmallVector<Location>(8, loc));
    if (block->empty()) {
      b.setInsertionPointToEnd(block);
      attn::YieldOp::create(b, loc);
    }
    b.setInsertionPoint(block->getTerminator());
    auto field = [&](unsigned i) -> Value { return block->getArgument(i); };
    auto request = RequestOp::create(b, loc, TypeRange{i32, i32, i32, i32},
                                     kernel.getPlan(), field(0));
    auto rows =
        RowMapOp::create(b, loc, RowsType::get(&context, 12), field(0),
                         field(1), field(2), field(3), request.getQBegin(),
                         request.getQLen(), request.getKvLen(), pack);
    SmallVector<Type> types(map.getClasses().size() + 1, i32);
    auto segments = SegmentsOp::create(b, loc, types, rows, field(4), field(5),
                                       field(7), map, tileK);
    OperationState use(loc, "test.use");
    use.addOperands(segments.getBounds());
    b.create(use);
  }

  /// What the emitted ops compute for an item.
  std::vector<int64_t> evaluate(const Item &item);

  bool visible(const Item &item, int64_t q, int64_t k) {
    if (k < item.kv0 || k >= item.kv1)
      return false;
    if (!program.valid())
      return true;
    uint32_t params[] = {uint32_t(item.window), uint32_t(item.other)};
    mask::Env<double> env;
    env.q = int32_t(q);
    env.k = int32_t(k);
    env.qLen = item.qLen;
    env.kvLen = item.kvLen;
    env.bindings.params = params;
    env.bindings.numParams = 2;
    return mask::evalMask(program, env);
  }

  void check(const Item &item);
  Item randomItem(std::mt19937 &rng, int64_t base);

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  KernelOp kernel;
  BlockMapAttr map;
  mask::HookProgram program;
  int32_t tileK = 0, pack = 1;
  int64_t seen[3] = {}; // blocks of each class
};

/// Interprets the ops; a kind of op that is not expected fails the test.
std::vector<int64_t> Segments::evaluate(const Item &item) {
  llvm::DenseMap<Value, int64_t> values;
  auto get = [&](Value v) { return values.lookup(v); };
  auto set = [&](Operation &op, int64_t v) {
    unsigned width = op.getResult(0).getType().getIntOrFloatBitWidth();
    values[op.getResult(0)] = width == 64   ? v
                              : width == 32 ? int32_t(v)
                                            : v & 1;
  };
  for (Operation &op : kernel.getBody().front())
    if (auto param = dyn_cast<ParamOp>(op))
      values[param] = param.getName() == "window" ? item.window : item.other;
  ForWorkOp work = *kernel.getBody().getOps<ForWorkOp>().begin();
  auto fields = work.getBody().getArguments();
  int32_t record[] = {0,        0,        item.row0, item.nrows,
                      item.kv0, item.kv1, -1,        int32_t(item.flags)};
  for (auto [field, v] : llvm::zip(fields, record))
    values[field] = v;
  std::vector<int64_t> result;
  for (Operation &op : work.getBody().front()) {
    auto x = [&](unsigned i) { return get(op.getOperand(i)); };
    if (auto request = dyn_cast<RequestOp>(op)) {
      values[request.getQLen()] = item.qLen;
      values[request.getKvLen()] = item.kvLen;
    } else if (auto c = dyn_cast<arith::ConstantOp>(op)) {
      set(op, cast<IntegerAttr>(c.getValue()).getInt());
    } else if (isa<arith::AddIOp>(op)) {
      set(op, int64_t(uint64_t(x(0)) + uint64_t(x(1))));
    } else if (isa<arith::SubIOp>(op)) {
      set(op, int64_t(uint64_t(x(0)) - uint64_t(x(1))));
    } else if (isa<arith::MulIOp>(op)) {
      set(op, int64_t(uint64_t(x(0)) * uint64_t(x(1))));
    } else if (isa<arith::DivUIOp>(op)) {
      set(op, uint32_t(x(0)) / uint32_t(x(1)));
    } else if (isa<arith::RemUIOp>(op)) {
      set(op, uint32_t(x(0)) % uint32_t(x(1)));
    } else if (isa<arith::MaxSIOp>(op)) {
      set(op, std::max(x(0), x(1)));
    } else if (isa<arith::MinSIOp>(op)) {
      set(op, std::min(x(0), x(1)));
    } else if (isa<arith::AndIOp>(op)) {
      set(op, x(0) & x(1));
    } else if (isa<arith::SelectOp>(op)) {
      set(op, x(0) ? x(1) : x(2));
    } else if (isa<arith::ExtSIOp, arith::TruncIOp>(op)) {
      set(op, x(0));
    } else if (auto cmp = dyn_cast<arith::CmpIOp>(op)) {
      switch (cmp.getPredicate()) {
      case arith::CmpIPredicate::sgt:
        set(op, x(0) > x(1));
        break;
      case arith::CmpIPredicate::ne:
        set(op, x(0) != x(1));
        break;
      case arith::CmpIPredicate::sle:
        set(op, x(0) <= x(1));
        break;
      default:
        ADD_FAILURE() << "unexpected predicate";
      }
    } else if (op.getName().getStringRef() == "test.use") {
      for (Value v : op.getOperands())
        result.push_back(get(v));
    } else if (!isa<RowMapOp, attn::YieldOp>(op)) {
      ADD_FAILURE() << "unexpected op " << op.getName().getStringRef().str();
    }
  }
  return result;
}

void Segments::check(const Item &item) {
  std::vector<int64_t> b = evaluate(item);
  ArrayRef<BlockClass> classes = map.getClasses();
  ASSERT_EQ(b.size(), classes.size() + 1);
  SCOPED_TRACE(::testing::Message()
               << "row0 " << item.row0 << " rows " << item.nrows << " kv ["
               << item.kv0 << ", " << item.kv1 << ") lengths " << item.qLen
               << ", " << item.kvLen << " window " << item.window << " other "
               << item.other << " pack " << pack << " tile_k " << tileK);
  for (size_t i = 0; i + 1 < b.size(); ++i)
    ASSERT_LE(b[i], b[i + 1]);
  ASSERT_GE(b[0], 0);
  int64_t keys = std::max<int64_t>(int64_t(item.kv1) - item.kv0, 0);
  int64_t blocks = (keys + tileK - 1) / tileK;
  ASSERT_LE(b.back(), blocks);
  if (item.nrows == 0 || keys == 0)
    for (int64_t bound : b)
      ASSERT_EQ(bound, 0);
  bool opaque = map.getForm() == MapForm::Opaque;
  for (int64_t j = 0; j < blocks; ++j) {
    bool any = false, all = item.nrows > 0;
    for (int64_t r = item.row0; r < int64_t(item.row0) + item.nrows; ++r) {
      int64_t q = r / pack + item.kvLen - item.qLen;
      for (int64_t k = 0; k < tileK; ++k) {
        bool seen = visible(item, q, item.kv0 + j * tileK + k);
        any |= seen;
        all &= seen;
      }
    }
    BlockClass found = BlockClass::Skip;
    for (size_t i = 0; i < classes.size(); ++i)
      if (b[i] <= j && j < b[i + 1])
        found = classes[i];
    BlockClass expected = all   ? BlockClass::Full
                          : any ? BlockClass::Partial
                                : BlockClass::Skip;
    if (opaque) { // every block of the slice, masked unless the plan says whole
      uint32_t body = ATTN_ITEM_BODY(item.flags);
      bool whole = body && j >= ATTN_ITEM_FIRST(body) &&
                   j < blocks - int64_t(ATTN_ITEM_LAST(body));
      expected = !item.nrows ? BlockClass::Skip
                 : whole     ? BlockClass::Full
                             : BlockClass::Partial;
    }
    ASSERT_EQ(found, expected) << "block " << j;
    ++seen[unsigned(found)];
  }
}

/// Lengths, slice and rows around `base`, which tries numbers close to 2^31.
Item Segments::randomItem(std::mt19937 &rng, int64_t base) {
  auto pick = [&](int64_t lo, int64_t hi) {
    return int32_t(std::uniform_int_distribution<int64_t>(lo, hi)(rng));
  };
  Item item;
  item.kvLen = int32_t(base) + pick(0, 60);
  item.qLen = pick(0, 3) ? pick(0, 70) : int32_t(base) + pick(0, 60);
  item.kv0 = item.kvLen - pick(0, std::min(item.kvLen, 60));
  item.kv1 = pick(item.kv0, item.kvLen);
  if (pick(0, 2) == 0) { // a whole slice
    item.kv0 = item.kvLen - std::min(item.kvLen, 60);
    item.kv1 = item.kvLen;
  }
  // Packed rows of the request must be i32 themselves.
  int64_t rows = std::min<int64_t>(int64_t(item.qLen) * pack, INT32_MAX - 16);
  item.row0 = rows ? int32_t(std::max<int64_t>(0, rows - 1 - pick(0, 80))) : 0;
  item.nrows = int32_t(std::min<int64_t>(pick(0, 12), rows - item.row0));
  constexpr int32_t extremes[] = {0, 1, -1, 1 << 20, -(1 << 20)};
  item.window = pick(0, 4) ? pick(-4, 70) : extremes[pick(0, 4)];
  item.other = pick(0, 4) ? pick(-4, 70) : extremes[pick(0, 4)];
  uint32_t body = pick(0, 3) ? ATTN_ITEM_WHOLE(pick(0, 3), pick(0, 14)) : 0;
  item.flags = ATTN_ITEM_FLAGS(body, pick(0, 4095), pick(0, 4095));
  return item;
}

struct MaskCase {
  const char *name, *hook;
  size_t classes;
  MapForm form;
};

constexpr MaskCase masks[] = {
    {"dense", "", 2, MapForm::Closed},
    {"causal", R"(attn.hook mask(%b, %h, %q, %k) {
       %r = arith.cmpi sge, %q, %k : i32
       attn.yield %r : i1
     })",
     2, MapForm::Closed},
    {"window", R"(attn.hook mask(%b, %h, %q, %k) {
       %zero = arith.constant 0 : i32
       %d = arith.subi %q, %k : i32
       %lo = arith.cmpi sge, %d, %zero : i32
       %hi = arith.cmpi slt, %d, %w : i32
       %r = arith.andi %lo, %hi : i1
       attn.yield %r : i1
     })",
     3, MapForm::Closed},
    {"left and right window", R"(attn.hook mask(%b, %h, %q, %k) {
       %d = arith.subi %q, %k : i32
       %e = arith.subi %k, %q : i32
       %lo = arith.cmpi sle, %d, %w : i32
       %hi = arith.cmpi slt, %e, %other : i32
       %r = arith.andi %lo, %hi : i1
       attn.yield %r : i1
     })",
     3, MapForm::Closed},
    {"window without causal", R"(attn.hook mask(%b, %h, %q, %k) {
       %d = arith.subi %q, %k : i32
       %r = arith.cmpi slt, %d, %w : i32
       attn.yield %r : i1
     })",
     3, MapForm::Closed},
    {"fixed keys", R"(attn.hook mask(%b, %h, %q, %k) {
       %lo = arith.cmpi sge, %k, %w : i32
       %hi = arith.cmpi slt, %k, %other : i32
       %r = arith.andi %lo, %hi : i1
       attn.yield %r : i1
     })",
     3, MapForm::Closed},
    {"causal above a fixed key", R"(attn.hook mask(%b, %h, %q, %k) {
       %lo = arith.cmpi sge, %k, %w : i32
       %hi = arith.cmpi sge, %q, %k : i32
       %r = arith.andi %lo, %hi : i1
       attn.yield %r : i1
     })",
     3, MapForm::Closed},
    {"window below a fixed key", R"(attn.hook mask(%b, %h, %q, %k) {
       %d = arith.subi %q, %k : i32
       %lo = arith.cmpi slt, %d, %w : i32
       %hi = arith.cmpi slt, %k, %other : i32
       %r = arith.andi %lo, %hi : i1
       attn.yield %r : i1
     })",
     3, MapForm::Closed},
    {"causal below a fixed key", R"(attn.hook mask(%b, %h, %q, %k) {
       %lo = arith.cmpi sge, %q, %k : i32
       %hi = arith.cmpi sle, %k, %other : i32
       %r = arith.andi %lo, %hi : i1
       attn.yield %r : i1
     })",
     2, MapForm::Closed},
    {"top left", R"(attn.hook mask(%b, %h, %q, %k) {
       %ql = attn.length q
       %kl = attn.length kv
       %shift = arith.subi %kl, %ql : i32
       %row = arith.subi %q, %shift : i32
       %r = arith.cmpi sge, %row, %k : i32
       attn.yield %r : i1
     })",
     2, MapForm::Closed},
    {"opaque", R"(attn.hook mask(%b, %h, %q, %k) {
       %x = arith.xori %q, %k : i32
       %r = arith.cmpi sgt, %x, %w : i32
       attn.yield %r : i1
     })",
     3, MapForm::Opaque},
};

TEST_F(Segments, ExactAgainstBruteForce) {
  std::mt19937 rng(7);
  constexpr std::pair<int32_t, int32_t> shapes[] = {{1, 8}, {4, 16}, {3, 5}};
  // Sums stay in i32 (the condition of a closed form) up to 2^30.
  constexpr int64_t bases[] = {0, 0, 0, int64_t(1) << 20, int64_t(1) << 29};
  for (const MaskCase &mask : masks) {
    SCOPED_TRACE(mask.name);
    for (auto [pack, tileK] : shapes) {
      ASSERT_NO_FATAL_FAILURE(build(mask.hook, pack, tileK));
      ASSERT_EQ(map.getClasses().size(), mask.classes);
      ASSERT_EQ(map.getForm(), mask.form);
      for (int i = 0; i < 250; ++i)
        for (int64_t base : bases)
          ASSERT_NO_FATAL_FAILURE(check(randomItem(rng, base)));
    }
    // The cases are worth something: every class occurs.
    EXPECT_GT(seen[unsigned(BlockClass::Skip)], 100);
    EXPECT_GT(seen[unsigned(BlockClass::Partial)], 100);
    if (mask.form == MapForm::Closed)
      EXPECT_GT(seen[unsigned(BlockClass::Full)], 100);
    std::fill(std::begin(seen), std::end(seen), 0);
  }
}

/// The causal code is 32 bits wide: lengths up to 2^31 - 1 must not wrap.
TEST_F(Segments, LongestLengths) {
  std::mt19937 rng(9);
  for (StringRef hook : {masks[0].hook, masks[1].hook}) {
    ASSERT_NO_FATAL_FAILURE(build(hook, 1, 8));
    for (int i = 0; i < 500; ++i)
      ASSERT_NO_FATAL_FAILURE(check(randomItem(rng, int64_t(INT32_MAX) - 60)));
  }
}

/// Rows at positions 1024 .. 1055 of 4096 keys, 4 heads packed, window 1024.
TEST_F(Segments, WorkedExample) {
  Item item;
  item.row0 = 1024 * 4;
  item.nrows = 128;
  item.kv1 = item.qLen = item.kvLen = 4096;
  item.window = 1024;
  ASSERT_NO_FATAL_FAILURE(build(masks[1].hook, 4, 128));
  EXPECT_EQ(evaluate(item), (std::vector<int64_t>{0, 8, 9}));
  ASSERT_NO_FATAL_FAILURE(build(masks[2].hook, 4, 128));
  EXPECT_EQ(evaluate(item), (std::vector<int64_t>{0, 1, 8, 9}));
}

/// Every row's window is empty, although the ends of the union are not.
TEST_F(Segments, EmptyWindowSeesNothing) {
  Item item;
  item.nrows = 12;
  item.kv1 = item.qLen = item.kvLen = 60;
  item.window = 0;
  ASSERT_NO_FATAL_FAILURE(build(masks[2].hook, 1, 8));
  EXPECT_EQ(evaluate(item), (std::vector<int64_t>{0, 0, 0, 0}));
}

} // namespace
