//===- OverridesTest.cpp - default schedules, overrides, sums -------------===//
//
//   chooseSchedule -> applyOverrides("field=value") -> checkSchedule, sums
//
// Every field is changed once and read back; a field that is not named keeps
// its value.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Schedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace attn;

namespace {

class Overrides : public ::testing::Test {
protected:
  Overrides() {
    context.loadDialect<AttnDialect, pipe::PipeDialect>();
    set(/*heads=*/32, /*kvHeads=*/8, /*dim=*/128,
        Builder(&context).getBF16Type());
  }

  void set(int32_t heads, int32_t kvHeads, int32_t dim, Type element,
           int32_t dimV = 0) {
    auto tensor = [&](TensorRole role, int32_t n) {
      bool value = role == TensorRole::Value && dimV != 0;
      return attn::TensorType::get(&context, role, element, n,
                                   value ? dimV : dim, Storage::Ragged);
    };
    facts.query = tensor(TensorRole::Query, heads);
    facts.key = tensor(TensorRole::Key, kvHeads);
    facts.value = tensor(TensorRole::Value, kvHeads);
    facts.group = heads / kvHeads;
  }

  const TargetSpec &target(const char *name) {
    std::string error;
    const TargetSpec *t = findTarget(name, error);
    EXPECT_TRUE(t) << error;
    return *t;
  }

  ScheduleAttr sm80() { return chooseSchedule(facts, target("sm_80")); }

  ScheduleAttr apply(StringRef text) {
    error.clear();
    ScheduleAttr s = applyOverrides(sm80(), text, error);
    EXPECT_TRUE(s) << error;
    return s;
  }

  std::string failure(StringRef text) {
    error.clear();
    EXPECT_FALSE(applyOverrides(sm80(), text, error)) << text.str();
    return error;
  }

  /// Error of a legal attribute that the target cannot carry out.
  std::string refusal(StringRef text, const char *name = "sm_80") {
    error.clear();
    ScheduleAttr s =
        applyOverrides(chooseSchedule(facts, target(name)), text, error);
    EXPECT_TRUE(s) << error;
    EXPECT_FALSE(checkSchedule(facts, s, target(name), error)) << text.str();
    return error;
  }

