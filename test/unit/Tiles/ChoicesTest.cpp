//===- ChoicesTest.cpp - ladders, what hooks hold, prices -----------------===//
//
//   facts -> chooseSchedules -> ladder, beside, measured
//   hook text -> hookValuesOf
//   costOf + Price -> the specialisation for a length
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Plan/Price.h"
#include "attn/Schedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace attn;

namespace {

class Choices : public ::testing::Test {
protected:
  Choices() {
    context.loadDialect<AttnDialect, pipe::PipeDialect, arith::ArithDialect,
                        math::MathDialect>();
    set(64, 64, false);
  }

  void set(int32_t dim, int32_t dimV, bool masked, int32_t heads = 8,
           int32_t kvHeads = 8) {
    auto tensor = [&](TensorRole role, int32_t n, int32_t d) {
      return attn::TensorType::get(&context, role,
                                   Builder(&context).getBF16Type(), n, d,
                                   Storage::Ragged);
    };
    facts = {};
    facts.query = tensor(TensorRole::Query, heads, dim);
    facts.key = tensor(TensorRole::Key, kvHeads, dim);
    facts.value = tensor(TensorRole::Value, kvHeads, dimV);
    facts.hasMaskHook = masked;
    facts.group = heads / kvHeads;
  }

  const TargetSpec &target(const char *name = "sm_90a") {
    std::string error;
    return *findTarget(name, error);
  }

  /// (rows, columns) of the one hook of a variant.
  std::pair<int32_t, int32_t> held(const std::string &hook,
                                   bool packed = false) {
    auto module = parseSourceString<ModuleOp>(
        "attn.variant @v {\n  %w = attn.param \"w\" : i32\n"
        "  %t = attn.table \"t\" : !attn.table<i32, [position]>\n"
        "  %slopes = attn.table \"s\" : !attn.table<f32, [head]>\n" +
            hook + "\n}",
        &context);
    if (!module)
      return {-1, -1};
    HookOp op;
    module->walk([&](HookOp found) { op = found; });
    HookValues values = hookValuesOf(op, packed);
    return {values.rows, values.columns};
  }

  std::vector<std::pair<int32_t, int32_t>>
  tiles(llvm::ArrayRef<ScheduleAttr> list) {
    std::vector<std::pair<int32_t, int32_t>> result;
    for (ScheduleAttr s : list)
      result.emplace_back(s.getTileQ(), s.getTileK());
    return result;
  }

  MLIRContext context;
  ProblemFacts facts;
  std::string error;
};

using Held = std::pair<int32_t, int32_t>;
using Tiles = std::vector<std::pair<int32_t, int32_t>>;

} // namespace

/// Sums of the key's position are made again; quotients, reads are held.
TEST_F(Choices, HookValues) {
  EXPECT_EQ(held(R"(attn.hook mask(%b, %h, %q, %k) {
    %d = arith.subi %q, %k : i32
    %near = arith.cmpi slt, %d, %w : i32
    attn.yield %near : i1
  })"),
            Held(0, 0));
  EXPECT_EQ(held(R"(attn.hook mask(%b, %h, %q, %k) {
    %k1 = arith.addi %k, %w : i32
    %past = arith.cmpi sge, %q, %k1 : i32
    attn.yield %past : i1
  })"),
            Held(0, 0));
  EXPECT_EQ(held(R"(attn.hook mask(%b, %h, %q, %k) {
    %dq = attn.read %t[%q] : !attn.table<i32, [position]>
    %dk = attn.read %t[%k] : !attn.table<i32, [position]>
    %same = arith.cmpi eq, %dq, %dk : i32
    attn.yield %same : i1
  })"),
            Held(1, 1));
  // The column's quotient, and its remainder that is made of it.
  EXPECT_EQ(held(R"(attn.hook mask(%b, %h, %q, %k) {
    %cq = arith.floordivsi %q, %w : i32
    %ck = arith.floordivsi %k, %w : i32
    %k0 = arith.muli %ck, %w : i32
    %x = arith.subi %k, %k0 : i32
    %same = arith.cmpi eq, %cq, %ck : i32
    %near = arith.cmpi slt, %x, %q : i32
    %both = arith.andi %same, %near : i1
    attn.yield %both : i1
  })"),
            Held(2, 3));
  // What a column's value alone decides is held for both rows.
  EXPECT_EQ(held(R"(attn.hook mask(%b, %h, %q, %k) {
    %dk = attn.read %t[%k] : !attn.table<i32, [position]>
    %good = arith.cmpi eq, %dk, %w : i32
    attn.yield %good : i1
  })"),
            Held(0, 1));
  // Packed rows belong to several heads.
  const char *slope = R"(attn.hook score(%s, %b, %h, %q, %k) {
    %slope = attn.read %slopes[%h] : !attn.table<f32, [head]>
    %r = arith.addf %s, %slope : f32
    attn.yield %r : f32
  })";
  EXPECT_EQ(held(slope), Held(0, 0));
  EXPECT_EQ(held(slope, /*packed=*/true), Held(1, 0));
}

