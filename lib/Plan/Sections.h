//===- Sections.h - runs of a plan whose keys stay in L2 -------- -*- C++ -*-===//
//
// Items of one head read the same keys and values.  Longest first over a whole
// batch visits each head once a tile length, and once it does not fit in L2 each
// visit reads it from DRAM again.  So the list is made of sections, longest first
// inside:
//
//   4 requests of 16k tokens, 8 heads of 8 MiB, budget 24 MiB, 132 workers
//     request 0   heads 0..2 | 3..5 | 6..7
//     request 1   ...                           a request that does not fit alone
//   64 requests of 512 tokens, 2 MiB each
//     requests 0..11 | 12..23 | ...             several that fit together
//
// Requests come in the order of their longest item, so the last section has the
// shortest.  It decides how evenly the workers end: it is made of the last runs
// until it holds two of its longest items for every worker.
//
// Invariant: every (request, KV head) lies in exactly one section.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_LIB_PLAN_SECTIONS_H
#define ATTN_LIB_PLAN_SECTIONS_H

#include <cstdint>
#include <cstring>

namespace attn::plan {

constexpr int32_t kMaxSections = 256;

/// What the items of a request take, over all heads.
struct RequestLoad {
  double bytes = 0;   ///< keys and values that more than one item reads
  double cost = 0;    ///< of all its items
  double longest = 0; ///< cost of its longest item
};

/// The KV heads [head0, head1) of the requests order[rank0, rank1); some of the
/// heads only if there is one request.
struct Section {
  int32_t rank0, rank1;
  int32_t head0, head1;
};

/// Costs are not negative, so their bit patterns order like their values: ascending
/// keys are descending costs, and ascending numbers of equal ones.
inline uint64_t sortKey(float cost, uint32_t number) {
  uint32_t bits;
  std::memcpy(&bits, &cost, sizeof(bits));
  return uint64_t(~bits) << 32 | number;
}

/// Sorts keys whose low halves ascend already: only the high halves are looked at, by
/// digits from the lowest on.  A quarter of std::sort's time for a few thousand keys;
/// most costs are small integers, whose lowest digit is 0 throughout and costs nothing.
void sortKeys(uint64_t *begin, uint64_t *end, uint64_t *spare);

/// Fills `order` (one entry a request) and up to kMaxSections sections; returns
/// how many.  `l2Bytes` 0: one section, in the order of the batch.
/// `keys` has room for two a request.
int32_t cutSections(const RequestLoad *loads, int32_t batch, int32_t kvHeads,
                    uint64_t l2Bytes, int32_t workers, uint64_t *keys,
                    int32_t *order, Section *sections);

} // namespace attn::plan

#endif // ATTN_LIB_PLAN_SECTIONS_H
