//===- Choose.cpp - default schedules -------------------------------------===//
//
// One function a family of targets.  The numbers:
//
//   sm_80   a warp owns 16 rows, so 8 warps make tile_q 128; with tile_k 64 the
//           tiles of S, P, O and Q take 144 registers a thread at head dim 128
//           and two slots of K and of V take 98304 bytes with Q
//           a frozen reference saves the maximum and the rescale of most
//           blocks, a tenth of the time of a long causal prefill
//   wgmma   a warpgroup owns 64 rows; with the registers of S, P and O it holds
//           n keys at head dim d: 2 warpgroups of 128 keys up to d = 128, of 64
//           or 80 at 256; at d = 64 a third one or a fourth one fits, which
//           hides the softmax of the others; masked blocks want short tiles.
//           A second buffer of Q, where there is room, hides the start of an item
//   cpu     64 x 64: at head dim 128 Q, K, V, O and S are 144 KiB of f32, which
//           a core's second-level cache holds
//
// Invariant: what is returned passes checkSchedule for the same facts.
//
//===----------------------------------------------------------------------===//

#include "Wgmma.h"
#include "attn/Dialect/Pipe/IR/Pipe.h"
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
  facts.group = kernel.getGroup();
  return true;
}

/// Packing reads K and V once for a whole group of heads; a tile holds whole
/// tokens only.
static int32_t choosePack(int32_t group, int32_t tileQ) {
  return group <= 16 && tileQ % group == 0 ? group : 1;
}

static DictionaryAttr
dictOf(Builder &builder,
       std::initializer_list<std::pair<StringRef, Attribute>> list) {
  SmallVector<NamedAttribute> entries;
  for (auto &[name, value] : list)
    entries.push_back(builder.getNamedAttr(name, value));
  return builder.getDictionaryAttr(entries);
}

static pipe::ScheduleAttr oneRole(Builder &builder, int32_t warps) {
  MLIRContext *context = builder.getContext();
  auto dict = [&](std::initializer_list<std::pair<StringRef, Attribute>> list) {
    return dictOf(builder, list);
  };
  auto text = [&](StringRef value) { return builder.getStringAttr(value); };
  auto number = [&](int32_t value) { return builder.getI32IntegerAttr(value); };
  Attribute role = pipe::RoleAttr::get(context, text("all"), warps,
                                       /*replicas=*/1, /*regs=*/0);
  return pipe::ScheduleAttr::get(
      context, builder.getArrayAttr({role}),
      /*place=*/dict({{"default", text("all")}}),
      /*agents=*/
      dict({{"load_kv", text("cp_async")}, {"load_query", text("cp_async")}}),
      /*atoms=*/
      dict({{"pv", text("mma.m16n8k16")}, {"qk", text("mma.m16n8k16")}}),
      /*channels=*/dict({{"k", number(2)}, {"q", number(1)}, {"v", number(2)}}),
      /*skew=*/dict({{"load_kv", number(-1)}}),
      /*handover=*/text("none"), /*persist=*/text("static"), /*unroll=*/1);
}

namespace {
/// Shape of a schedule with roles.
struct RoleShape {
  int32_t replicas; ///< computing warpgroups
  int32_t tileK;
  int32_t queryDepth, depth; ///< slots of Q, of K and V
  bool ring;                 ///< warpgroups issue in turn
};
} // namespace

static RoleShape roleShapeOf(const ProblemFacts &facts) {
  int32_t dim = std::max(facts.query.getDim(), facts.value.getDim());
  bool masked = facts.hasMaskHook;
  if (dim <= 64)
    return masked ? RoleShape{4, 64, 2, 4, true}
                  : RoleShape{3, 128, 2, 2, true};
  if (dim <= 128)
    return {2, 128, 2, 2, false};
  if (dim <= 192 && facts.value.getDim() <= 128)
    return {2, 128, 1, 2, false}; // two slots of Q would not fit
  return {2, masked ? 64 : 80, 1, 2, false};
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
      dictOf(builder, {{"pv", text(wgmmaAtom(facts.value.getDim()))},
                       {"qk", text(wgmmaAtom(shape.tileK))}}),
      /*channels=*/
      dictOf(builder, {{"k", number(shape.depth)},
                       {"q", number(shape.queryDepth)},
                       {"v", number(shape.depth)},
                       {"verdict", number(3)},
                       {"work", number(2)}}),
      /*skew=*/dictOf(builder, {{"pv", number(1)}}),
      /*handover=*/text(shape.ring ? "ring" : "none"),
      /*persist=*/text("dynamic"), /*unroll=*/1);
}

ScheduleAttr attn::chooseSchedule(const ProblemFacts &facts,
                                  const TargetSpec &target) {
  MLIRContext *context = facts.query.getContext();
  Builder builder(context);
  bool softmax = facts.normaliser == Normaliser::Softmax;
  bool gpu = target.isGpu(), roles = target.has(Feature::Wgmma);
  int32_t tileQ = gpu ? 128 : 64, tileK = 64;
  Attribute pipe = builder.getUnitAttr();
  if (roles) {
    RoleShape shape = roleShapeOf(facts);
    tileQ = shape.replicas * warpgroupRows;
    tileK = shape.tileK;
    pipe = twoRoles(builder, facts, shape);
  } else if (gpu) {
    pipe = oneRole(builder, tileQ / 16);
  }
  Type element = facts.query.getElement();
  // Without room above the check's limit an f16 product overflows first, so the
  // test of O alone decides; 126 is the largest limit.
  int32_t limit = element.isF16() ? 126 : 64;
  return ScheduleAttr::get(
      context, tileQ, tileK, choosePack(facts.group, tileQ),
      KVOrder::Descending,
      gpu && softmax ? SoftmaxKind::Frozen : SoftmaxKind::Exact, limit,
      /*fold_scale=*/softmax && !facts.hasScoreHook,
      /*p_type=*/gpu ? element : builder.getF32Type(),
      builder.getStringAttr(roles ? "zero_rows" : "zero_fill"),
      builder.getStringAttr("kernel"),
      builder.getStringAttr(roles ? "quad_transpose" : "direct"), pipe);
}
