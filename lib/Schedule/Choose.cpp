//===- Choose.cpp - candidate schedules -----------------------------------===//
//
// One function a family of targets makes a candidate from a shape.  The shapes:
//
//   sm_80   Shapes.cpp; a frozen reference saves the maximum and the rescale of
//           most blocks, and a CTA takes one item: the device starts CTAs in the
//           plan's order, which puts long items first
//   wgmma   Shapes.cpp; beside them sm_80's tiles of few rows, where only those hold
//           whole tokens of a group of heads
//   cpu     64 x 64: at head dim 128 Q, K, V, O and S are 144 KiB of f32, which
//           a core's second-level cache holds
//
// What the hooks hold beside the tiles decides the rung of a ladder to begin
// with; whether it was right, ptxas tells (lib/Compiler).
//
// Invariant: what is returned passes checkSchedule and checkResources for the
// same facts, unless nothing does.
//
//===----------------------------------------------------------------------===//

#include "Shapes.h"
#include "Wgmma.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
#include "attn/Layout/Padding.h"
#include "attn/Schedule/Schedule.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace attn;

bool ProblemFacts::of(KernelOp kernel, ProblemFacts &facts,
                      std::string &error) {
  auto type = [&](TensorRole role) -> attn::TensorType {
    BlockArgument argument = kernel.getTensor(role);
    return argument ? cast<attn::TensorType>(argument.getType())
                    : attn::TensorType();
  };
  facts.query = type(TensorRole::Query);
  facts.key = type(TensorRole::Key);
  facts.value = type(TensorRole::Value);
  VariantOp variant = kernel.getVariant();
  if (!facts.query || !facts.key || !facts.value || !variant) {
    error = "needs query, key, value and a variant of its own";
    return false;
  }
  facts.normaliser = variant.getNormaliser();
  facts.hasScoreHook = static_cast<bool>(variant.getHook(HookKind::Score));
  facts.hasMaskHook = static_cast<bool>(variant.getHook(HookKind::Mask));
  BlockMapAttr map = kernel.getBlockMapAttr();
  facts.hasOpaqueMask = map && map.getForm() == MapForm::Opaque;
  facts.group = kernel.getGroup();
  facts.hookValues = {};
  for (HookKind kind : {HookKind::Score, HookKind::Mask})
    if (HookOp hook = variant.getHook(kind)) {
      HookValues values = hookValuesOf(hook, facts.group > 1);
      facts.hookValues.rows += values.rows;
      facts.hookValues.columns += values.columns;
    }
  facts.outputReadsOthers = false;
  if (HookOp hook = variant.getHook(HookKind::Output)) {
    Block &body = hook.getBody().front();
    for (ElementOp read : body.getOps<ElementOp>())
      facts.outputReadsOthers |= read.getIndex() != body.getArguments().back();
  }
  facts.scoreWork = {};
  if (HookOp hook = variant.getHook(HookKind::Score))
    facts.scoreWork = elementWorkOf(hook);
  return true;
}

int32_t ProblemFacts::columns() const {
  auto type = query;
  return int32_t(layout::productColumns(type.getDim()));
}

int32_t ProblemFacts::valueColumns() const {
  auto type = value;
  return int32_t(layout::productColumns(type.getDim()));
}

/// Packing reads K and V once for a whole group of heads; a tile holds whole
/// tokens only.  The rows that it loses by that are a sixteenth at most, but for tiles
/// that are made for few rows; tensor maps copy all of a tile or nothing.
static int32_t choosePack(int32_t group, int32_t tileQ, bool roles) {
  constexpr int32_t few = 32;
  int32_t lost = tileQ % group;
  bool fits = roles         ? lost == 0
              : tileQ > few ? 16 * lost <= tileQ
                            : group <= tileQ;
  return group <= 16 && fits ? group : 1;
}

static DictionaryAttr
dictOf(Builder &builder,
       std::initializer_list<std::pair<StringRef, Attribute>> list) {
  SmallVector<NamedAttribute> entries;
  for (auto &[name, value] : list)
    entries.push_back(builder.getNamedAttr(name, value));
  return builder.getDictionaryAttr(entries);
}

