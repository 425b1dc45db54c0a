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

#include "Shapes.h"
#include "Wgmma.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Layout/KeyGroups.h"
#include "attn/Schedule/Schedule.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attn;

namespace {

/// Rows of a warp in a tile that meets no product.
constexpr int32_t joinedRows = 4;
/// The CPU's scratch must stay a sane size whatever the user asks for.
constexpr int32_t maxCpuTile = 1024;
/// Exponents of the largest weight by a lazy reference, which is 2^(limit + 1/4): f16
/// ends below 2^16; in f32 sums keep the same distance as the frozen check's.
constexpr int32_t lazyLimitF16 = 15, lazyLimit = 64;
/// Columns of a warpgroup's product.
constexpr int32_t maxAtomColumns = 256;

class Checker {
public:
  Checker(const ProblemFacts &facts, ScheduleAttr schedule,
          const TargetSpec &target, std::string &error)
      : facts(facts), s(schedule), target(target), error(error),
        withRoles(target.has(Feature::Wgmma) && hasRoles(schedule.getPipe())),
        on(std::string(target.name)) {
    if (target.has(Feature::Wgmma) && !withRoles)
      on += " with one role";
  }
  bool run() {
    return common() && (!target.isGpu() ? cpu() : withRoles ? roles() : gpu());
  }

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
  bool productOperands();
  bool weights();
  bool common();
  bool groups(int32_t warps);
  bool gpu();
  bool roles();
  bool rolesThemselves(pipe::RoleAttr load, pipe::RoleAttr compute);
  bool atoms(pipe::ScheduleAttr pipe);
  bool cpu();

  const ProblemFacts &facts;
  ScheduleAttr s;
  const TargetSpec &target;
  std::string &error;
  bool withRoles; ///< of which one only computes
  std::string on; ///< what a refusal names
};

} // namespace

bool Checker::common() {
  if (s.getPack() != 1 && s.getPack() != facts.group)
    return refuse("pack is " + Twine(s.getPack()) +
                  " but must be 1 or the group of " + Twine(facts.group) +
                  " heads");
  bool softmax = facts.normaliser == Normaliser::Softmax;
  if (!softmax && s.getSoftmax() != SoftmaxKind::Exact)
    return refuse("softmax = " + stringifySoftmaxKind(s.getSoftmax()) +
                  " needs normaliser softmax but the variant has none");
  if (s.getExp2Fma() && s.getSoftmax() != SoftmaxKind::Frozen)
    return refuse("exp2_fma = " + Twine(s.getExp2Fma()) +
                  " needs softmax = frozen but softmax is " +
                  stringifySoftmaxKind(s.getSoftmax()));
  if (s.getRedo() == Redo::Visit) {
    if (s.getSoftmax() != SoftmaxKind::Frozen)
      return refuse("redo = visit needs softmax = frozen but softmax is " +
                    stringifySoftmaxKind(s.getSoftmax()));
    auto pipe = dyn_cast<pipe::ScheduleAttr>(s.getPipe());
    if (!withRoles)
      return refuse("redo = visit is not built for " + on +
                    " (built: item; visit with two roles)");
    if (int32_t skew = pipe.getSkew("pv"); skew != 1)
      return refuse("redo = visit needs skew.pv = 1 but it is " + Twine(skew));
  }
  if (s.getSoftmax() == SoftmaxKind::Lazy && !weights())
    return false;
  if (s.getFoldScale() && facts.hasScoreHook)
    return refuse("fold_scale and a score hook exclude each other");
  if (s.getFoldScale() && !softmax)
    return refuse(
        "fold_scale needs normaliser softmax but the variant has none");
  return only("v_tail", s.getVTail().getValue(),
              withRoles ? "zero_rows" : "zero_fill");
}

/// Both operands of the second product have one type.
bool Checker::productOperands() {
  if (s.getPType() == facts.value.getElement())
    return true;
  llvm::raw_string_ostream(error)
      << "p_type is " << s.getPType() << " but " << on
      << " multiplies it with values of " << facts.value.getElement();
  return false;
}

/// Weights by a lazy reference are up to 2^limit.
bool Checker::weights() {
  int32_t most = s.getPType().isF16() ? lazyLimitF16 : lazyLimit;
  if (s.getLimit() <= most)
    return true;
  llvm::raw_string_ostream(error)
      << "limit is " << s.getLimit() << " but softmax = lazy in "
      << s.getPType() << " takes at most " << most;
  return false;
}

//===----------------------------------------------------------------------===//
// One role: mma.sync
//===----------------------------------------------------------------------===//

