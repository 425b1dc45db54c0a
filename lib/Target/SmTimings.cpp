//===- SmTimings.cpp - clocks of the SMs that are simulated ---------------===//
//
// Where each number is from:
//
//   [guide]  throughput table of the CUDA programming guide, results a clock and
//            SM, divided by the four quadrants
//   [peak]   data-sheet flops / (SMs * clock)
//   [micro]  published microbenchmarks of the part, rounded
//   [trace]  clock reads in a Hopper forward kernel on an H200, see
//            docs/simulator.md
//   [fit]    one of the fitted parameters of docs/simulator.md
//
//===----------------------------------------------------------------------===//

#include "attn/Target/SmTiming.h"

using namespace attn;

/// What both have.
static SmTiming base() {
  SmTiming t;
  t.quadrants = 4;
  t.alu = 2;     // [guide] 64 a clock: integer add, compare, minimum
  t.mufu = 8;    // [guide] 16
  t.convert = 2; // [guide] 64
  t.sharedBytes = 128;
  t.fmaLatency = 4;      // [micro]
  t.aluLatency = 5;      // [micro]
  t.mufuLatency = 22;    // [micro]
  t.convertLatency = 6;  // [micro]
  t.shuffleLatency = 24; // [micro]
  t.branchLatency = 12;  // [micro] taken branch, instructions in the cache
  t.barrierLatency = 24; // [micro] bar.sync after the last arrival
  return t;
}

static SmTiming a100() {
  SmTiming t = base();
  t.fma = 2;             // [guide] 64
  t.mma = 8;             // [peak] 2048 flops a clock and SM
  t.mmaLatency = 26;     // [micro]
  t.tensorFlops = 2048;  // [peak]
  t.l2Bytes = 48;        // [micro] 5.1 KB a clock over 108 SMs
  t.sharedLatency = 23;  // [micro]
  t.l2Latency = 200;     // [micro]
  t.copyLatency = 0;     // no TMA
  t.atomicLatency = 400; // [micro]
  t.mufuSelf = t.mufu;
  return t;
}

static SmTiming h200() {
  SmTiming t = base();
  t.fma = 1;               // [guide] 128
  t.mma = 6.5;             // [micro] mma.sync reaches 62 % of the peak of wgmma
  t.mmaLatency = 32;       // [micro]
  t.tensorFlops = 4096;    // [peak]
  t.l2Bytes = 64;          // [micro] a sector pair a clock from L2 to an SM
  t.sharedLatency = 29;    // [micro]
  t.l2Latency = 270;       // [micro]
  t.copyLatency = 600;     // [micro] TMA of a tile that lies in L2
  t.atomicLatency = 700;   // [micro] atomicAdd and its return
  t.mbarLatency = 20;      // [fit]
  t.registersLatency = 40; // [micro]
  t.wgmmaQueue = 6;        // [trace] 16 steps of 64 clocks issue in 620
  t.wgmmaLatency = 32;     // [fit]
  t.wgmmaInstructions = 5; // [trace] 60 address instructions for 16 steps
  t.mufuSelf = 11;         // [fit]
  return t;
}

const SmTiming *attn::findTiming(std::string_view target) {
  static const SmTiming sm80 = a100(), sm90a = h200();
  return target == "sm_80" ? &sm80 : target == "sm_90a" ? &sm90a : nullptr;
}
