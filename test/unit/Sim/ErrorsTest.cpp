//===- ErrorsTest.cpp - what the simulator refuses ------------------------===//

#include "KernelText.h"

#include "attn/ABI/KernelParams.h"
#include "attn/ABI/Version.h"
#include "attn/ABI/WorkItem.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;

namespace {

const char *defaultArgs =
    "%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O, %plan: !attn.plan";

class ErrorsTest : public ::testing::Test, public SimFixture {
protected:
  /// Error of a kernel with this body, run on one item of two rows and keys.
  std::string run(const std::string &body,
                  const std::string &args = defaultArgs,
                  llvm::function_ref<void(KernelOp)> change = nullptr,
                  uint64_t maxSteps = 1 << 20) {
    auto module = parse(R"(
!Q = !attn.tensor<query, f32, heads = 1, dim = 4, ragged>
!K = !attn.tensor<key, f32, heads = 1, dim = 4, ragged>
!V = !attn.tensor<value, f32, heads = 1, dim = 4, ragged>
!O = !attn.tensor<output, f32, heads = 1, dim = 4, ragged>
!T = !attn.tile<2x4xf32>
!ch = !pipe.channel<!T, depth = 1>
#all = #pipe.role<"all", warps = 1, replicas = 1, regs = 0>
attn.kernel @k()" + args +
                        ") {\n  %c0 = arith.constant 0 : i32\n"
                        "  %c1 = arith.constant 1 : i32\n"
                        "  %c2 = arith.constant 2 : i32\n" +
                        body + "\n  attn.return\n}\n");
    EXPECT_TRUE(module) << diagnostics;
    if (!module)
      return diagnostics;
    // What the verifier would not let pass.
    if (change)
      change(module->lookupSymbol<KernelOp>("k"));
    std::vector<float> data(64, 1.0f);
    struct alignas(16) {
      attn_plan_header header;
      attn_work_item item;
      attn_request_record request;
    } plan{};
    plan.header.abi = ATTN_ABI_VERSION;
    plan.header.items = 1;
    plan.header.requests = 1;
    plan.header.items_offset = offsetof(decltype(plan), item);
    plan.header.requests_offset = offsetof(decltype(plan), request);
    plan.item = {0, 0, 0, 2, 0, 2, -1, 0};
    plan.request = {0, 2, 0, 2};
    attn_kernel_params params{};
    uint64_t pointer = reinterpret_cast<uint64_t>(data.data());
    params.q = params.k = params.v = params.o = pointer;
    params.plan = reinterpret_cast<uint64_t>(&plan);
    params.q_strides = params.k_strides = params.v_strides =
        params.o_strides = {0, 4, 4};
    std::vector<char> bytes(256);
    std::memcpy(bytes.data(), &params, sizeof(params));
    std::string error;
    sim::LaunchOptions options;
    options.maxSteps = maxSteps;
    bool ok = succeeded(
        sim::runKernel(module->lookupSymbol("k"), bytes, options, error));
    EXPECT_EQ(ok, error.empty());
    return error;
  }
  static std::string rows() {
    return "  %rows = attn.row_map request %c0 head %c0 row0 %c0 rows %c2 "
           "q_begin %c0 q_len %c2 kv_len %c2 pack 1 : !attn.rows<2>\n";
  }
  /// The body in the one role, behind a channel.
  static std::string role(const std::string &body,
                          const std::string &channel = "!ch") {
    return "  %ch = pipe.channel \"k\" from \"all\" to [\"all\"] : " + channel +
           "\n  pipe.roles [#all] {\n" + body + "  }\n";
  }
};

TEST_F(ErrorsTest, NothingToDo) { EXPECT_EQ(run(""), ""); }

TEST_F(ErrorsTest, MissingHook) {
  EXPECT_EQ(run(rows() + "  %z = attn.apply_sink %rows : !attn.rows<2> -> "
                         "!attn.rowvec<2xf32>"),
            "attn.apply_sink: needs a hook 'sink' but the kernel has none");
}

TEST_F(ErrorsTest, UnexpandedState) {
  EXPECT_EQ(run("  %u = attn.state_init : !attn.state<2x4, softmax>"),
            "attn.state_init: state must be expanded to its parts");
}

TEST_F(ErrorsTest, UnknownParameter) {
  auto addParam = [](KernelOp kernel) {
    mlir::OpBuilder b(&kernel.getBody().front().front());
    ParamOp::create(b, kernel.getLoc(), b.getI32Type(), "window");
  };
  EXPECT_EQ(run("", defaultArgs, addParam),
            "attn.param: names a parameter that the variant lacks");
}

TEST_F(ErrorsTest, ArgumentWithoutAPlace) {
  auto addArgument = [](KernelOp kernel) {
    kernel.getBody().insertArgument(
        0u, mlir::IntegerType::get(kernel.getContext(), 64), kernel.getLoc());
  };
  EXPECT_EQ(run("", defaultArgs, addArgument),
            "attn.kernel: argument 0 has no place in the parameter struct");
}

TEST_F(ErrorsTest, NoPlan) {
  EXPECT_EQ(run("", "%q: !Q, %k: !K, %v: !V, %scale: f32, %o: !O"),
            "attn.kernel: has no plan: it is not at level L1 or L2");
}

TEST_F(ErrorsTest, RecordsOutOfRange) {
  EXPECT_EQ(run("  %r:4 = attn.request %plan[%c1]"),
            "attn.request: reads request 1 but the plan has 1");
  EXPECT_EQ(run("  %i:8 = attn.load_item %plan[%c2] : i32, i32, i32, i32, i32, "
                "i32, i32, i32"),
            "attn.load_item: reads record 2 but the plan has 1");
  EXPECT_EQ(run("  %i:6 = attn.load_item %plan[%c0] : i32, i32, i32, i32, i32, "
                "i32"),
            "attn.load_item: reads record 0 but the plan has 0");
}

TEST_F(ErrorsTest, PartialsWithoutABuffer) {
  EXPECT_EQ(run(rows() + "  %p = attn.load_partial %rows, %plan slot %c0 : "
                         "!attn.rows<2> -> !T"),
            "attn.load_partial: slot 0 has no buffer");
  EXPECT_EQ(run(rows() + "  %u = attn.state_init : !T\n"
                         "  attn.store_partial %u in %rows, %plan slot %c1 : "
                         "!T in !attn.rows<2>"),
            "attn.store_partial: slot 1 has no buffer");
}

TEST_F(ErrorsTest, CopiesIntoOtherThings) {
  std::string keys =
      "%k request %c0 kv_head %c0 kv_begin %c0 k0 %c0 kv1 %c2 : ";
  EXPECT_EQ(run("  attn.copy_kv %c0, " + keys + "i32, !K"),
            "attn.copy_kv: slot does not hold a tile");
  EXPECT_EQ(run(rows() + "  attn.copy_query %c0, %q, %rows : i32, !Q, "
                         "!attn.rows<2>"),
            "attn.copy_query: slot does not hold a tile");
  std::string wait = "    %t, %s = pipe.wait %ch : !ch -> !T, !pipe.slot<!T>\n";
  std::string acquire = "    %a = pipe.acquire %ch : !ch -> !pipe.slot<!T>\n";
  std::string copy = "    attn.copy_kv %a, " + keys + "!pipe.slot<!T>, !K\n";
  std::string commit = "    pipe.commit %a : !pipe.slot<!T>\n";
  // A slot of the consumer's.
  EXPECT_EQ(
      run(role(acquire + copy + commit + wait + "    attn.copy_kv %s, " + keys +
               "!pipe.slot<!T>, !K\n")),
      "attn.copy_kv: slot 0 of channel 'k' is held by a consumer but must "
      "be held by its producer");
  EXPECT_EQ(run(role(acquire + copy + commit)),
            "pipe.roles: ends with slot 0 of channel 'k' full");
}

TEST_F(ErrorsTest, ChannelOfNumbers) {
  EXPECT_EQ(
      run(role("    %a = pipe.acquire %ch : !pipe.channel<f32, depth = 1> "
               "-> !pipe.slot<f32>\n",
               "!pipe.channel<f32, depth = 1>")),
      "pipe.acquire: channel 'k' does not hold a tile");
}

TEST_F(ErrorsTest, WorkWithoutAPlan) {
  EXPECT_EQ(run(role("    %w = pipe.next_work static_order %c0 after %c0 "
                     "merges = false : i32\n")),
            "pipe.next_work: needs a plan");
}

TEST_F(ErrorsTest, PipeOpsInStrangePlaces) {
  EXPECT_EQ(run("  %ch = pipe.channel \"k\" from \"all\" to [\"all\"] : !ch\n"
                "  %a = pipe.acquire %ch : !ch -> !pipe.slot<!T>\n"),
            "pipe.acquire: stands outside of the roles");
  EXPECT_EQ(run(role("    pipe.roles [#all] {\n    }\n")),
            "pipe.roles: stands inside of a role");
  EXPECT_EQ(run(role("    %f = pipe.issue mma {\n    }\n")),
            "pipe.issue: role 'all' ends without a join or a commit of it");
}

TEST_F(ErrorsTest, EndlessRole) {
  std::string error = run("  pipe.roles [#all] {\n"
                          "    scf.while : () -> () {\n"
                          "      %t = arith.constant true\n"
                          "      %f = pipe.issue mma {\n      }\n"
                          "      %d = pipe.join %f : !pipe.future\n"
                          "      scf.condition(%t)\n"
                          "    } do {\n      scf.yield\n    }\n  }\n",
                          defaultArgs, nullptr, /*maxSteps=*/1000);
  EXPECT_EQ(error, "pipe.roles: makes no end within 1000 steps");
}

TEST_F(ErrorsTest, WordsAndLanes) {
  auto roles = [&](const std::string &channel, const std::string &all,
                   const std::string &b) {
    return "  %ch = pipe.channel \"k\" " + channel +
           "\n  pipe.roles [#all, #pipe.role<\"b\", warps = 1, replicas = 2, "
           "regs = 0>] {\n" +
           all + "  }, (%rank) {\n" + b + "  }\n";
  };
  std::string words = "!pipe.channel<!pipe.words<1>, depth = 1, lanes = 2>";
  std::string lanes = "from \"b\" to [\"all\"] : " + words;
  std::string recv = "    %w:2 = pipe.recv %ch : " + words + "\n";
  std::string send = "    pipe.send %ch(%rank) : " + words + "\n";
  EXPECT_EQ(run(roles(lanes, recv, send)), "");
  // One replica says nothing.
  std::string error = run(roles(lanes, recv,
                                "    %first = arith.cmpi eq, %rank, %c0 : i32\n"
                                "    scf.if %first {\n" +
                                    send + "    }\n"));
  EXPECT_NE(error.find("role 'all' waits in pipe.recv: slot 0 of channel 'k' "
                       "lane 1 is free but must be full"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("role 'b'[1] has ended"), std::string::npos) << error;
  // A replica that does not come to the gather.
  std::string gather = "    %g:2 = pipe.gather 2 of %rank : i32\n";
  EXPECT_EQ(run(roles(lanes, recv, gather + send)), "");
  error = run(roles(lanes, recv,
                    send +
                        "    %first = arith.cmpi eq, %rank, %c0 : i32\n"
                        "    scf.if %first {\n" +
                        gather + "    }\n"));
  EXPECT_NE(error.find("role 'b'[0] waits in pipe.gather: 1 of 2 replicas of "
                       "role 'b' have come"),
            std::string::npos)
      << error;
}

TEST_F(ErrorsTest, SliceOutOfRange) {
  EXPECT_EQ(run(rows() + "  %s = attn.slice_rows %rows[%c2] of 2 : "
                         "!attn.rows<2> -> !attn.rows<1>\n"),
            "attn.slice_rows: takes rows from 2 of 2");
  EXPECT_EQ(run("  %u = attn.state_init : !T\n"
                "  %s = attn.slice_tile %u[%c2] of 2 : !T -> "
                "!attn.tile<1x4xf32>\n"),
            "attn.slice_tile: takes rows from 2 of 2");
}

TEST_F(ErrorsTest, InertItem) {
  EXPECT_EQ(run("  %m = arith.constant -2 : i32\n"
                "  %i:8 = attn.load_item %plan[%m] : i32, i32, i32, i32, i32, "
                "i32, i32, i32\n"
                "  scf.for %x = %c0 to %c1 step %i#6 : i32 {\n  }\n"),
            "scf.for: has step -1 but needs at least 1");
}

TEST_F(ErrorsTest, TwoRolesWithNothingToDo) {
  EXPECT_EQ(
      run("  pipe.roles [#all, #pipe.role<\"b\", warps = 1, replicas = 1, "
          "regs = 0>] {\n  }, {\n  }\n"),
      "");
}

TEST_F(ErrorsTest, LoopStep) {
  EXPECT_EQ(run("  scf.for %i = %c0 to %c2 step %c0 : i32 {\n  }\n"),
            "scf.for: has step 0 but needs at least 1");
}

TEST_F(ErrorsTest, HookWithUnknownOp) {
  std::string error = run(R"(  attn.variant @v {
    attn.hook sink(%b, %h) {
      %x = arith.sitofp %h : i32 to f32
      %y = math.erf %x : f32
      attn.yield %y : f32
    }
  }
)" + rows() +
                          "  %z = attn.apply_sink %rows : !attn.rows<2> -> "
                          "!attn.rowvec<2xf32>");
  // The dialect may refuse the op before the simulator sees it.
  EXPECT_NE(error.find("math.erf"), std::string::npos) << error;
}

} // namespace