  MLIRContext context;
  ProblemFacts facts;
  std::string error;
};

pipe::ScheduleAttr pipeOf(ScheduleAttr s) {
  return cast<pipe::ScheduleAttr>(s.getPipe());
}

TEST_F(Overrides, NothingChangesNothing) {
  EXPECT_EQ(apply(""), sm80());
  EXPECT_EQ(apply(" , "), sm80());
}

TEST_F(Overrides, EveryAttentionField) {
  ScheduleAttr s = apply("tile_q=256, tile_k=32,pack=1,kv_order=ascending,"
                         "softmax=frozen,limit=7,fold_scale=false,p_type=f16,"
                         "v_tail=zero_rows,merge=kernel,"
                         "epilogue=quad_transpose");
  EXPECT_EQ(s.getTileQ(), 256);
  EXPECT_EQ(s.getTileK(), 32);
  EXPECT_EQ(s.getPack(), 1);
  EXPECT_EQ(s.getKvOrder(), KVOrder::Ascending);
  EXPECT_EQ(s.getSoftmax(), SoftmaxKind::Frozen);
  EXPECT_EQ(s.getLimit(), 7);
  EXPECT_FALSE(s.getFoldScale());
  EXPECT_TRUE(s.getPType().isF16());
  EXPECT_EQ(s.getVTail().getValue(), "zero_rows");
  EXPECT_EQ(s.getMerge().getValue(), "kernel");
  EXPECT_EQ(s.getEpilogue().getValue(), "quad_transpose");
  EXPECT_EQ(s.getPipe(), sm80().getPipe());
  EXPECT_TRUE(apply("p_type=bf16").getPType().isBF16());
  EXPECT_TRUE(apply("p_type=f32").getPType().isF32());
  EXPECT_EQ(apply("softmax=lazy").getSoftmax(), SoftmaxKind::Lazy);
  // Its threshold follows, unless it is named.
  EXPECT_EQ(apply("softmax=lazy").getLimit(), 8);
  EXPECT_EQ(apply("limit=3,softmax=lazy").getLimit(), 3);
  EXPECT_EQ(apply("softmax=exact").getLimit(), 64);
}

TEST_F(Overrides, EveryPipeField) {
  pipe::ScheduleAttr s =
      pipeOf(apply("roles=load:1:1:40+all:4:2:232,place.load_kv=load,"
                   "agents.load_kv=tma,atoms.qk=wgmma.m64n128k16,channels.k=3,"
                   "pipe.channels.work=5,skew.load_kv=-2,handover=ring,"
                   "persist=dynamic,unroll=2"));
  ASSERT_EQ(s.getRoles().size(), 2u);
  auto load = cast<pipe::RoleAttr>(s.getRoles()[0]);
  auto all = cast<pipe::RoleAttr>(s.getRoles()[1]);
  EXPECT_EQ(load.getName().getValue(), "load");
  EXPECT_EQ(load.getWarps(), 1);
  EXPECT_EQ(load.getRegs(), 40);
  EXPECT_EQ(all.getReplicas(), 2);
  EXPECT_EQ(all.getRegs(), 232);
  EXPECT_EQ(s.getRoleOf("load_kv"), "load");
  EXPECT_EQ(s.getRoleOf("qk"), "all");
  EXPECT_EQ(s.getAgent("load_kv"), pipe::Agent::Tma);
  EXPECT_EQ(s.getAtom("qk"), "wgmma.m64n128k16");
  EXPECT_EQ(s.getDepth("k"), 3);
  EXPECT_EQ(s.getDepth("v"), 2);
  EXPECT_EQ(s.getDepth("work"), 5);
  EXPECT_EQ(s.getSkew("load_kv"), -2);
  EXPECT_EQ(s.getHandover().getValue(), "ring");
  EXPECT_EQ(s.getPersist().getValue(), "dynamic");
  EXPECT_EQ(s.getUnroll(), 2);
}

TEST_F(Overrides, Mistakes) {
  EXPECT_EQ(failure("tile_k"), "schedule override 'tile_k' is not field=value");
  EXPECT_EQ(failure("tile_k=64,tile_q=64,tile_k=32"),
            "schedule override 'tile_k=32' gives tile_k a second time");
  EXPECT_EQ(failure("channels.k=3,pipe.channels.k=3"),
            "schedule override 'pipe.channels.k=3' gives channels.k a second "
            "time");
  EXPECT_EQ(
      failure("tile=3"),
      "unknown schedule field 'tile' (fields: tile_q, tile_k, pack, "
      "kv_order, softmax, limit, redo, exp2_fma, fold_scale, p_type, v_tail, "
      "merge, epilogue, roles, handover, persist, unroll, place.<name>, "
      "agents.<name>, atoms.<name>, channels.<name>, skew.<name>)");
  EXPECT_EQ(failure("tile_q=12x"),
            "schedule field tile_q: '12x' is not an integer");
  EXPECT_EQ(failure("kv_order=up"), "schedule field kv_order: 'up' is not "
                                    "descending or ascending");
  EXPECT_EQ(failure("softmax=fast"),
            "schedule field softmax: 'fast' is not exact, frozen or lazy");
  EXPECT_EQ(failure("fold_scale=1"),
            "schedule field fold_scale: '1' is not true or false");
  EXPECT_EQ(failure("p_type=f8"),
            "schedule field p_type: 'f8' is not f16, bf16 or f32");
  EXPECT_EQ(failure("v_tail="), "schedule field v_tail: '' is not a name");
  EXPECT_EQ(failure("place.default="),
            "schedule field place.default: '' is not a name");
  EXPECT_EQ(failure("channels.k=two"),
            "schedule field channels.k: 'two' is not an integer");
  EXPECT_EQ(failure("roles=all"), "schedule field roles: 'all' is not "
                                  "name:warps[:replicas[:regs]] joined by '+'");
  EXPECT_EQ(failure("roles=all:8:x"),
            "schedule field roles: 'all:8:x' is not "
            "name:warps[:replicas[:regs]] joined by '+'");
  EXPECT_EQ(failure("roles=all:33"),
            "schedule field roles: 'all:33' is not a role: role \"all\" has 33 "
            "warps but needs 1 to 32");
  EXPECT_EQ(failure("redo=tile"),
            "schedule field redo: 'tile' is not item or visit");
  EXPECT_EQ(failure("exp2_fma=1/4"),
            "schedule field exp2_fma: '1/4' is not an integer");
  // The attributes' own verifiers.
  EXPECT_EQ(failure("exp2_fma=17"), "exp2_fma must be in [0, 16], got 17");
  EXPECT_EQ(failure("channels.k=0"),
            "depth of 'k' must be an i32 of at least 1 but is 0 : i32");
  EXPECT_EQ(failure("handover=toss"),
            "handover must be \"none\" or \"ring\" but is \"toss\"");
  EXPECT_EQ(failure("tile_q=-128"),
            "tile_q and tile_k must be at least 1, got -128 and 32");
}

/// Without roles there are no fields of roles.
TEST_F(Overrides, CpuHasNoPipeFields) {
  ScheduleAttr s = chooseSchedule(facts, target("cpu"));
  EXPECT_FALSE(applyOverrides(s, "channels.k=3", error));
  EXPECT_EQ(error, "unknown schedule field 'channels.k' (fields: tile_q, "
                   "tile_k, pack, kv_order, softmax, limit, redo, exp2_fma, "
                   "fold_scale, p_type, v_tail, merge, epilogue)");
  EXPECT_TRUE(applyOverrides(s, "tile_k=32", error));
}

TEST_F(Overrides, DefaultsAreLegal) {
  Builder b(&context);
  constexpr std::pair<int32_t, int32_t> heads[] = {
      {32, 8}, {8, 8}, {16, 1}, {12, 4}, {64, 2}};
  for (auto [query, kv] : heads)
    for (int32_t dim : {64, 128})
      for (Type element : {Type(b.getBF16Type()), Type(b.getF16Type())})
        for (const char *name : {"cpu", "sm_80"})
          for (bool score : {false, true}) {
            set(query, kv, dim, element);
            facts.hasScoreHook = score;
            ScheduleAttr s = chooseSchedule(facts, target(name));
            EXPECT_TRUE(checkSchedule(facts, s, target(name), error)) << error;
            EXPECT_TRUE(
                checkResources(resourcesOf(facts, s), target(name), error))
                << error;
            EXPECT_EQ(s.getFoldScale(), !score);
          }
  facts.hasScoreHook = false;
  set(12, 4, 128, b.getBF16Type()); // 126 of 128 rows
  EXPECT_EQ(sm80().getPack(), 3);
  set(13, 1, 128, b.getBF16Type()); // 117 of 128 rows
  EXPECT_EQ(sm80().getPack(), 1);
  set(64, 2, 128, b.getBF16Type()); // 32 heads: more than 16
  EXPECT_EQ(sm80().getPack(), 1);
  set(16, 1, 128, b.getBF16Type());
  EXPECT_EQ(sm80().getPack(), 16);
}

/// Exponentials leave the MUFU where hooks ask for it more than for the rest.
TEST_F(Overrides, ShareOfExponentials) {
  Builder b(&context);
  for (int32_t dim : {64, 128})
    for (const char *name : {"cpu", "sm_80", "sm_90a"}) {
      set(16, 16, dim, b.getBF16Type());
      EXPECT_EQ(chooseExp2Share(facts, target(name)), 0);
      EXPECT_EQ(chooseSchedule(facts, target(name)).getExp2Fma(), 0);
      facts.hasScoreHook = true;
      facts.scoreWork = {1, 12}; // a soft cap: as much of both
      EXPECT_EQ(chooseExp2Share(facts, target(name)), 0);
      facts = {};
    }
  // One MUFU instruction and two others: as measured.
  for (auto [dim, share] : {std::pair(128, 2), std::pair(64, 3)}) {
    set(16, 16, dim, b.getBF16Type());
    facts.hasScoreHook = true;
    facts.scoreWork = {1, 2};
    EXPECT_EQ(chooseExp2Share(facts, target("sm_90a")), share) << dim;
  }
  set(16, 16, 128, b.getBF16Type());
  facts.hasScoreHook = true;
  facts.scoreWork = {2, 2}; // log2(1 + exp2(s))
  EXPECT_EQ(chooseExp2Share(facts, target("sm_90a")), 7);
  ScheduleAttr s = chooseSchedule(facts, target("sm_90a"));
  EXPECT_EQ(s.getExp2Fma(), 7);
  EXPECT_NE(describeSchedule(facts, s, 0)
                .find("frozen reference, 7 of 16 exponentials on the FMA pipe"),
            std::string::npos);
  // Without a frozen loop there is nothing to share out.
  EXPECT_NE(describeSchedule(facts, applyOverrides(s, "softmax=lazy", error), 0)
                .find("keys, lazy reference up to 2^8, "),
            std::string::npos);
  EXPECT_EQ(applyOverrides(s, "softmax=exact", error).getExp2Fma(), 0);
  EXPECT_EQ(applyOverrides(s, "exp2_fma=3", error).getExp2Fma(), 3);
  // Its products take an SM80 longer than the MUFU.
  EXPECT_EQ(chooseExp2Share(facts, target("sm_80")), 0);
  facts.normaliser = Normaliser::None;
  EXPECT_EQ(chooseExp2Share(facts, target("sm_90a")), 0);
}

/// The table of default shapes; each fits the target.
TEST_F(Overrides, DefaultsOfRoles) {
  Builder b(&context);
  const TargetSpec &gpu = target("sm_90a");
  struct Row {
    int32_t dim, dimV;
    bool masked;
    int32_t replicas, tileK, queryDepth, depth, launch;
    StringRef handover, persist;
    uint64_t sharedBytes;
  };
  const Row rows[] = {
      {64, 64, false, 3, 128, 2, 2, 128, "ring", "dynamic", 114688},
      {64, 64, true, 4, 64, 2, 4, 96, "ring", "dynamic", 131072},
      {96, 96, true, 2, 128, 2, 2, 168, "ring", "dynamic", 147456},
      {128, 128, false, 2, 128, 2, 2, 168, "ring", "static", 196608},
      {128, 128, true, 2, 128, 2, 2, 168, "ring", "dynamic", 196608},
      {192, 128, true, 2, 128, 1, 2, 168, "none", "dynamic", 212992},
      {256, 256, false, 2, 64, 1, 2, 168, "none", "static", 196608},
      {256, 256, true, 2, 64, 1, 2, 168, "none", "dynamic", 196608},
  };
  for (Type element : {Type(b.getBF16Type()), Type(b.getF16Type())})
    for (const Row &row : rows) {
      set(32, 8, row.dim, element, row.dimV);
      facts.hasMaskHook = row.masked;
      ScheduleAttr s = chooseSchedule(facts, gpu);
      EXPECT_TRUE(checkSchedule(facts, s, gpu, error)) << error;
      Resources r = resourcesOf(facts, s);
      EXPECT_TRUE(checkResources(r, gpu, error)) << row.dim << ": " << error;
      auto compute = cast<pipe::RoleAttr>(pipeOf(s).getRoles()[1]);
      EXPECT_EQ(compute.getReplicas(), row.replicas);
      EXPECT_EQ(s.getTileQ(), row.replicas * 64);
      EXPECT_EQ(s.getTileK(), row.tileK);
      EXPECT_EQ(pipeOf(s).getDepth("q"), row.queryDepth);
      EXPECT_EQ(pipeOf(s).getDepth("k"), row.depth);
      EXPECT_EQ(pipeOf(s).getHandover().getValue(), row.handover);
      EXPECT_EQ(pipeOf(s).getPersist().getValue(), row.persist);
      uint64_t slots = uint64_t(row.queryDepth + 2 * row.depth + 3 + 2);
      EXPECT_EQ(r.sharedBytes, row.sharedBytes + 16 * slots);
      EXPECT_EQ(r.threads, 128u * unsigned(row.replicas + 1));
      EXPECT_EQ(registersAtLaunch(r, gpu), unsigned(row.launch));
      EXPECT_LE(r.registersSet, uint64_t(row.launch) * r.threads);
      EXPECT_EQ(gpu.occupancy(unsigned(r.threads), unsigned(r.sharedBytes),
                              unsigned(row.launch)),
                1u);
      EXPECT_EQ(s.getSoftmax(), SoftmaxKind::Frozen);
      EXPECT_EQ(s.getPack(), 4);
    }
}

/// Heads are packed as long as they fit the tile; what is named is kept, and refused
/// by the attribute or where it is carried out.
TEST_F(Overrides, PackFollowsTheTile) {
  set(/*heads=*/12, /*kvHeads=*/4, /*dim=*/64, Builder(&context).getBF16Type());
  ScheduleAttr wide = chooseSchedule(facts, target("sm_90a"));
  ASSERT_EQ(wide.getTileQ(), 192);
  ASSERT_EQ(wide.getPack(), 3);
  EXPECT_EQ(applyOverrides(wide, "tile_q=64", error).getPack(), 1);
  EXPECT_EQ(applyOverrides(wide, "tile_k=64", error).getPack(), 3);
  EXPECT_FALSE(applyOverrides(wide, "tile_q=2,pack=3", error));
  EXPECT_EQ(error, "pack must be in [1, tile_q], got pack 3 and tile_q 2");
}

/// A tile brings with it what follows from it, unless that is named.
TEST_F(Overrides, RolesFollowTheTile) {
  ScheduleAttr base = chooseSchedule(facts, target("sm_90a"));
  auto change = [&](StringRef text) {
    ScheduleAttr s = applyOverrides(base, text, error);
    EXPECT_TRUE(s) << error;
    return pipeOf(s);
  };
  EXPECT_EQ(change("tile_k=64").getAtom("qk"), "wgmma.m64n64k16");
  EXPECT_EQ(change("tile_k=64,atoms.qk=x").getAtom("qk"), "x");
  auto roleOf = [&](StringRef text, unsigned i) {
    return cast<pipe::RoleAttr>(change(text).getRoles()[i]);
  };
  EXPECT_EQ(roleOf("tile_q=192", 1).getReplicas(), 3);
  EXPECT_EQ(roleOf("tile_q=192", 1).getRegs(), 160);
  EXPECT_EQ(roleOf("tile_q=256", 0).getRegs(), 32);
  EXPECT_EQ(roleOf("tile_q=64", 1).getReplicas(), 1);
  EXPECT_EQ(roleOf("tile_q=192,roles=load:1+compute:4:2:240", 1).getReplicas(),
            2);
  EXPECT_EQ(roleOf("tile_q=100", 1).getReplicas(), 2);
  EXPECT_EQ(roleOf("kv_order=ascending", 1).getReplicas(), 2);
}

/// One role in place of two is a schedule of the other kind, wherever it is named;
/// what is named beside it is kept.
TEST_F(Overrides, OneRoleBringsItsFields) {
  const TargetSpec &gpu = *findTarget("sm_90a", error);
  for (StringRef text : {"roles=all:4,tile_q=16,tile_k=64,channels.k=3",
                         "channels.k=3,tile_k=64,tile_q=16,pipe.roles=all:4"}) {
    ScheduleAttr s = applyOverrides(chooseSchedule(facts, gpu), text, error);
    ASSERT_TRUE(s) << error;
    EXPECT_TRUE(checkSchedule(facts, s, gpu, error)) << error;
    auto pipe = cast<pipe::ScheduleAttr>(s.getPipe());
    EXPECT_EQ(pipe.getRoleOf("load_kv"), "all");
    EXPECT_EQ(pipe.getAgent("load_kv"), pipe::Agent::CpAsync);
    EXPECT_EQ(pipe.getAtom("qk"), "mma.m16n8k16");
    EXPECT_EQ(pipe.getSkew("pv"), 0);
    EXPECT_EQ(pipe.getDepth("k"), 3);
    EXPECT_EQ(pipe.getDepth("v"), 2);
    EXPECT_EQ(s.getVTail(), "zero_fill");
  }
  EXPECT_EQ(refusal("roles=all:4,v_tail=zero_rows", "sm_90a"),
            "v_tail = zero_rows is not built for sm_90a with one role (built: "
            "zero_fill)");
  EXPECT_EQ(refusal("roles=all:4,agents.load_kv=tma", "sm_90a"),
            "agents.load_kv is not built for sm_90a with one role (built: "
            "cp_async)");
  EXPECT_EQ(refusal("roles=all:4,redo=visit", "sm_90a"),
            "redo = visit is not built for sm_90a with one role (built: item; "
            "visit with two roles)");
}

TEST_F(Overrides, LimitsOfRoles) {
  const TargetSpec &gpu = target("sm_90a");
  auto sum = [&](StringRef text) {
    ScheduleAttr s = applyOverrides(chooseSchedule(facts, gpu), text, error);
    EXPECT_TRUE(s) << error;
    EXPECT_FALSE(checkResources(resourcesOf(facts, s), gpu, error));
    return error;
  };
  EXPECT_EQ(sum("channels.k=4"),
            "tile needs 262352 bytes of shared memory but sm_90a has 232448");
  EXPECT_EQ(sum("tile_q=192,channels.q=1"),
            "tiles need 190 registers a thread but the role sets 160");
  EXPECT_EQ(sum("roles=load:1:1:32+compute:4:2:240"),
            "roles set 65536 registers a block but the launch gives 64512");
}

TEST_F(Overrides, RefusalsOfRoles) {
  auto refuse = [&](StringRef text) { return refusal(text, "sm_90a"); };
  EXPECT_EQ(refuse("v_tail=zero_fill"),
            "v_tail = zero_fill is not built for sm_90a (built: zero_rows)");
  EXPECT_EQ(refuse("roles=load:1+compute:4+third:1"),
            "schedule has 3 roles but sm_90a needs 2");
  EXPECT_EQ(refuse("place.load_query=compute"),
            "load_kv is placed in load and load_query in compute but both need "
            "one beside compute");
  EXPECT_EQ(refuse("roles=load:2:1:24+compute:4:2:240"),
            "role load has 2 warps but 1 starts the copies");
  EXPECT_EQ(refuse("roles=load:1:1:24+compute:8:1:240"),
            "role compute has 8 warps but a product of sm_90a has 4");
  EXPECT_EQ(refuse("tile_q=100"),
            "tile_q is 100 but 2 replicas of 64 rows make 128");
  EXPECT_EQ(refuse("roles=load:1:1:24+compute:4:2:250"),
            "role compute sets 250 registers but needs a multiple of 8 from 24 "
            "to 240");
  EXPECT_EQ(refuse("tile_k=24"), "tile_k is 24 but must be a multiple of 16");
  EXPECT_EQ(refuse("tile_k=272"), "tile_k is 272 but a product of sm_90a has "
                                  "at most 256 columns");
  EXPECT_EQ(refuse("p_type=f32"),
            "p_type is f32 but sm_90a multiplies it with values of bf16");
  EXPECT_EQ(refuse("agents.load_kv=cp_async"),
            "agents.load_kv is not built for sm_90a (built: tma)");
  EXPECT_EQ(refuse("agents.qk=threads"),
            "agents.qk is not built for sm_90a (built: mma)");
  EXPECT_EQ(refuse("skew.pv=2"),
            "skew.pv = 2 is not built for sm_90a (built: pv = 1)");
  EXPECT_EQ(refuse("skew.load_kv=-1"),
            "skew.load_kv = -1 is not built for sm_90a (built: pv = 1)");
  EXPECT_EQ(refuse("atoms.pv=wgmma.m64n64k16"),
            "atoms.pv is wgmma.m64n64k16 but the product has 128 columns: "
            "wgmma.m64n128k16");
  EXPECT_FALSE(checkSchedule(facts, chooseSchedule(facts, target("cpu")),
                             target("sm_90a"), error));
}

TEST_F(Overrides, Sums) {
  Resources r = resourcesOf(facts, sm80());
  EXPECT_EQ(r.threads, 128u);
  EXPECT_EQ(r.sharedBytes, 65536u);
  // S and O; Q is read from shared memory, and P takes the place of S.
  EXPECT_EQ(r.registersPerThread, 32u + 128 + registerOverhead);
  r = resourcesOf(facts, apply("channels.k=3,channels.v=4,channels.q=2"));
  EXPECT_EQ(r.sharedBytes, 2 * 32768u + 7 * 8192u);
  // Eight rows of O for each of four warps.
  ProblemFacts crossing = facts;
  crossing.outputReadsOthers = true;
  EXPECT_EQ(resourcesOf(crossing, sm80()).sharedBytes,
            65536u + 4 * 8 * 4 * uint64_t(facts.value.getDim()));
  r = resourcesOf(facts, chooseSchedule(facts, target("cpu")));
  EXPECT_EQ(r.threads + r.sharedBytes + r.registersPerThread, 0u);
}

TEST_F(Overrides, Limits) {
  const TargetSpec &gpu = target("sm_80");
  auto sum = [&](StringRef text) {
    ScheduleAttr base = apply("roles=all:8,tile_k=64,atoms.qk=mma.m16n8k16");
    ScheduleAttr over = applyOverrides(base, text, error);
    EXPECT_TRUE(over) << error;
    EXPECT_FALSE(checkResources(resourcesOf(facts, over), gpu, error));
    return error;
  };
  EXPECT_EQ(sum("channels.k=6,channels.v=6"),
            "tile needs 229376 bytes of shared memory but sm_80 has 166912");
  EXPECT_EQ(sum("roles=all:32+b:8"),
            "kernel needs 1280 threads a block but sm_80 has 1024");
  EXPECT_EQ(sum("tile_q=256"),
            "kernel needs 296 registers a thread but sm_80 has 255");
  EXPECT_EQ(sum("roles=all:16,tile_k=192,channels.k=1,channels.v=1"),
            "kernel needs 94208 registers a block but sm_80 has 65536");
}

TEST_F(Overrides, Refusals) {
  EXPECT_EQ(refusal("pack=2"),
            "pack is 2 but must be 1 or the group of 4 heads");
  EXPECT_EQ(refusal("softmax=lazy,limit=65"),
            "limit is 65 but softmax = lazy in bf16 takes at most 64");
  EXPECT_EQ(refusal("softmax=lazy,limit=65", "cpu"),
            "limit is 65 but softmax = lazy in f32 takes at most 64");
  // Weights of f16 end below 2^16.
  EXPECT_EQ(refusal("softmax=lazy,p_type=f16,limit=16"),
            "limit is 16 but softmax = lazy in f16 takes at most 15");
  EXPECT_EQ(refusal("softmax=lazy,exp2_fma=4"),
            "exp2_fma = 4 needs softmax = frozen but softmax is lazy");
  EXPECT_EQ(refusal("v_tail=zero_rows"),
            "v_tail = zero_rows is not built for sm_80 (built: zero_fill)");
  EXPECT_EQ(refusal("epilogue=quad_transpose", "cpu"),
            "epilogue = quad_transpose is not built for cpu (built: direct)");
  EXPECT_EQ(refusal("tile_q=224"),
            "tile_q is 224 but 4 warps of 16 rows need a multiple of 64, or 16 "
            "rows times a divisor of 4");
  EXPECT_EQ(refusal("tile_q=16,tile_k=32"),
            "tile_k is 32 but 4 groups of warps take a multiple of 16 keys "
            "each: 64");
  EXPECT_EQ(refusal("tile_q=16,tile_k=128,roles=all:8"),
            "tile_q is 16 but 8 warps hold 4 rows each of what 8 groups join: "
            "32");
  EXPECT_EQ(refusal("atoms.pv=mma.m16n8k16.ss"),
            "atoms.pv is mma.m16n8k16.ss but P of the second product is in "
            "registers: mma.m16n8k16");
  EXPECT_EQ(refusal("persist=none", "sm_90a"),
            "persist = none is not built for sm_90a (built: static, dynamic)");
  EXPECT_EQ(refusal("tile_k=24"), "tile_k is 24 but must be a multiple of 16");
  EXPECT_EQ(refusal("p_type=f32"),
            "p_type is f32 but sm_80 multiplies it with values of bf16");
  EXPECT_EQ(refusal("skew.load_kv=-2"),
            "skew.load_kv = -2 needs 3 slots of channel k but it has 2");
  EXPECT_EQ(refusal("channels.v=1"),
            "skew.load_kv = -1 needs 2 slots of channel v but it has 1");
  EXPECT_EQ(refusal("tile_q=12", "cpu"),
            "tile_q is 12 but must be a multiple of 8");
  EXPECT_EQ(refusal("tile_k=2048", "cpu"),
            "tile is 64 x 2048 but cpu has at most 1024 x 1024");
  EXPECT_EQ(refusal("p_type=bf16", "cpu"),
            "p_type is bf16 but cpu multiplies in f32");
  EXPECT_EQ(refusal("softmax=exact,exp2_fma=4"),
            "exp2_fma = 4 needs softmax = frozen but softmax is exact");
  // Another target's schedule.
  EXPECT_FALSE(checkSchedule(facts, sm80(), target("cpu"), error));
  EXPECT_EQ(error, "cpu has no roles: pipe must be unit");
  EXPECT_FALSE(checkSchedule(facts, chooseSchedule(facts, target("cpu")),
                             target("sm_80"), error));
  EXPECT_EQ(error, "sm_80 needs a #pipe.schedule");
  facts.hasScoreHook = true;
  EXPECT_EQ(refusal("fold_scale=true"),
            "fold_scale and a score hook exclude each other");
  facts.hasScoreHook = false;
  facts.normaliser = Normaliser::None;
  EXPECT_EQ(refusal("fold_scale=true"),
            "fold_scale needs normaliser softmax but the variant has none");
  EXPECT_EQ(refusal("softmax=lazy", "cpu"),
            "softmax = lazy needs normaliser softmax but the variant has none");
  EXPECT_EQ(refusal("softmax=frozen", "cpu"),
            "softmax = frozen needs normaliser softmax but the variant has "
            "none");
}

} // namespace
