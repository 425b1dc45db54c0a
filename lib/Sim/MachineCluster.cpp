//===- MachineCluster.cpp - what one CTA does to another of its cluster ---===//
//
// CTAs of a cluster meet at its barrier, arrive at each other's mbarriers, and one
// copy lands in several of them, each of which counts its own bytes:
//
//   cta 0: mbar_arrive %empty[%p] cta 1    counts on the barriers of cta 1
//   cta 0: tma_load ... multicast 3        one action for cta 0, one for cta 1
//
// Who reaches a CTA from outside must know that it has started, by the order of the
// barrier's initialisation, and it must not end before: its end is the last step
// of all its warps, so that one of them must have seen the visit.
//
// Invariant: a run in which a CTA ended in time by luck has a verdict.
//
//===----------------------------------------------------------------------===//

#include "MachineHopper.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

//===----------------------------------------------------------------------===//
// CTAs and their cluster
//===----------------------------------------------------------------------===//

std::string Cta::which() const {
  return cluster.ctas.size() > 1 ? " of cta " + std::to_string(index) : "";
}

int32_t Cta::rank() const { return index - cluster.ctas.front()->index; }

void Cluster::settle() {
  if (!turn || turn->came.size() < live)
    return;
  turn->done = true;
  turn = nullptr;
}

/// A warp that has ended needs not come, and has told nobody anything.
static LogicalResult syncCluster(Operation *op, Warp &warp) {
  Cluster &cluster = warp.cta.cluster;
  if (!cluster.turn) {
    cluster.turn = std::make_shared<Turn>();
    cluster.turn->op = op;
  }
  std::shared_ptr<Turn> turn = cluster.turn;
  warp.syncLanes();
  turn->order.join(warp.publish());
  turn->came.push_back(&warp);
  cluster.settle();
  if (failed(warp.machine.block(
          op, [turn] { return turn->done; },
          [turn, &cluster] {
            return "waits at the barrier of its cluster where " +
                   std::to_string(turn->came.size()) + " of " +
                   std::to_string(cluster.live) + " warps have come";
          })))
    return failure();
  warp.order.join(turn->order);
  return success();
}

//===----------------------------------------------------------------------===//
// Visits
//===----------------------------------------------------------------------===//

std::shared_ptr<BarsObject> attn::sim::barsOf(Warp &warp, Operation *op,
                                              const BarsObject &bars,
                                              int32_t rank) {
  Cluster &cluster = warp.cta.cluster;
  if (rank < 0 || size_t(rank) >= cluster.ctas.size()) {
    (void)warp.machine.violate(Verdict::ResourceError, op,
                               warp.name() + " reaches cta " + Twine(rank) +
                                   " of a cluster of " +
                                   Twine(cluster.ctas.size()));
    return nullptr;
  }
  Cta &cta = *cluster.ctas[rank];
  auto found = cta.objects.find(bars.op);
  if (found != cta.objects.end())
    return std::static_pointer_cast<BarsObject>(found->second);
  (void)warp.machine.violate(Verdict::Race, op,
                             "bars '" + bars.name + "'" + cta.which() +
                                 " are used before they are initialised");
  return nullptr;
}

LogicalResult attn::sim::visit(Warp &warp, Cta &cta, const Access &by) {
  bool foreign = &cta != &warp.cta;
  if (foreign && cta.live == 0)
    return warp.machine.violate(Verdict::ResourceError, by.op,
                                warp.name() + " reaches cta " +
                                    Twine(cta.index) + " which has ended");
  cta.visits[by.actor] = {by, foreign};
  return success();
}

void Machine::judgeVisits(const Cta &cta) {
  Order end;
  for (auto &warp : cta.warps)
    end.join(warp->order);
  for (auto &[actor, visit] : cta.visits) {
    if (end.covers(actor, visit.by.step))
      continue;
    std::string what = visit.by.op->getName().getStringRef().str() + ": ";
    if (!visit.foreign)
      return result.give(Verdict::Race,
                         what + "copy is not waited for before its CTA ends",
                         visit.by.op->getLoc());
    return result.give(Verdict::ResourceError,
                       what + actorName(actor) + " reaches cta " +
                           Twine(cta.index) +
                           " and nothing orders the end of that CTA behind it",
                       visit.by.op->getLoc());
  }
}

SmallVector<std::shared_ptr<BarsObject>>
attn::sim::targetsOf(frag::TmaLoadOp op, Warp &warp) {
  Machine &machine = warp.machine;
  auto own = warp.interp->get(op.getBars()).share<BarsObject>();
  int32_t slot = own->slotOf(warp.interp->getInt(op.getBarPos()));
  uint32_t mask = op.getMulticast().value_or(1u << warp.cta.rank());
  SmallVector<std::shared_ptr<BarsObject>> targets;
  for (int32_t rank = 0; mask >> rank; ++rank) {
    if (!(mask >> rank & 1))
      continue;
    auto bars = barsOf(warp, op, *own, rank);
    if (!bars)
      return {};
    if (!bars->bars[slot * bars->lanes].ready) {
      (void)machine.violate(Verdict::Race, op,
                            describe(*bars, slot, 0) +
                                " is used before it was initialised");
      return {};
    }
    if (failed(inPhase(warp, op, *bars, slot, 0)))
      return {};
    targets.push_back(std::move(bars));
  }
  return targets;
}

LogicalResult attn::sim::runClusterOp(Operation *op, Warp &warp, bool &known) {
  if (auto rank = dyn_cast<frag::ClusterRankOp>(op)) {
    warp.interp->set(rank.getResult(), Datum::ofInt(warp.cta.rank()));
    return success();
  }
  if (isa<frag::ClusterSyncOp>(op))
    return syncCluster(op, warp);
  known = false;
  return success();
}
