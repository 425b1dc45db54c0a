//===- TimingCost.cpp - the instructions of an op -------------------------===//
//
// From an op and the registers that its layout gives a thread:
//
//   frag.map { fma, exp2 } over 64 registers   64 x (1 fma, 1 mufu)
//   frag.pack of 64 registers                  32 x 1 convert
//   frag.reduce_row max row                    62 x 1 alu, then 4 shuffles
//
// What depends on the row alone is there once a row, and what is uniform once.
// Negation and absolute value are operand modifiers and cost nothing.
//
//===----------------------------------------------------------------------===//

#include "TimingState.h"
#include "attn/Analysis/ScalarWork.h"
#include "attn/Dialect/Frag/IR/Dependences.h"
#include "attn/Target/Exp2.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;
using namespace attn::sim;

static void add(std::vector<Instr> &out, Instr instr, unsigned count = 1) {
  out.insert(out.end(), count, instr);
}

/// One op of arith, math or frag over single values.
void CostModel::scalar(Operation *op, std::vector<Instr> &out,
                       llvm::function_ref<bool(mlir::Value)> uniform) const {
  if (isa<frag::ParamOp, frag::OpaqueOp, frag::PosOp>(op))
    return;
  if (isa<frag::LoadScalarOp>(op)) {
    add(out, plain(), 2);
    return add(out, memory(0, sm.l2Latency));
  }
  if (isa<frag::OffsetOp>(op))
    return add(out, alu(), 2);
  if (isa<frag::NextOp>(op))
    return add(out, alu(), 3);
  ScalarWork work = scalarWorkOf(op, uniform);
  add(out, fma(), work.fma);
  add(out, mufu(), work.mufu);
  add(out, alu(), work.alu);
  add(out, convert(), work.convert);
}

/// What no visit changes is moved in front of the loop by LLVM.
static bool isInvariant(Operation *op, frag::MapOp map,
                        LoopLikeOpInterface loop) {
  return loop && llvm::all_of(op->getOperands(), [&](mlir::Value value) {
           Operation *source = value.getDefiningOp();
           if (source && source->getBlock() == &map.getBody().front())
             return isInvariant(source, map, loop);
           return loop.isDefinedOutsideOfLoop(value);
         });
}

void CostModel::decodeMap(frag::MapOp map, Stream &out) {
  Type tile, vec;
  SmallVector<Type> types(map.getInputs().getTypes());
  llvm::append_range(types, map.getResultTypes());
  for (Type type : types)
    (isa<frag::RegType>(type) ? tile : vec) = type;
  layout::Layout layout = tile ? frag::layoutOf(cast<frag::RegType>(tile))
                               : frag::layoutOf(cast<frag::VecType>(vec));
  unsigned rows = layout.rowsPerThread();
  out.elements = tile ? layout.registersPerThread() : rows;
  frag::Dependences depends(map);
  auto loop = map->getParentOfType<LoopLikeOpInterface>();
  for (Operation &op : map.getBody().front().without_terminator()) {
    if (depends.isRampPosition(&op) || isInvariant(&op, map, loop))
      continue;
    std::vector<Instr> instrs;
    scalar(&op, instrs, [&](mlir::Value value) { return !depends.of(value); });
    unsigned of = depends.of(&op);
    if (of & (frag::Dependence::Element | frag::Dependence::Col) ||
        (of && !tile)) {
      llvm::append_range(out.steps, instrs);
      if (isa<math::Exp2Op>(op)) {
        add(out.movedSteps, fma(), exp2fma::fmaOps);
        add(out.movedSteps, alu(), exp2fma::aluOps);
      } else {
        llvm::append_range(out.movedSteps, instrs);
      }
    } else
      for (unsigned i = 0; i < (of ? rows : 1); ++i)
        llvm::append_range(out.head, instrs);
  }
  std::optional<uint32_t> share = map.getExp2Fma();
  if (!share)
    out.movedSteps.clear();
  for (unsigned reg = 0; share && reg < out.elements; ++reg)
    out.moved.push_back(exp2fma::isOnFma(layout.colSlot(reg), *share));
}

