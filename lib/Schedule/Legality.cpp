//===- Legality.cpp - is a schedule legal for kernel and target? ----------===//
//
//   tile_q = 100            "tile_q is 100 but 8 warps of 16 rows need a
//                            multiple of 128"
//   fold_scale + score hook "fold_scale and a score hook exclude each other"
//
// Invariant: what a later pass cannot carry out is refused here by name, so
// that it is refused before any IR has been rewritten.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Schedule/Schedule.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attn;

namespace {

/// Rows of an mma.sync tile: each warp owns 16.
constexpr int32_t warpRows = 16;
/// The CPU's scratch must stay a sane size whatever the user asks for.
constexpr int32_t maxCpuTile = 1024;

class Checker {
public:
  Checker(const ProblemFacts &facts, ScheduleAttr schedule,
          const TargetSpec &target, std::string &error)
      : facts(facts), s(schedule), target(target), error(error),
        on(std::string(target.name)) {}
  bool run() { return common() && (target.isGpu() ? gpu() : cpu()); }

private:
  bool refuse(const Twine &text) {
    error = text.str();
    return false;
  }
  bool only(StringRef field, StringRef value, StringRef built) {
    if (value == built)
      return true;
    return refuse(field + " = " + value + " is not built for " + on +
                  " (built: " + built + ")");
  }
  bool multiple(StringRef field, int32_t value, int32_t of) {
    if (value % of == 0)
      return true;
    return refuse(field + " is " + Twine(value) +
                  " but must be a multiple of " + Twine(of));
  }
  bool common();
  bool gpu();
  bool cpu();

  const ProblemFacts &facts;
  ScheduleAttr s;
  const TargetSpec &target;
  std::string &error;
  std::string on;
};

} // namespace

bool Checker::common() {
  if (s.getPack() != 1 && s.getPack() != facts.group)
    return refuse("pack is " + Twine(s.getPack()) +
                  " but must be 1 or the group of " + Twine(facts.group) +
                  " heads");
  if (s.getSoftmax() == SoftmaxKind::Lazy)
    return refuse("softmax = lazy is not built");
  bool softmax = facts.normaliser == Normaliser::Softmax;
  if (!softmax && s.getSoftmax() != SoftmaxKind::Exact)
    return refuse("softmax = " + stringifySoftmaxKind(s.getSoftmax()) +
                  " needs normaliser softmax but the variant has none");
  if (s.getFoldScale() && facts.hasScoreHook)
    return refuse("fold_scale and a score hook exclude each other");
  if (s.getFoldScale() && !softmax)
    return refuse(
        "fold_scale needs normaliser softmax but the variant has none");
  return only("v_tail", s.getVTail().getValue(), "zero_fill") &&
         only("epilogue", s.getEpilogue().getValue(), "direct");
}

bool Checker::gpu() {
  auto pipe = dyn_cast<pipe::ScheduleAttr>(s.getPipe());
  if (!pipe)
    return refuse(on + " needs a #pipe.schedule");
  int32_t warps = 0;
  for (Attribute attr : pipe.getRoles()) {
    auto role = cast<pipe::RoleAttr>(attr);
    warps += role.getWarps() * role.getReplicas();
  }
  int32_t rows = warps * warpRows;
  if (s.getTileQ() % rows != 0)
    return refuse("tile_q is " + Twine(s.getTileQ()) + " but " + Twine(warps) +
                  " warps of 16 rows need a multiple of " + Twine(rows));
  if (!multiple("tile_k", s.getTileK(), 16))
    return false;
  if (s.getPType() != facts.value.getElement()) {
    llvm::raw_string_ostream(error)
        << "p_type is " << s.getPType() << " but " << on
        << " multiplies it with values of " << facts.value.getElement();
    return false;
  }
  // Copies for the next visit need a second slot while this one is read.
  for (StringRef channel : {"k", "v"}) {
    int32_t ahead = -pipe.getSkew("load_kv"), depth = pipe.getDepth(channel);
    if (ahead >= depth)
      return refuse("skew.load_kv = " + Twine(-ahead) + " needs " +
                    Twine(ahead + 1) + " slots of channel " + channel +
                    " but it has " + Twine(depth));
  }
  return true;
}

bool Checker::cpu() {
  if (!isa<UnitAttr>(s.getPipe()))
    return refuse(on + " has no roles: pipe must be unit");
  if (!multiple("tile_q", s.getTileQ(), 8) ||
      !multiple("tile_k", s.getTileK(), 16))
    return false;
  if (s.getTileQ() > maxCpuTile || s.getTileK() > maxCpuTile)
    return refuse("tile is " + Twine(s.getTileQ()) + " x " +
                  Twine(s.getTileK()) + " but " + on + " has at most " +
                  Twine(maxCpuTile) + " x " + Twine(maxCpuTile));
  if (!s.getPType().isF32()) {
    llvm::raw_string_ostream(error) << "p_type is " << s.getPType() << " but "
                                    << on << " multiplies in f32";
    return false;
  }
  return true;
}

bool attn::checkSchedule(const ProblemFacts &facts, ScheduleAttr schedule,
                         const TargetSpec &target, std::string &error) {
  return Checker(facts, schedule, target, error).run();
}
