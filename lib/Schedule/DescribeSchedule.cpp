//===- DescribeSchedule.cpp - a schedule in words -------------------------===//
//
//   2 x 64 rows x 128 keys, frozen reference, dynamic order, 2 stages; 196960
//   bytes of shared memory; because head dim 128, masked
//
//   .. because head dim 72 (padded to 80: 11 % more products), no mask
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Schedule/Schedule.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attn;

/// " (padded to 80: 11 % more products)", if products have more columns.
static void describePadding(const ProblemFacts &facts, llvm::raw_ostream &os) {
  int32_t query = facts.query.getDim(), value = facts.value.getDim();
  int32_t columns = facts.columns(), valueColumns = facts.valueColumns();
  int32_t more = columns + valueColumns - query - value;
  if (!more)
    return;
  os << " (padded to " << columns;
  if (value != query)
    os << " and " << valueColumns;
  os << ": " << (100 * more + (query + value) / 2) / (query + value)
     << " % more products)";
}

std::string attn::describeSchedule(const ProblemFacts &facts,
                                   ScheduleAttr schedule,
                                   uint64_t sharedBytes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto pipe = dyn_cast<pipe::ScheduleAttr>(schedule.getPipe());
  int32_t rows = schedule.getTileQ();
  if (pipe) {
    // Replicas of the computing role share the rows.
    for (Attribute attr : pipe.getRoles()) {
      auto role = cast<pipe::RoleAttr>(attr);
      if (role.getName().getValue() == pipe.getRoleOf("default") &&
          role.getReplicas() > 1) {
        os << role.getReplicas() << " x ";
        rows /= role.getReplicas();
      }
    }
  }
  os << rows << " rows x " << schedule.getTileK() << " keys, ";
  if (facts.normaliser != Normaliser::Softmax)
    os << "no softmax";
  else if (schedule.getSoftmax() == SoftmaxKind::Frozen)
    os << "frozen reference"
       << (schedule.getRedo() == Redo::Visit ? ", visits redone" : "");
  else if (schedule.getSoftmax() == SoftmaxKind::Lazy)
    os << "lazy reference up to 2^" << schedule.getLimit();
  else
    os << stringifySoftmaxKind(schedule.getSoftmax()) << " softmax";
  if (int32_t share = schedule.getExp2Fma())
    os << ", " << share << " of 16 exponentials on the FMA pipe";
  if (pipe)
    os << ", "
       << (pipe.getPersist().getValue() == "none"
               ? "an item a CTA"
               : (pipe.getPersist().getValue() + " order").str())
       << ", " << pipe.getDepth("k") << " stages; " << sharedBytes
       << " bytes of shared memory";
  os << "; because head dim " << facts.query.getDim();
  if (facts.value.getDim() != facts.query.getDim())
    os << " and " << facts.value.getDim();
  if (pipe)
    describePadding(facts, os);
  os << (facts.hasMaskHook ? ", masked" : ", no mask");
  if (facts.group > 1)
    os << ", groups of " << facts.group << " heads"
       << (schedule.getPack() > 1 ? " packed" : " not packed");
  if (pipe && facts.scoreWork.mufu)
    os << ", " << facts.scoreWork.mufu << " MUFU in the score hook";
  if (uint64_t held = resourcesOf(facts, schedule).hookRegisters)
    os << ", hooks hold " << held << " registers";
  return text;
}
