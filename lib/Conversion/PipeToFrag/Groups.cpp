//===- Groups.cpp - warps that share out the keys of a block --------------===//
//
// With fewer rows than the warps hold (include/attn/Layout/KeyGroups.h) each group
// of warps runs the text over its own keys of every block and has a state (O, m, l)
// of its own; L1's state is what they make together.  Whoever needs that is
// preceded by one exchange through shared memory:
//
//   attn.finish %o, %m, %l
//     -> cta_sync; st_tile %O, %m, %l into the group's part; cta_sync
//        ld_tile of all parts, as row_c: a warp has a few whole rows
//        M = max m_g, w_g = 2^(c m_g - c M), l = sum w_g l_g, O = sum w_g O_g
//        cta_sync
//
// The parts lie over the rings of Q, K and V, which an item is done with by then;
// the barriers around keep them apart.
//
// A state without a maximum is added up.  Behind it tiles lie as in a merge kernel.
//
// What is a group's and what is whole follows from the ops: S and P have the
// columns of a group's keys, what finish gives is whole.
//
// Invariant: a group's reference m_g is the maximum of some scores of its keys, or
// -inf if it has seen none, so the group with M has l >= 1 and no weight exceeds 1.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;

/// One f32 each of m and l, in rows of whole chunks.
static constexpr int32_t rowWords = 4;

//===----------------------------------------------------------------------===//
// Who holds what
//===----------------------------------------------------------------------===//

void KernelLowering::findGroupValues(Block &body) {
  auto unite = [&](Value x, Value y) {
    classes.unionSets(x.getAsOpaquePointer(), y.getAsOpaquePointer());
  };
  SmallVector<Value> keys, joined;
  body.walk([&](Operation *op) {
    if (isa<QKOp>(op))
      keys.push_back(op->getResult(0));
    else if (isa<ApplyScoreOp, ApplyMaskOp, ExpOp, PackOp>(op))
      unite(op->getOperand(0), op->getResult(0));
    else if (isa<FinishOp, ApplySinkOp, TransformRowsOp>(op))
      llvm::append_range(joined, op->getResults());
  });
  auto lead = [&](ArrayRef<Value> seeds, llvm::DenseSet<void *> &leaders) {
    for (Value seed : seeds) {
      classes.insert(seed.getAsOpaquePointer());
      leaders.insert(classes.getLeaderValue(seed.getAsOpaquePointer()));
    }
  };
  lead(keys, keyLeaders);
  lead(joined, joinedLeaders);
}

bool KernelLowering::isIn(const llvm::DenseSet<void *> &leaders,
                          Value value) const {
  auto it = classes.findLeader(value.getAsOpaquePointer());
  return it != classes.member_end() && leaders.contains(*it);
}

LogicalResult KernelLowering::setGroups(pipe::RolesOp op) {
  if (!launched.empty() || role.unit != Unit::Mma)
    return success();
  ScheduleAttr of = *kernel.getSchedule();
  unsigned groups =
      layout::keyGroups(unsigned(of.getTileQ()), unsigned(role.warps));
  // A tile that the warps do not divide is refused by its layout.
  role.groups = int32_t(std::max(groups, 1u));
  int32_t keys = int32_t(groups * layout::leastKeys);
  if (groups > 1 && of.getTileK() % keys != 0)
    return op.emitOpError()
           << "has " << groups << " groups of warps that take a multiple of "
           << layout::leastKeys << " keys each but a block of "
           << of.getTileK();
  return success();
}

/// Number of the group that a thread is in; null if there is one.
Value KernelLowering::groupRank() {
  if (role.groups == 1)
    return {};
  if (!rankCache) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(prologueEnd);
    rankCache = frag::GroupRankOp::create(b, kernel.getLoc(), b.getI32Type(),
                                          b.getI32IntegerAttr(role.groups));
  }
  return rankCache;
}

/// First key of the group's columns of a tile that starts at k0.
Value KernelLowering::firstKey(Value k0, Value tile, Location loc) {
  if (role.groups == 1)
    return k0;
  Scalars s{b, loc};
  int32_t cols = cast<frag::RegType>(tile.getType()).getCols();
  return s.addPositions(k0, s.mul(groupRank(), s.i32(cols)));
}

