//===- ClusterTest.cpp - two CTAs that share their copies -----------------===//
//
// The kernel of test/Sim/Inputs/cluster-sm90.frag.mlir: right in all schedules,
// and each way to break what lies between its CTAs has its verdict.
//
//===----------------------------------------------------------------------===//

#include "attn/ABI/KernelParams.h"
#include "attn/Dialect/Frag/IR/Frag.h"
#include "attn/Oracle/Element.h"
#include "attn/Sim/FragMutate.h"
#include "attn/Sim/Machine.h"
#include "attn/Sim/TensorMap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <fstream>
#include <iterator>

using namespace attn;
using sim::ScheduleKind;
using sim::Verdict;

namespace {

constexpr int32_t cols = 64, tileRows = 16, tilesAt = 200;

class ClusterTest : public ::testing::Test {
protected:
  ClusterTest() {
    context.loadDialect<frag::FragDialect, mlir::arith::ArithDialect,
                        mlir::scf::SCFDialect>();
    std::ifstream in(ATTN_TEST_INPUTS "/cluster-sm90.frag.mlir");
    text.assign(std::istreambuf_iterator<char>(in),
                std::istreambuf_iterator<char>());
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &source) {
    return mlir::parseSourceString<mlir::ModuleOp>(
        source, mlir::ParserConfig(&context));
  }
  static mlir::Operation *kernelOf(mlir::ModuleOp module) {
    return *module.getOps<frag::KernelOp>().begin();
  }

  /// On `tiles` tiles of keys; a wrong score is `wrong values`.
  sim::Report run(mlir::Operation *kernel, sim::MachineOptions options = {},
                  int32_t tiles = 5) {
    int32_t rows = tiles * tileRows;
    std::vector<uint16_t> k(size_t(rows) * cols);
    std::vector<float> out(size_t(options.ctas) * tileRows * rows);
    for (int32_t row = 0; row < rows; ++row)
      for (int32_t col = 0; col < cols; ++col)
        k[row * cols + col] = oracle::floatToBf16(key(row, col));
    attn_kernel_params fixed{};
    fixed.k = reinterpret_cast<uintptr_t>(k.data());
    fixed.o = reinterpret_cast<uintptr_t>(out.data());
    fixed.k_strides = {/*batch=*/0, /*token=*/cols, /*head=*/cols};
    std::vector<char> params(384, 0);
    std::memcpy(params.data(), &fixed, sizeof(fixed));
    std::memcpy(params.data() + tilesAt, &tiles, sizeof(tiles));
    std::string error;
    EXPECT_TRUE(sim::fillTensorMaps(kernel, params,
                                    {{"k", uint32_t(rows), 1, 1, cols}}, error))
        << error;
    options.maxSteps = 20000;
    sim::Report report = sim::runMachine(kernel, params, options);
    for (size_t i = 0; report.ok() && i < out.size(); ++i)
      if (out[i] != score(int32_t(i / rows), int32_t(i % rows)))
        report.give(Verdict::WrongValues, "score " + std::to_string(i));
    return report;
  }
  /// Integers that f32 holds: row r of cta c is row 16 c + r.
  static float score(int32_t row, int32_t token) {
    float sum = 0;
    for (int32_t col = 0; col < cols; ++col)
      sum +=
          float(row / tileRows * 32 + row % tileRows + col) * key(token, col);
    return sum;
  }
  static float key(int32_t row, int32_t col) {
    return float((row * 7 + col * 3) % 16 - 8);
  }

  /// Of the kernel with `from`, which it has, replaced by `to`, in all
  /// schedules of a few.
  void expectVerdict(const std::string &from, const std::string &to,
                     std::initializer_list<Verdict> verdicts,
                     const std::string &message, bool last = false) {
    std::string broken = text;
    size_t at = last ? broken.rfind(from) : broken.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    broken.replace(at, from.size(), to);
    auto module = parse(broken);
    ASSERT_TRUE(module);
    bool said = false;
    for (uint64_t seed = 0; seed < 10; ++seed)
      for (ScheduleKind kind : kinds) {
        sim::Report report = run(kernelOf(*module), two(kind, seed));
        EXPECT_TRUE(llvm::is_contained(verdicts, report.verdict))
            << report.str();
        said |= report.str().find(message) != std::string::npos;
      }
    EXPECT_TRUE(said) << message;
  }
  static sim::MachineOptions two(ScheduleKind kind, uint64_t seed,
                                 int32_t ctas = 2) {
    sim::MachineOptions options;
    options.kind = kind;
    options.seed = seed;
    options.ctas = ctas;
    return options;
  }