pipe::ScheduleAttr attn::oneRole(Builder &builder, const WarpShape &shape) {
  MLIRContext *context = builder.getContext();
  auto dict = [&](std::initializer_list<std::pair<StringRef, Attribute>> list) {
    return dictOf(builder, list);
  };
  auto text = [&](StringRef value) { return builder.getStringAttr(value); };
  auto number = [&](int32_t value) { return builder.getI32IntegerAttr(value); };
  Attribute role = pipe::RoleAttr::get(context, text("all"), shape.warps,
                                       /*replicas=*/1, shape.regs);
  return pipe::ScheduleAttr::get(
      context, builder.getArrayAttr({role}),
      /*place=*/dict({{"default", text("all")}}),
      /*agents=*/
      dict({{"load_kv", text("cp_async")}, {"load_query", text("cp_async")}}),
      /*atoms=*/
      dict({{"pv", text(mmaAtom)},
            {"qk", text(shape.sharedQuery ? mmaSharedAtom : mmaAtom)}}),
      /*channels=*/
      dict({{"k", number(shape.depth)},
            {"q", number(1)},
            {"v", number(shape.depth)}}),
      // Loads run a block ahead where there is a slot for it.
      /*skew=*/dict({{"load_kv", number(shape.depth > 1 ? -1 : 0)}}),
      /*handover=*/text("none"), /*persist=*/text("none"), /*unroll=*/1);
}

static pipe::ScheduleAttr twoRoles(Builder &builder, const ProblemFacts &facts,
                                   const RoleShape &shape) {
  auto text = [&](StringRef value) { return builder.getStringAttr(value); };
  auto number = [&](int32_t value) { return builder.getI32IntegerAttr(value); };
  return pipe::ScheduleAttr::get(
      builder.getContext(), wgmmaRoles(builder, shape.replicas),
      /*place=*/
      dictOf(builder, {{"default", text("compute")},
                       {"load_kv", text("load")},
                       {"load_query", text("load")}}),
      /*agents=*/
      dictOf(builder, {{"load_kv", text("tma")},
                       {"load_query", text("tma")},
                       {"pv", text("mma")},
                       {"qk", text("mma")}}),
      /*atoms=*/
      dictOf(builder, {{"pv", text(wgmmaAtom(facts.valueColumns()))},
                       {"qk", text(wgmmaAtom(shape.tileK))}}),
      /*channels=*/
      dictOf(builder, {{"k", number(shape.depth)},
                       {"q", number(shape.queryDepth)},
                       {"v", number(shape.depth)},
                       {"verdict", number(3)},
                       {"work", number(2)}}),
      /*skew=*/dictOf(builder, {{"pv", number(1)}}),
      /*handover=*/text(shape.ring ? "ring" : "none"),
      /*persist=*/text(shape.fixed ? "static" : "dynamic"), /*unroll=*/1);
}

/// The attention part; the pipe part comes with its tile.
static ScheduleAttr schedule(const ProblemFacts &facts,
                             const TargetSpec &target, int32_t tileQ,
                             int32_t tileK, Attribute pipe,
                             Redo redo = Redo::Item, bool exp2Fma = true) {
  Builder builder(facts.query.getContext());
  bool softmax = facts.normaliser == Normaliser::Softmax;
  bool gpu = target.isGpu(), roles = hasRoles(pipe);
  Type element = facts.query.getElement();
  // Without room above the check's limit an f16 product overflows first, so the
  // test of O alone decides; 126 is the largest limit.
  int32_t limit = element.isF16() ? 126 : 64;
  return ScheduleAttr::get(
      builder.getContext(), tileQ, tileK, choosePack(facts.group, tileQ, roles),
      KVOrder::Descending,
      gpu && softmax ? SoftmaxKind::Frozen : SoftmaxKind::Exact, limit, redo,
      gpu && exp2Fma ? chooseExp2Share(facts, target) : 0,
      /*fold_scale=*/softmax && !facts.hasScoreHook,
      /*p_type=*/gpu ? element : builder.getF32Type(),
      builder.getStringAttr(roles ? "zero_rows" : "zero_fill"),
      builder.getStringAttr("kernel"),
      builder.getStringAttr(gpu ? "quad_transpose" : "direct"), pipe);
}