/// Warps have rows of their own, or share out the keys of a block.
bool Checker::groups(int32_t warps) {
  int32_t rows = warps * int32_t(layout::productRows);
  auto count = int32_t(keyGroupsOf(s));
  if (count == 0 || (count == 1 && s.getTileQ() % rows))
    return refuse("tile_q is " + Twine(s.getTileQ()) + " but " + Twine(warps) +
                  " warps of 16 rows need a multiple of " + Twine(rows) +
                  ", or 16 rows times a divisor of " + Twine(warps));
  if (count == 1)
    return true;
  if (int32_t keys = count * int32_t(layout::leastKeys); s.getTileK() % keys)
    return refuse(
        "tile_k is " + Twine(s.getTileK()) + " but " + Twine(count) +
        " groups of warps take a multiple of 16 keys each: " + Twine(keys));
  // What they join lies as a merge kernel's tiles do.
  int32_t joined = warps * joinedRows;
  if (s.getTileQ() % joined)
    return refuse("tile_q is " + Twine(s.getTileQ()) + " but " + Twine(warps) +
                  " warps hold 4 rows each of what " + Twine(count) +
                  " groups join: " + Twine(joined));
  return true;
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
  if (!multiple("tile_k", s.getTileK(), 16) || !groups(warps))
    return false;
  if (!productOperands())
    return false;
  if (pipe.getAtom("pv") == mmaSharedAtom)
    return refuse("atoms.pv is " + mmaSharedAtom +
                  " but P of the second product is in registers: " + mmaAtom);
  // What the schedule does not name is left to the passes.
  for (StringRef op : {"qk", "pv"}) {
    StringRef atom = pipe.getAtom(op);
    if (!atom.empty() && atom != mmaSharedAtom &&
        !only(("atoms." + op).str(), atom, mmaAtom))
      return false;
  }
  for (StringRef op : {"load_kv", "load_query"})
    if (pipe.getAgent(op) == pipe::Agent::Tma)
      return refuse("agents." + op + " is not built for " + on +
                    " (built: cp_async)");
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

//===----------------------------------------------------------------------===//
// Two roles: warpgroup products
//===----------------------------------------------------------------------===//

bool Checker::rolesThemselves(pipe::RoleAttr load, pipe::RoleAttr compute) {
  if (load.getWarps() * load.getReplicas() != 1)
    return refuse("role " + load.getName().getValue() + " has " +
                  Twine(load.getWarps() * load.getReplicas()) +
                  " warps but 1 starts the copies");
  if (compute.getWarps() != warpgroupWarps)
    return refuse("role " + compute.getName().getValue() + " has " +
                  Twine(compute.getWarps()) + " warps but a product of " + on +
                  " has " + Twine(warpgroupWarps));
  int32_t rows = compute.getReplicas() * warpgroupRows;
  if (s.getTileQ() != rows)
    return refuse("tile_q is " + Twine(s.getTileQ()) + " but " +
                  Twine(compute.getReplicas()) + " replicas of " +
                  Twine(warpgroupRows) + " rows make " + Twine(rows));
  for (pipe::RoleAttr role : {load, compute})
    if (int32_t regs = role.getRegs(); regs % 8 || regs < 24 || regs > 240)
      return refuse("role " + role.getName().getValue() + " sets " +
                    Twine(regs) +
                    " registers but needs a multiple of 8 from 24 to 240");
  return true;
}

/// An atom's name holds its columns: they follow from the tile.
bool Checker::atoms(pipe::ScheduleAttr pipe) {
  std::pair<StringRef, int32_t> products[] = {{"qk", s.getTileK()},
                                              {"pv", facts.valueColumns()}};
  for (auto [op, columns] : products)
    if (pipe.getAtom(op) != wgmmaAtom(columns))
      return refuse("atoms." + op + " is " + pipe.getAtom(op) +
                    " but the product has " + Twine(columns) +
                    " columns: " + wgmmaAtom(columns));
  return true;
}

bool Checker::roles() {
  auto pipe = dyn_cast<pipe::ScheduleAttr>(s.getPipe());
  if (!pipe)
    return refuse(on + " needs a #pipe.schedule");
  if (pipe.getRoles().size() != 2)
    return refuse("schedule has " + Twine(pipe.getRoles().size()) +
                  " roles but " + on + " needs 2");
  StringRef loads = pipe.getRoleOf("load_kv"), rest = pipe.getRoleOf("default");
  if (loads == rest || pipe.getRoleOf("load_query") != loads)
    return refuse("load_kv is placed in " + loads + " and load_query in " +
                  pipe.getRoleOf("load_query") + " but both need one beside " +
                  rest);
  if (pipe.getPersist().getValue() == "none")
    return refuse("persist = none is not built for " + on +
                  " (built: static, dynamic)");
  pipe::RoleAttr load, compute;
  for (Attribute attr : pipe.getRoles()) {
    auto role = cast<pipe::RoleAttr>(attr);
    (role.getName().getValue() == loads ? load : compute) = role;
  }
  if (!rolesThemselves(load, compute))
    return false;
  if (s.getTileQ() % s.getPack() != 0)
    return refuse("pack is " + Twine(s.getPack()) + " but on " + on +
                  " it must divide the " + Twine(s.getTileQ()) +
                  " rows of a tile");
  if (!multiple("tile_k", s.getTileK(), 16) || !productOperands())
    return false;
  if (s.getTileK() > maxAtomColumns)
    return refuse("tile_k is " + Twine(s.getTileK()) + " but a product of " +
                  on + " has at most " + Twine(maxAtomColumns) + " columns");
  for (StringRef op : {"load_kv", "load_query"})
    if (pipe.getAgent(op) != pipe::Agent::Tma)
      return refuse("agents." + op + " is not built for " + on +
                    " (built: tma)");
  for (StringRef op : {"qk", "pv"})
    if (pipe.getAgent(op) != pipe::Agent::Mma)
      return refuse("agents." + op + " is not built for " + on +
                    " (built: mma)");
  for (NamedAttribute entry : pipe.getSkew()) {
    StringRef op = entry.getName().getValue();
    int32_t by = pipe.getSkew(op);
    if (by != 0 && !(op == "pv" && by == 1))
      return refuse("skew." + op + " = " + Twine(by) + " is not built for " +
                    on + " (built: pv = 1)");
  }
  return atoms(pipe);
}

//===----------------------------------------------------------------------===//
// CPU
//===----------------------------------------------------------------------===//

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
  return only("epilogue", s.getEpilogue().getValue(), "direct");
}

bool attn::checkSchedule(const ProblemFacts &facts, ScheduleAttr schedule,
                         const TargetSpec &target, std::string &error) {
  return Checker(facts, schedule, target, error).run();
}
