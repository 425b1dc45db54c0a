//===- plan.cpp - time of the planner -------------------------------------===//
//
//   clang++-22 -std=c++17 -O2 -fno-exceptions -Iinclude -Ibuild/include \
//     bench/plan.cpp lib/Plan/*.cpp lib/Mask/*.cpp -o build/bench-plan
//   build/bench-plan
//     causal  decode   4096 requests    32768 items    1 section   329.2 us  5dd00e31039fa1b7
//
// With an argument, workers that take every W-th item.
//
// CPU time of the thread, the best of 60, for 32 / 8 heads, items of 128 x 64 and 132
// workers, masks included, upload and allocation not.  `alike` are requests of 4k tokens
// or, for decode, keys, whose last wave is worth a look.  The last column is a hash of the
// plan: a change that should only make it faster leaves it as it is.
//
//===----------------------------------------------------------------------===//
#include "attn/Plan/MaskVisibility.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <vector>

using namespace attn;
using namespace attn::plan;

static double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) * 1e6 + double(t.tv_nsec) * 1e-3;
}

/// "full", "causal" or "window"; full has no program.
static mask::HookProgram maskOf(const std::string &name) {
  mask::HookProgram program;
  if (name == "full")
    return program;
  mask::Assembler text(ATTN_HOOK_MASK);
  text.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
  if (name == "window")
    text.arg(ATTN_ARG_Q)
        .arg(ATTN_ARG_K)
        .op(ATTN_OP_ISUB)
        .i32(1024)
        .icmp(ATTN_CMP_LT)
        .op(ATTN_OP_AND);
  std::vector<uint8_t> bytes;
  std::string error;
  if (!text.finish(bytes, error) ||
      !mask::HookProgram::decode(bytes.data(), bytes.size(), {}, program,
                                 error)) {
    fprintf(stderr, "%s\n", error.c_str());
    exit(1);
  }
  return program;
}

static void lengths(const std::string &name, std::mt19937 &random, int32_t &q,
                    int32_t &kv) {
  if (name == "alike") {
    q = kv = 4096;
  } else if (name == "alike1") {
    q = 1;
    kv = 4096;
  } else if (name == "decode") {
    kv = 128 + int32_t(random() % 16257);
    q = 1;
  } else if (name == "prefill") {
    q = kv = 1 + int32_t(random() % 512);
  } else { // mixed
    kv = 128 + int32_t(random() % 4000);
    q = random() % 8 ? 1 : 1 + int32_t(random() % 128);
  }
}

static void measure(const char *maskName, const char *kind, int32_t batch,
                    bool inTurn) {
  std::mt19937 random(7);
  std::vector<int32_t> q(batch), kv(batch), qBegins(batch), kvBegins(batch);
  for (int32_t r = 0, qEnd = 0, kvEnd = 0; r < batch; ++r) {
    lengths(kind, random, q[r], kv[r]);
    qBegins[r] = qEnd;
    kvBegins[r] = kvEnd;
    qEnd += q[r];
    kvEnd += kv[r];
  }
  mask::HookProgram program = maskOf(maskName);
  Problem problem;
  problem.batch = batch;
  problem.qLens = q.data();
  problem.kvLens = kv.data();
  problem.qBegins = qBegins.data();
  problem.kvBegins = kvBegins.data();
  problem.heads = 32;
  problem.kvHeads = 8;
  problem.pack = 4;
  problem.tileQ = 128;
  problem.keyBytes = 512;
  // Cycles of a tile at head dim 128, see lib/Schedule/Cost.cpp.
  problem.costQ = 28;
  problem.costKv = 16.75f;
  problem.split = SplitCost::cycles(128);
  Options options;
  options.workers = 132;
  options.inTurn = inTurn;
  if (!inTurn)
    options.l2Bytes = 60 << 20;
  std::vector<uint64_t> plan, scratch;
  Capacity bound;
  Summary summary;
  Error error;
  double best = 1e30;
  for (int i = 0; i < 60; ++i) {
    double begin = now();
    MaskVisibility visibility(program, {}, problem.tileK);
    problem.visibility = program.valid() ? &visibility.visibility() : nullptr;
    bool ok = capacity(problem, options, bound, error);
    plan.resize(bound.planBytes / 8 + 1);
    scratch.resize(bound.scratchBytes / 8 + 1);
    ok = ok && build(problem, options, plan.data(), plan.size() * 8,
                     scratch.data(), scratch.size() * 8, summary, error);
    if (!ok) {
      fprintf(stderr, "%s\n", error.text);
      exit(1);
    }
    best = std::min(best, now() - begin);
  }
  uint64_t hash = 0xcbf29ce484222325;
  auto *bytes = reinterpret_cast<const unsigned char *>(plan.data());
  for (uint64_t i = 0; i < bound.planBytes; ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  printf("%-7s %-8s %4d requests  %7u items  %3u sections  %8.1f us  %016lx\n",
         maskName, kind, batch, summary.items, summary.sections, best, hash);
}

int main(int argc, char **) {
  bool inTurn = argc > 1;
  for (const char *mask : {"full", "causal", "window"}) {
    for (int32_t batch : {1, 2, 5})
      measure(mask, "alike", batch, inTurn);
    for (int32_t batch : {17, 18, 100, 256})
      measure(mask, "alike1", batch, inTurn);
    for (const char *kind : {"decode", "mixed", "prefill"})
      for (int32_t batch : {256, 1024, 4096})
        measure(mask, kind, batch, inTurn);
  }
}