/// Whether tiles and hooks leave the computing threads what they need.
static bool fitsRegisters(const Resources &r, const TargetSpec &target) {
  uint64_t has =
      r.registersOfRole ? r.registersOfRole : target.registersPerThread;
  return r.tileRegisters + registerOverheadLeast + r.hookRegisters <= has;
}

ScheduleChoices attn::chooseSchedules(const ProblemFacts &facts,
                                      const TargetSpec &target) {
  Builder builder(facts.query.getContext());
  ScheduleChoices choices;
  auto add = [&](auto &list, ScheduleAttr candidate) {
    std::string error;
    if (checkSchedule(facts, candidate, target, error) &&
        checkResources(resourcesOf(facts, candidate), target, error))
      list.push_back(candidate);
  };
  SmallVector<ScheduleAttr, 4> ladder;
  ScheduleAttr first;
  auto addShapes = [&](const auto &shapes, auto candidate) {
    first = candidate(shapes.ladder.front());
    for (const auto &shape : shapes.ladder)
      add(ladder, candidate(shape));
    for (const auto &shape : shapes.beside)
      add(choices.beside, candidate(shape));
    for (const auto &shape : shapes.measured)
      add(choices.measured, candidate(shape));
  };
  int32_t dim = facts.columns(), valueDim = facts.valueColumns();
  auto ofWarps = [&](const WarpShape &shape) {
    return schedule(facts, target, shape.tileQ, shape.tileK,
                    oneRole(builder, shape));
  };
  WarpShapes warpShapes = warpShapesOf(dim, valueDim, facts.hasMaskHook);
  if (target.has(Feature::Wgmma)) {
    addShapes(roleShapesOf(dim, valueDim, facts.hasMaskHook,
                           facts.scoreWork.mufu == 1),
              [&](const RoleShape &shape) {
                // A look at each visit's sums costs 1 percent, but 3 to 5 where
                // a replica has a turn to catch.
                bool softmax = facts.normaliser == Normaliser::Softmax;
                return schedule(facts, target, shape.replicas * warpgroupRows,
                                shape.tileK, twoRoles(builder, facts, shape),
                                softmax && !shape.ring ? Redo::Visit
                                                       : Redo::Item,
                                shape.exp2Fma);
              });
    // Where no tile of warpgroups holds whole tokens, a head an item would read K
    // and V once for each of a group.
    for (const WarpShape &shape : warpShapes.beside)
      if (ScheduleAttr few = ofWarps(shape); few.getPack() > first.getPack())
        add(choices.beside, few);
  } else if (target.isGpu()) {
    addShapes(warpShapes, ofWarps);
  } else {
    first = schedule(facts, target, 64, 64, builder.getUnitAttr());
    add(ladder, first);
  }
  auto fits = [&](ScheduleAttr candidate) {
    return fitsRegisters(resourcesOf(facts, candidate), target);
  };
  // The checks name what is wrong when nothing is legal.
  if (ladder.empty()) {
    choices.ladder.push_back(first);
    return choices;
  }
  auto begin = llvm::find_if(ladder, fits);
  if (begin == ladder.end())
    --begin;
  choices.measured.append(ladder.begin(), begin);
  choices.ladder.append(begin, ladder.end());
  llvm::erase_if(choices.beside, [&](ScheduleAttr candidate) {
    bool out =
        !fits(candidate) || llvm::is_contained(choices.ladder, candidate);
    if (out)
      choices.measured.push_back(candidate);
    return out;
  });
  return choices;
}

ScheduleAttr attn::chooseSchedule(const ProblemFacts &facts,
                                  const TargetSpec &target) {
  return chooseSchedules(facts, target).ladder.front();
}