TEST_F(Choices, Registers) {
  facts.hookValues = {3, 2};
  ScheduleAttr s = chooseSchedules(facts, target()).ladder.front();
  ASSERT_EQ(s.getTileK(), 64); // 32 at 96 keys would be 48
  EXPECT_EQ(resourcesOf(facts, s).hookRegisters, 2u * 3 + 2u * 64 / 4);
}

/// Every candidate is legal; a later rung leaves more registers.
TEST_F(Choices, LaddersAreLegalAndLeaveMore) {
  constexpr std::pair<int32_t, int32_t> dims[] = {
      {8, 8},     {32, 32},   {64, 64},  {72, 40},  {96, 96},  {128, 128},
      {160, 160}, {192, 128}, {64, 256}, {248, 24}, {256, 256}};
  for (auto [dim, dimV] : dims)
    for (bool masked : {false, true}) {
      set(dim, dimV, masked);
      ScheduleChoices choices = chooseSchedules(facts, target());
      EXPECT_GE(choices.ladder.size(), 3u) << dim;
      uint64_t left = 0;
      for (ScheduleAttr s : choices.ladder) {
        Resources r = resourcesOf(facts, s);
        EXPECT_GT(r.registersOfRole - r.tileRegisters, left) << dim;
        left = r.registersOfRole - r.tileRegisters;
      }
      for (const auto &list : {llvm::ArrayRef<ScheduleAttr>(choices.ladder),
                               llvm::ArrayRef<ScheduleAttr>(choices.beside),
                               llvm::ArrayRef<ScheduleAttr>(choices.measured)})
        for (ScheduleAttr s : list) {
          EXPECT_TRUE(checkSchedule(facts, s, target(), error)) << error;
          EXPECT_TRUE(checkResources(resourcesOf(facts, s), target(), error))
              << error;
        }
    }
  // Nothing is legal: the first choice, so that the checks name what is wrong.
  set(512, 512, false);
  EXPECT_EQ(tiles(chooseSchedules(facts, target()).ladder), Tiles({{128, 64}}));
}

TEST_F(Choices, HooksChooseTheRung) {
  set(64, 64, true);
  EXPECT_EQ(tiles(chooseSchedules(facts, target()).ladder),
            Tiles({{256, 64}, {192, 64}, {128, 64}}));
  facts.hookValues = {2, 3};
  ScheduleChoices choices = chooseSchedules(facts, target());
  EXPECT_EQ(tiles(choices.ladder), Tiles({{192, 64}, {128, 64}}));
  EXPECT_EQ(tiles(choices.measured),
            Tiles({{192, 128}, {128, 128}, {256, 64}}));
  // More than any rung has: the last.
  facts.hookValues = {100, 100};
  EXPECT_EQ(tiles(chooseSchedules(facts, target()).ladder), Tiles({{128, 64}}));
  // What stands beside the ladder must fit as well.
  set(64, 64, false);
  EXPECT_EQ(tiles(chooseSchedules(facts, target()).beside), Tiles({{256, 64}}));
  facts.hookValues = {1, 1};
  EXPECT_EQ(tiles(chooseSchedules(facts, target()).beside), Tiles({{256, 64}}));
  facts.hookValues = {2, 1};
  choices = chooseSchedules(facts, target());
  EXPECT_TRUE(choices.beside.empty());
  EXPECT_TRUE(llvm::is_contained(tiles(choices.measured),
                                 std::pair<int32_t, int32_t>(256, 64)));
}