  static constexpr ScheduleKind kinds[] = {ScheduleKind::RoundRobin,
                                           ScheduleKind::Random,
                                           ScheduleKind::Adversarial};
  mlir::MLIRContext context;
  std::string text;
};

TEST_F(ClusterTest, RightInAllSchedules) {
  auto module = parse(text);
  ASSERT_TRUE(module);
  for (uint64_t seed = 0; seed < 20; ++seed)
    for (ScheduleKind kind : kinds) {
      EXPECT_EQ(run(kernelOf(*module), two(kind, seed)).str(), "correct");
      // Two clusters know nothing of each other.
      EXPECT_EQ(run(kernelOf(*module), two(kind, seed, 4)).str(), "correct");
    }
  for (int32_t tiles = 0; tiles < 5; ++tiles)
    EXPECT_EQ(run(kernelOf(*module), two(ScheduleKind::Random, 1), tiles).str(),
              "correct");
}

TEST_F(ClusterTest, Releases) {
  // Only the own readers give a slot back.
  expectVerdict("frag.mbar_arrive %empty[%p] cta %peer : !bars", "",
                {Verdict::Deadlock},
                "cta 1 role 'load' warp 0 waits for phase 0 of slot");
  // Each at its own barriers, twice: the other CTA may still read.
  expectVerdict("cta %peer", "cta %rank",
                {Verdict::Race, Verdict::ResourceError},
                "nothing orders it behind");
  expectVerdict("cta %peer", "cta %c8", {Verdict::ResourceError},
                "reaches cta 8 of a cluster of 2");
}

TEST_F(ClusterTest, Copies) {
  expectVerdict("multicast 3", "multicast 1", {Verdict::Deadlock},
                "cta 1 role 'score' warp 1 waits for phase 0 of slot 0 of bars "
                "'full' of cta 1");
  expectVerdict("from %first on", "from %c0 on", {Verdict::Race},
                "writes slot 0 of ring 'k'");
  expectVerdict("from %first on", "from %c1 on", {Verdict::ResourceError},
                "copies rows 1 to 9 of a slot of 16 rows, in steps of 8");
  expectVerdict("from %first on", "from %c16 on", {Verdict::ResourceError},
                "copies rows 16 to 24 of a slot of 16 rows");
  expectVerdict("bytes 2048", "bytes 1024",
                {Verdict::ResourceError, Verdict::Race},
                "reads slot 0 of ring 'k' of cta");
  expectVerdict("bytes 2048", "bytes 4096", {Verdict::Deadlock},
                "bytes to come");
}

TEST_F(ClusterTest, StartAndEnd) {
  // Another CTA's barriers may not be there yet.
  expectVerdict("  frag.cluster_sync\n", "", {Verdict::Race}, "initialis");
  // A CTA may have ended while the other one still arrives at its barriers.
  expectVerdict("  frag.cluster_sync\n", "", {Verdict::ResourceError},
                "and nothing orders the end of that CTA behind it",
                /*last=*/true);
  expectVerdict("  frag.cluster_sync\n", "", {Verdict::ResourceError},
                "which has ended", /*last=*/true);
  // One waits at the cluster's barrier for one who waits elsewhere.
  expectVerdict("  frag.cluster_sync\n",
                "  %other = arith.cmpi eq, %rank, %c1 : i32\n"
                "  scf.if %other { frag.mbar_wait %full[%end] : !bars }\n"
                "  frag.cluster_sync\n",
                {Verdict::Deadlock},
                "cta 0 role 'score' warp 1 waits at the barrier of its cluster "
                "where 1 of 2 warps have come",
                /*last=*/true);
}

TEST_F(ClusterTest, Launch) {
  auto module = parse(text);
  ASSERT_TRUE(module);
  sim::Report report = run(kernelOf(*module), two(ScheduleKind::Random, 0, 3));
  EXPECT_EQ(report.verdict, Verdict::NotRun);
  EXPECT_NE(report.str().find("launch has 3 blocks which is not a multiple of "
                              "the cluster of 2"),
            std::string::npos);
  sim::MachineOptions blank = two(ScheduleKind::Random, 0);
  blank.values = false;
  EXPECT_NE(run(kernelOf(*module), blank)
                .str()
                .find("clusters have no timing: cluster is 2 but must be 1"),
            std::string::npos);
}

/// All that the mutator knows.  One leaves a legal kernel: the loader waits for a
/// later release of the same readers, as with a ring of one slot less.
TEST_F(ClusterTest, Mutants) {
  auto module = parse(text);
  ASSERT_TRUE(module);
  unsigned caught = 0;
  for (const sim::FragMutant &mutant :
       sim::listFragMutants(kernelOf(*module))) {
    bool same = llvm::StringRef(mutant.name)
                    .starts_with("a slot ahead mbar_wait 'empty'");
    mlir::OwningOpRef<mlir::ModuleOp> broken = module->clone();
    ASSERT_TRUE(sim::applyFragMutant(kernelOf(*broken), mutant));
    for (uint64_t seed = 0; seed < 4; ++seed)
      for (ScheduleKind kind : kinds) {
        sim::Report report = run(kernelOf(*broken), two(kind, seed));
        EXPECT_EQ(report.ok(), same) << mutant.name;
        EXPECT_NE(report.verdict, Verdict::NotRun) << report.str();
      }
    caught += !same;
  }
  EXPECT_GE(caught, 30u);
}

} // namespace