/// The region of a rewrite, for each of `out.elements`: what depends on the row
/// alone once, and a read of shared memory for each element of another place.
void CostModel::decodeRow(Block &body, Stream &out) const {
  llvm::DenseSet<mlir::Value> ofElement;
  ofElement.insert(body.getArgument(1));
  for (Operation &op : body.without_terminator()) {
    auto read = dyn_cast<frag::ElementOp>(op);
    bool depends = read || llvm::any_of(op.getOperands(), [&](mlir::Value v) {
                     return ofElement.contains(v);
                   });
    if (depends)
      ofElement.insert(op.result_begin(), op.result_end());
    std::vector<Instr> &steps = depends ? out.steps : out.head;
    if (!read) {
      scalar(&op, steps, [](mlir::Value) { return false; });
    } else if (read.getIndex() != body.getArgument(1)) {
      add(steps, alu(), 6);
      add(steps, memory(4 * layout::warpSize, sm.sharedLatency));
    }
  }
}

Stream CostModel::decode(Operation *op) {
  Stream out;
  auto layoutOf = [](Type type) {
    auto reg = dyn_cast<frag::RegType>(type);
    return reg ? frag::layoutOf(reg)
               : frag::layoutOf(cast<frag::VecType>(type));
  };
  // Global memory: neighbours in a row go together, at most 16 bytes a lane.
  auto access = [&](frag::RegType type, double latency) {
    layout::Layout layout = layoutOf(type);
    unsigned bytes = frag::bytesOf(type.getElement());
    unsigned run = layout.getName() == "quad16" ? 8 : 2;
    run = std::min(run, 16 / bytes);
    out.elements = layout.registersPerThread() / run;
    out.steps = {plain(),
                 memory(double(run) * bytes * layout::warpSize, latency)};
    add(out.head, alu(), 2 * layout.rowsPerThread());
  };
  // Shared memory: neighbours in a row again, a vector by one lane a row.
  auto exchange = [&](Type type, double latency) {
    layout::Layout layout = layoutOf(type);
    bool tile = isa<frag::RegType>(type);
    unsigned run = !tile ? 1 : layout.getName() == "row_c" ? 4 : 2;
    out.elements =
        tile ? layout.registersPerThread() / run : layout.rowsPerThread();
    out.steps = {memory(double(run) * 4 * layout::warpSize, latency)};
    add(out.head, alu(), 4);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<frag::MapOp>([&](auto map) { decodeMap(map, out); })
      .Case<frag::RewriteTileOp>([&](auto rewrite) {
        out.elements =
            layoutOf(rewrite.getTile().getType()).registersPerThread();
        if (rewrite.getScratch())
          out.steps = {memory(4 * layout::warpSize, 0)};
        decodeRow(rewrite.getBody().front(), out);
      })
      .Case<frag::RewriteRowsOp>([&](auto rewrite) {
        // Of one row.
        frag::RingType ring = rewrite.getRing().getType();
        out.elements = llvm::divideCeil(ring.getCols(), layout::warpSize);
        out.steps = {memory(2 * layout::warpSize, sm.sharedLatency), convert(),
                     memory(2 * layout::warpSize, 0)};
        decodeRow(rewrite.getBody().front(), out);
      })
      .Case<frag::SplatOp>([&](auto splat) {
        Type type = splat.getResult().getType();
        layout::Layout layout = layoutOf(type);
        out.elements = isa<frag::RegType>(type)
                           ? layout.registersPerThread() / 2
                           : layout.rowsPerThread();
        out.steps = {plain()};
      })
      .Case<frag::KeepColumnsOp>([&](auto keep) {
        layout::Layout layout = layoutOf(keep.getTile().getType());
        unsigned limits = keep.getLo() ? 2 : 1;
        add(out.head, alu(), limits * layout.rowsPerThread());
        out.elements = layout.registersPerThread();
        out.steps.assign(limits + 1, alu());
      })
      .Case<frag::ReduceRowOp>([&](auto reduce) {
        layout::Layout layout = layoutOf(reduce.getTile().getType());
        unsigned rows = layout.rowsPerThread();
        Instr one = reduce.getKind() == frag::ReduceKind::Max ? alu() : fma();
        out.elements = layout.registersPerThread();
        out.steps = {one};
        out.drain = 2 * one.latency; // four chains a row
        if (reduce.getScope() == frag::ReduceScope::Row)
          for (size_t i = 0; i < layout.rowLaneMasks().size(); ++i) {
            add(out.tail, shuffle(), rows);
            add(out.tail, one, rows);
          }
        out.width = rows;
      })
      .Case<frag::ReduceQuadOp>([&](auto reduce) {
        layout::Layout layout = layoutOf(reduce.getVec().getType());
        for (size_t i = 0; i < layout.rowLaneMasks().size(); ++i) {
          add(out.tail, shuffle(), layout.rowsPerThread());
          add(out.tail, fma(), layout.rowsPerThread());
        }
        out.width = layout.rowsPerThread();
      })
      .Case<frag::PackOp>([&](auto pack) {
        out.elements =
            layoutOf(pack.getTile().getType()).registersPerThread() / 2;
        out.steps = {convert()};
      })
      .Case<frag::QuadTransposeOp>([&](auto transpose) {
        // Two steps of a butterfly: half of the words cross in each.
        out.elements =
            layoutOf(transpose.getTile().getType()).registersPerThread() / 4;
        out.steps = {alu(), shuffle(), alu(), alu(), alu()};
      })
      .Case<frag::LoadOp>(
          [&](auto load) { access(load.getResult().getType(), sm.l2Latency); })
      .Case<frag::StoreOp>(
          [&](auto store) { access(store.getTile().getType(), 0); })
      .Case<frag::LoadVecOp>([&](auto load) {
        out.elements = layoutOf(load.getResult().getType()).rowsPerThread();
        out.steps = {alu(), alu(), memory(0, sm.l2Latency)};
      })
      .Case<frag::StoreVecOp>([&](auto store) {
        out.elements = layoutOf(store.getVec().getType()).rowsPerThread();
        out.steps = {alu(), alu(), memory(0, 0)};
      })
      .Case<frag::StTileOp>(
          [&](auto store) { exchange(store.getValue().getType(), 0); })
      .Case<frag::LdTileOp>([&](auto load) {
        exchange(load.getResult().getType(), sm.sharedLatency);
      })
      .Case<frag::LdmatrixOp>([&](auto load) {
        frag::RegType type = load.getResult().getType();
        out.elements = layoutOf(type).registersPerThread() *
                       frag::bytesOf(type.getElement()) / 16;
        out.steps = {memory(512, sm.sharedLatency)};
      })
      .Case<frag::AnyOp>([&](auto any) {
        add(out.head, alu(), layoutOf(any.getVec().getType()).rowsPerThread());
        add(out.head, {Unit::Alu, sm.alu, 3 * sm.aluLatency}); // the vote
      })
      .Case<frag::MbarWaitOp>([&](auto wait) {
        for (int32_t i = 0; i < wait.getBars().getType().getLanes(); ++i) {
          add(out.head, plain(), 2);
          add(out.head, memory(0, 0));
        }
      })
      .Case<frag::MbarArriveOp, frag::MbarArriveOneOp, frag::MbarExpectOp>(
          [&](auto) {
            add(out.head, plain(), 2);
            add(out.head, memory(0, 0));
          })
      .Case<frag::LdWordsOp>([&](auto load) {
        unsigned words = load.getValues().size();
        add(out.head, plain());
        add(out.head, memory(0, sm.sharedLatency), (words + 3) / 4);
      })
      .Case<frag::StWordsOp>([&](auto store) {
        add(out.head, plain());
        add(out.head, memory(0, 0), (store.getValues().size() + 3) / 4);
      })
      .Case<frag::TmaLoadOp>([&](auto) {
        add(out.head, plain(), 6);
        add(out.head, memory(0, 0));
      })
      .Case<frag::NextWorkOp>([&](auto) {
        add(out.head, plain(), 2);
        add(out.head, memory(0, sm.atomicLatency));
        add(out.head, shuffle());
      })
      .Case<frag::NextWorkDoneOp>([&](auto) {
        add(out.head, plain(), 2);
        add(out.head, memory(0, 0));
      })
      .Case<frag::ViewRowsOp, frag::ElectOp, frag::CtaIdOp, frag::CtaCountOp,
            frag::GroupRankOp>([&](auto) { add(out.head, plain(), 2); })
      .Case<frag::RoleDispatchOp>([&](auto) {
        add(out.head, alu(), 2);
        add(out.head, shuffle());
      })
      .Case<frag::SmemOp, frag::WordsOp, frag::BarsOp, frag::TmapOp,
            frag::WgmmaOp, frag::MmaOp, frag::CpAsyncOp, frag::ZeroRowsOp,
            frag::YieldOp, frag::ReturnOp>([&](auto) {})
      .Default([&](Operation *other) {
        if (other->getNumResults() && other->getDialect() &&
            (other->getDialect()->getNamespace() != "frag" ||
             isa<frag::ParamOp, frag::PosOp, frag::OpaqueOp, frag::NextOp,
                 frag::OffsetOp, frag::LoadScalarOp>(other)))
          return scalar(other, out.head, [](mlir::Value) { return false; });
        add(out.head, plain());
      });
  return out;
}

const Stream &CostModel::of(Operation *op) {
  auto [it, fresh] = known.emplace(op, Stream());
  if (fresh)
    it->second = decode(op);
  return it->second;
}