TEST_F(Choices, OtherTargets) {
  ScheduleChoices warps = chooseSchedules(facts, target("sm_80"));
  EXPECT_EQ(tiles(warps.ladder),
            Tiles({{128, 64}, {128, 48}, {128, 32}, {128, 64}, {128, 32}}));
  EXPECT_EQ(tiles(warps.beside), Tiles({{16, 128}}));
  EXPECT_EQ(tiles(warps.measured), Tiles({{128, 96}, {128, 64}, {16, 32}}));
  // From the widest O on 16 rows a warp, for want of registers.
  for (auto [dim, dimV, keys, threads] :
       {std::array<int32_t, 4>{96, 96, 32, 128},
        std::array<int32_t, 4>{128, 128, 32, 128},
        std::array<int32_t, 4>{192, 128, 32, 128},
        std::array<int32_t, 4>{256, 256, 64, 128}}) {
    set(dim, dimV, true);
    ScheduleAttr s = chooseSchedule(facts, target("sm_80"));
    EXPECT_EQ(s.getTileK(), keys) << dim;
    EXPECT_EQ(resourcesOf(facts, s).threads, uint64_t(threads)) << dim;
  }
  set(64, 64, false);
  ScheduleChoices cpu = chooseSchedules(facts, target("cpu"));
  EXPECT_EQ(tiles(cpu.ladder), Tiles({{64, 64}}));
  EXPECT_TRUE(cpu.beside.empty() && cpu.measured.empty());
}

/// The winners of the measured table; head dim 64 without a mask has two
/// specialisations, the others' order is that of the ladder.
TEST_F(Choices, PricesPickAsMeasured) {
  auto price = [&](ScheduleAttr s, int64_t length) {
    ItemCost cost = costOf(facts, s, target());
    return plan::Price{s.getTileQ(), s.getTileK(), s.getPack(), cost.row,
                       cost.key}
        .of(length, length, 32);
  };
  ScheduleChoices choices = chooseSchedules(facts, target());
  ASSERT_EQ(choices.beside.size(), 1u);
  // Clocks of 192 rows over those of 256.
  const std::pair<int64_t, double> table[] = {{512, 1.136},  {1024, 1.130},
                                              {2048, 1.033}, {4096, 1.034},
                                              {8192, 1.019}, {16384, 1.021}};
  for (auto [length, ratio] : table) {
    double first = price(choices.ladder.front(), length);
    double beside = price(choices.beside.front(), length);
    EXPECT_NEAR(first / beside, ratio, 0.015) << length;
    for (ScheduleAttr s : choices.measured)
      EXPECT_GT(price(s, length), beside);
  }
  // Where 256 rows are a quarter padding.
  EXPECT_LT(price(choices.ladder.front(), 192),
            price(choices.beside.front(), 192));
  // Against 16k tokens, d 128: 518, 613, 669, 696 of 739 TFLOP/s.
  set(128, 128, false);
  ScheduleAttr s = chooseSchedule(facts, target());
  auto speed = [&](int64_t n) { return double(n) * double(n) / price(s, n); };
  const std::pair<int64_t, double> speeds[] = {
      {512, 518}, {1024, 613}, {2048, 669}, {4096, 696}};
  for (auto [length, tflops] : speeds)
    EXPECT_NEAR(speed(length) / speed(16384), tflops / 739, 0.03) << length;
}