//===----------------------------------------------------------------------===//
// The exchange
//===----------------------------------------------------------------------===//

/// Parts of a ring, one a group.
Value KernelLowering::groupRing(StringRef name, int32_t rows, int32_t cols,
                                int32_t swizzle) {
  Value &ring = groupRings[name];
  if (!ring) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(prologueEnd);
    Type f32 = b.getF32Type();
    auto type = frag::RingType::getChecked([&] { return kernel.emitError(); },
                                           b.getContext(), rows * role.groups,
                                           cols, f32, swizzle, /*slots=*/1);
    if (!type)
      return {};
    ring = frag::SmemOp::create(b, kernel.getLoc(), type, name, /*offset=*/-1,
                                /*overlay=*/true);
  }
  return ring;
}

FailureOr<KernelLowering::State>
KernelLowering::joinGroups(Value o, Value m, Value l, Value c, Location loc) {
  if (role.groups == 1 || isIn(joinedLeaders, o))
    return State{at(o), m ? complete(m, loc) : Value(),
                 l ? complete(l, loc) : Value()};
  State &made = joinedStates[o];
  if (made.o)
    return made;
  OpBuilder::InsertionGuard guard(b);
  // Once, for all who need it: behind the loops and before a branch.
  Value tile = at(o);
  Block *home = tile.getParentBlock();
  if (b.getInsertionBlock() != home)
    b.setInsertionPoint(
        home->findAncestorOpInBlock(*b.getInsertionBlock()->getParentOp()));
  auto own = cast<frag::RegType>(tile.getType());
  int32_t rows = own.getRows(), cols = own.getCols();
  Type f32 = b.getF32Type();
  frag::RegType tileType = regType(rows, cols, f32, Holding::Joined);
  frag::VecType vec = vecType(rows, f32, /*partial=*/false, Holding::Joined);
  Value ring = groupRing("groups", rows, cols, /*swizzle=*/128);
  Value rowRing =
      m ? groupRing("groups.rows", rows, rowWords, /*swizzle=*/0) : Value();
  if (!tileType || !vec || !ring || (m && !rowRing))
    return failure();

  SmallVector<Value> rowVectors;
  if (m)
    rowVectors = {complete(m, loc), complete(l, loc)};
  frag::CtaSyncOp::create(b, loc); // all have read the last block
  frag::StTileOp::create(b, loc, tile, ring, groupRank());
  for (auto [i, vector] : llvm::enumerate(rowVectors))
    frag::StTileOp::create(b, loc, vector, rowRing, groupRank(), uint32_t(i));
  frag::CtaSyncOp::create(b, loc);

  Scalars s{b, loc};
  SmallVector<Value> parts, inputs;
  for (int32_t g = 0; g < role.groups; ++g)
    parts.push_back(s.i32(g));
  for (unsigned i = 0; i < rowVectors.size(); ++i)
    for (Value part : parts)
      inputs.push_back(frag::LdTileOp::create(b, loc, vec, rowRing, part, i));
  ValueRange weights;
  if (m) {
    size_t count = parts.size();
    SmallVector<Type> types(2 + count, vec);
    ValueRange whole =
        maps(types, inputs, loc, [&](Scalars &s, ValueRange x, auto &yield) {
          weighStates(s, x.take_front(count), x.slice(count, count), c, yield);
        });
    made.m = whole[0];
    made.l = whole[1];
    weights = whole.drop_front(2);
  }
  for (auto [g, part] : llvm::enumerate(parts)) {
    SmallVector<Value> terms = {
        frag::LdTileOp::create(b, loc, tileType, ring, part)};
    if (m)
      terms.push_back(weights[g]);
    if (made.o)
      terms.push_back(made.o);
    bool first = !made.o;
    if (first && !m) {
      made.o = terms.front();
      continue;
    }
    made.o =
        map(tileType, terms, loc, [&](Scalars &s, ValueRange x, auto &yield) {
          if (!m)
            yield.push_back(s.addF(x[1], x[0]));
          else if (first)
            yield.push_back(s.mulF(x[0], x[1]));
          else
            yield.push_back(math::FmaOp::create(s.b, s.loc, x[0], x[1], x[2]));
        });
  }
  frag::CtaSyncOp::create(b, loc); // before the next item's copies
  return made;
}