/// Warps that share out the keys: a tile for few rows, on one target.
TEST_F(Choices, FewRowsTakeSmallTiles) {
  for (int32_t dim : {64, 128, 256}) {
    set(dim, dim, true, 32, 8);
    ScheduleChoices choices = chooseSchedules(facts, target("sm_80"));
    ASSERT_EQ(choices.beside.size(), 1u) << dim;
    auto price = [&](ScheduleAttr s, int64_t q, int64_t kv) {
      ItemCost cost = costOf(facts, s, target("sm_80"));
      return plan::Price{s.getTileQ(), s.getTileK(), s.getPack(), cost.row,
                         cost.key}
          .of(q, kv, 32);
    };
    ScheduleAttr large = choices.ladder.front(), few = choices.beside.front();
    EXPECT_EQ(few.getPack(), 4);
    // Of 4 packed heads: 4 and 16 rows, then more than a tile of each.
    for (auto [q, kv] : {std::pair(1, 4096), std::pair(4, 300)})
      EXPECT_LT(price(few, q, kv), price(large, q, kv)) << dim;
    for (auto [q, kv] : {std::pair(32, 4096), std::pair(512, 512)})
      EXPECT_GT(price(few, q, kv), price(large, q, kv)) << dim;
    // O of 16 rows in f32, m and l of 4 groups lie where K and V were.
    Resources r = resourcesOf(facts, few);
    EXPECT_EQ(r.threads, 128u);
    EXPECT_EQ(r.sharedBytes,
              uint64_t(16 + 4 * few.getTileK()) * uint64_t(dim) * 2)
        << dim;
  }
  // One slot of K and V each is less than that.
  set(256, 256, false);
  std::string why;
  ScheduleAttr one = applyOverrides(
      chooseSchedules(facts, target("sm_80")).beside.front(),
      "channels.k=1,channels.v=1,skew.load_kv=0,tile_k=64,roles=all:4", why);
  ASSERT_TRUE(one) << why;
  EXPECT_EQ(resourcesOf(facts, one).sharedBytes,
            std::max(uint64_t(16 + 128) * 512, uint64_t(64 * (1024 + 16))));
}

/// One MUFU instruction in the hook keeps the MUFU as busy as the products at head
/// dim 128 and no other: a third warpgroup there.  More of them leave it the limit.
TEST_F(Choices, OneMufuInstructionTakesThreeWarpgroups) {
  for (bool masked : {false, true})
    for (int32_t dim : {64, 128, 256})
      for (int32_t mufu : {0, 1, 2}) {
        set(dim, dim, masked);
        facts.hasScoreHook = true;
        ScheduleAttr other = chooseSchedule(facts, target());
        facts.scoreWork = {mufu, 2};
        ScheduleAttr s = chooseSchedule(facts, target());
        bool third = dim == 128 && mufu == 1;
        EXPECT_EQ(tiles({s}), third ? Tiles({{192, 80}}) : tiles({other}))
            << dim << " " << mufu;
        EXPECT_EQ(s.getExp2Fma() > 0, mufu > 0 && dim < 256 && !third)
            << dim << " " << mufu;
      }
}

/// Warpgroups copy whole tiles, so a group that divides none is packed by warps.
TEST_F(Choices, OddGroupsTakeTilesOfWarps) {
  for (int32_t dim : {64, 128, 256})
    for (auto [heads, packed] :
         {std::pair(4, false), {5, true}, {7, true}, {13, true}, {17, false}}) {
      int32_t group = heads;
      set(dim, dim, true, 2 * group, 2);
      ScheduleChoices choices = chooseSchedules(facts, target());
      auto price = [&](ScheduleAttr s, int64_t q) {
        ItemCost cost = costOf(facts, s, target());
        return plan::Price{s.getTileQ(), s.getTileK(), s.getPack(), cost.row,
                           cost.key}
            .of(q, 4096, 2 * group);
      };
      ScheduleAttr large = choices.ladder.front();
      EXPECT_EQ(large.getPack(), group == 4 ? 4 : 1) << group;
      auto few = llvm::find_if(
          choices.beside, [](ScheduleAttr s) { return s.getTileQ() == 16; });
      ASSERT_EQ(few != choices.beside.end(), packed) << dim << " " << group;
      if (!packed)
        continue;
      EXPECT_EQ(few->getPack(), group);
      EXPECT_EQ(few->getVTail(), "zero_fill");
      EXPECT_LT(price(*few, 1), price(large, 1)) << dim << " " << group;
      EXPECT_GT(price(*few, 512), price(large, 512)) << dim << " " << group;
    }
}

/// What is computed and where it lies, of every head dim: products of 16
/// columns, rows of whole panels; the same for all dims that are padded to one.
TEST_F(Choices, PaddedDims) {
  for (int32_t dim = 8; dim <= 256; dim += 8)
    for (const char *on : {"sm_80", "sm_90a"}) {
      set(dim, 256 - dim + 8, true);
      int32_t columns = (dim + 15) / 16 * 16;
      EXPECT_EQ(facts.columns(), columns);
      ScheduleAttr s = chooseSchedule(facts, target(on));
      EXPECT_TRUE(checkSchedule(facts, s, target(on), error)) << error;
      uint64_t bytes = resourcesOf(facts, s).sharedBytes;
      set(columns, (256 - dim + 8 + 15) / 16 * 16, true);
      EXPECT_EQ(chooseSchedule(facts, target(on)), s) << dim;
      EXPECT_EQ(resourcesOf(facts, s).sharedBytes, bytes) << dim;
    }
  // 3 panels of 32 columns; 80 of the 96 are computed.
  set(72, 72, false);
  ScheduleAttr s = chooseSchedule(facts, target("sm_80"));
  ASSERT_EQ(s.getTileQ(), 128);
  ASSERT_EQ(s.getTileK(), 32);
  EXPECT_EQ(resourcesOf(facts, s).sharedBytes, (128 + 4 * 32) * 96 * 2u);
  EXPECT_EQ(resourcesOf(facts, s).tileRegisters, (128u * 32 + 128 * 80) / 128);
  EXPECT_EQ(
      describeSchedule(facts, s, 49152),
      "128 rows x 32 keys, frozen reference, an item a CTA, 2 stages; 49152 "
      "bytes of shared memory; because head dim 72 (padded to 80: 11 % more "
      "products), no mask");
  set(192, 40, false);
  EXPECT_NE(describeSchedule(facts, chooseSchedule(facts, target()), 0)
                .find("head dim 192 and 40 (padded to 192 and 48: 3 % more "
                      "products), no mask"),
            std::string::npos);
}

TEST_F(Choices, Description) {
  EXPECT_EQ(describeSchedule(facts, chooseSchedule(facts, target()), 114872),
            "3 x 64 rows x 128 keys, frozen reference, dynamic order, 2 "
            "stages; 114872 bytes of shared memory; because head dim 64, no "
            "mask");
  set(192, 128, true);
  facts.scoreWork = {1, 0};
  facts.group = 3;
  EXPECT_NE(describeSchedule(facts, chooseSchedule(facts, target()), 0)
                .find("masked, groups of 3 heads not packed, 1 MUFU in the "
                      "score hook"),
            std::string::npos);
  facts.scoreWork = {};
  facts.group = 1;
  facts.hookValues = {1, 0};
  EXPECT_EQ(
      describeSchedule(facts, chooseSchedule(facts, target("sm_80")), 131072),
      "128 rows x 32 keys, frozen reference, an item a CTA, 2 stages; "
      "131072 bytes of shared memory; because head dim 192 and 128, "
      "masked, hooks hold 4 registers");
  EXPECT_EQ(describeSchedule(facts, chooseSchedule(facts, target("cpu")), 0),
            "64 rows x 64 keys, exact softmax; because head dim 192 and 128, "
            "masked");
  facts.normaliser = Normaliser::None;
  EXPECT_EQ(describeSchedule(facts, chooseSchedule(facts, target("cpu")), 0),
            "64 rows x 64 keys, no softmax; because head dim 192 and 128, "
            "masked");
}
