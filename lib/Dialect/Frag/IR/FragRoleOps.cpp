//===- FragRoleOps.cpp - roles, barriers, words ---------------------------===//
//
// Text and checks of the ops that split a CTA into roles and of those by which
// roles talk to each other:
//
//   frag.role_dispatch [#frag.role<"load", ...>, #frag.role<"compute", ...>] {
//     frag.set_registers dec 40 ...
//   }, (%rank) {
//     frag.set_registers inc 232 ...
//   }
//
// Invariant: checks are local to an op and its types.  What needs the order of
// several ops (phases, counts, who arrives) is left to frag-verify and the
// simulator, so that a kernel with such a fault can still be written down.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Frag/IR/Frag.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace attn::frag;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

LogicalResult RoleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringAttr name, int32_t firstWarp,
                               int32_t warps, int32_t active,
                               int32_t replicas) {
  if (name.getValue().empty())
    return emitError() << "role needs a name";
  if (firstWarp < 0 || warps < 1 || replicas < 1 || firstWarp > 31 ||
      warps > 32 || replicas > 32 || firstWarp + warps * replicas > 32)
    return emitError() << "role " << name << " has " << replicas << " times "
                       << warps << " warps from " << firstWarp
                       << " on but a block has 32 warps";
  if (active < 1 || active > warps)
    return emitError() << "role " << name << " has " << active
                       << " active warps of " << warps;
  return success();
}

int32_t attn::frag::launchRegisters(int32_t threads) {
  constexpr int32_t fileRegisters = 65536, most = 255, granularity = 8;
  if (threads <= 0)
    return 0;
  return std::min(most, fileRegisters / threads / granularity * granularity);
}

ParseResult RoleDispatchOp::parse(OpAsmParser &parser, OperationState &result) {
  ArrayAttr roles;
  if (parser.parseAttribute(roles, "roles", result.attributes))
    return failure();
  Builder &builder = parser.getBuilder();
  auto parseBody = [&]() -> ParseResult {
    SmallVector<OpAsmParser::Argument> args;
    if (succeeded(parser.parseOptionalLParen())) {
      OpAsmParser::Argument &rank = args.emplace_back();
      rank.type = builder.getI32Type();
      if (parser.parseArgument(rank) || parser.parseRParen())
        return failure();
    }
    Region *region = result.addRegion();
    if (parser.parseRegion(*region, args))
      return failure();
    RoleDispatchOp::ensureTerminator(*region, builder, result.location);
    return success();
  };
  if (parser.parseCommaSeparatedList(parseBody))
    return failure();
  return parser.parseOptionalAttrDictWithKeyword(result.attributes);
}

void RoleDispatchOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getRoles() << ' ';
  llvm::interleave(
      getBodies(),
      [&](Region &region) {
        if (region.getNumArguments())
          printer << '(' << region.getArgument(0) << ") ";
        bool values = region.front().back().getNumOperands() != 0;
        printer.printRegion(region, /*printEntryBlockArgs=*/false, values);
      },
      [&] { printer << ", "; });
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"roles"});
}

LogicalResult RoleDispatchOp::verify() {
  if (getRoles().empty())
    return emitOpError() << "needs a role";
  llvm::StringSet<> names;
  SmallVector<RoleAttr> seen;
  for (Attribute attr : getRoles()) {
    auto role = dyn_cast<RoleAttr>(attr);
    if (!role)
      return emitOpError() << "roles must be #frag.role but one is " << attr;
    if (!names.insert(role.getName().getValue()).second)
      return emitOpError() << "names role " << role.getName() << " twice";
    for (RoleAttr other : seen)
      if (role.getFirstWarp() < other.getEndWarp() &&
          other.getFirstWarp() < role.getEndWarp())
        return emitOpError()
               << "role " << role.getName() << " has warps "
               << role.getFirstWarp() << " to " << role.getEndWarp() - 1
               << " and role " << other.getName() << " warps "
               << other.getFirstWarp() << " to " << other.getEndWarp() - 1;
    seen.push_back(role);
  }
  if (getBodies().size() != getRoles().size())
    return emitOpError() << "has " << getBodies().size() << " regions but "
                         << getRoles().size() << " roles";
  auto kernel = dyn_cast<KernelOp>((*this)->getParentOp());
  if (!kernel || !isa_and_nonnull<ReturnOp>((*this)->getNextNode()))
    return emitOpError() << "must be the last op of a kernel";
  int32_t warps = int32_t(kernel.getThreads()) / 32;
  for (RoleAttr role : seen)
    if (role.getEndWarp() > warps)
      return emitOpError() << "role " << role.getName() << " ends at warp "
                           << role.getEndWarp() << " but the kernel has "
                           << warps;
  return success();
}

LogicalResult RoleDispatchOp::verifyRegions() {
  auto kernel = cast<KernelOp>((*this)->getParentOp());
  int32_t threads = int32_t(kernel.getThreads());
  int64_t have = int64_t(launchRegisters(threads)) * threads;
  int64_t total = have;
  for (auto [i, region] : llvm::enumerate(getBodies())) {
    RoleAttr role = getRole(i);
    unsigned needed = role.getReplicas() > 1 ? 1 : 0;
    if (region.getNumArguments() != needed)
      return emitOpError() << "region of role " << role.getName() << " has "
                           << region.getNumArguments()
                           << " arguments but a role of " << role.getReplicas()
                           << " replicas has " << needed;
    if (needed && !region.getArgument(0).getType().isInteger(32))
      return emitOpError() << "rank of role " << role.getName() << " is "
                           << region.getArgument(0).getType()
                           << " but must be i32";
    if (region.front().back().getNumOperands())
      return emitOpError() << "role " << role.getName() << " yields a value";
    // What every warp of the role changes about its registers.
    if (auto set = dyn_cast<SetRegistersOp>(region.front().front()))
      total += (int64_t(int32_t(set.getCount())) - launchRegisters(threads)) *
               32 * role.getWarps() * role.getReplicas();
  }
  if (total > have)
    return emitOpError() << "roles take " << total
                         << " registers but the launch gives " << have;
  return success();
}

LogicalResult SetRegistersOp::verify() {
  int32_t count = int32_t(getCount());
  if (count < 24 || count > 256 || count % 8)
    return emitOpError() << "takes a multiple of 8 from 24 to 256 but has "
                         << count;
  auto dispatch = dyn_cast<RoleDispatchOp>((*this)->getParentOp());
  if (!dispatch || &(*this)->getBlock()->front() != getOperation())
    return emitOpError() << "must be the first op of a role";
  RoleAttr role =
      dispatch.getRole((*this)->getParentRegion()->getRegionNumber());
  if (role.getFirstWarp() % 4 || role.getWarps() % 4)
    return emitOpError() << "acts on whole warpgroups but role "
                         << role.getName() << " has " << role.getWarps()
                         << " warps from " << role.getFirstWarp() << " on";
  return success();
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

LogicalResult BarsOp::verify() {
  int32_t count = int32_t(getCount());
  // The hardware's counter has 20 bits.
  if (count < 1 || count >= 1 << 20)
    return emitOpError() << "needs 1 to " << (1 << 20) - 1
                         << " arrivals but has " << count;
  return success();
}

LogicalResult InitOp::verify() {
  if (getStorage().empty())
    return emitOpError() << "needs words or barriers";
  for (Value value : getStorage())
    if (!value.getDefiningOp<WordsOp>() && !value.getDefiningOp<BarsOp>())
      return emitOpError() << "storage does not come from frag.words or "
                              "frag.bars";
  if ((*this)->getParentOfType<RoleDispatchOp>())
    return emitOpError() << "holds a CTA barrier and must not be in a role";
  return success();
}

/// One thread, or every lane would do it.
static LogicalResult verifyElected(Operation *op) {
  if (!op->getParentOfType<ElectOp>())
    return op->emitOpError() << "is for one thread and must be in frag.elect";
  return success();
}

static LogicalResult verifyLane(Operation *op, BarsType bars, bool lane) {
  if (lane == (bars.getLanes() > 1))
    return success();
  return op->emitOpError() << "barriers have " << bars.getLanes() << " lanes"
                           << (lane ? " and take no lane" : " and need a lane");
}

LogicalResult MbarArriveOp::verify() {
  if ((*this)->getParentOfType<ElectOp>())
    return emitOpError() << "arrives once a warp and must not be in frag.elect";
  return verifyLane(*this, getBars().getType(), bool(getLane()));
}

LogicalResult MbarArriveOneOp::verify() {
  if (failed(verifyElected(*this)))
    return failure();
  return verifyLane(*this, getBars().getType(), bool(getLane()));
}

LogicalResult ClusterSyncOp::verify() {
  if ((*this)->getParentOfType<ElectOp>())
    return emitOpError() << "is for whole warps and must not be in frag.elect";
  return success();
}

LogicalResult MbarExpectOp::verify() {
  // The counter of a phase's bytes has 20 bits.
  if (int32_t(getBytes()) < 0 || int32_t(getBytes()) >= 1 << 20)
    return emitOpError() << "expects " << int32_t(getBytes())
                         << " bytes but a phase counts 0 to " << (1 << 20) - 1;
  if (getBars().getType().getLanes() != 1)
    return emitOpError() << "barriers have " << getBars().getType().getLanes()
                         << " lanes but bytes come on one";
  return verifyElected(*this);
}

/// Ids 1 to 15; 0 is the CTA's.
static LogicalResult verifyNamed(Operation *op, int32_t id, int32_t threads) {
  if (id < 1 || id > 15)
    return op->emitOpError() << "barrier " << id << " is not in 1 to 15";
  auto kernel = op->getParentOfType<KernelOp>();
  int32_t most = kernel ? int32_t(kernel.getThreads()) : 1024;
  if (threads < 32 || threads % 32 || threads > most)
    return op->emitOpError() << "barrier takes a multiple of 32 threads up to "
                             << most << " but has " << threads;
  if (op->getParentOfType<ElectOp>())
    return op->emitOpError() << "counts whole warps and must not be in "
                                "frag.elect";
  return success();
}

LogicalResult BarrierSyncOp::verify() {
  return verifyNamed(*this, int32_t(getId()), int32_t(getThreads()));
}

LogicalResult BarrierArriveOp::verify() {
  return verifyNamed(*this, int32_t(getId()), int32_t(getThreads()));
}

//===----------------------------------------------------------------------===//
// Words and the work queue
//===----------------------------------------------------------------------===//

LogicalResult LdWordsOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  LdWordsOp::Adaptor adaptor(operands, attributes, properties, regions);
  auto words = dyn_cast<WordsType>(operands[0].getType());
  int32_t count = int32_t(adaptor.getCount());
  if (!words || count < 1 || count > words.getCount())
    return emitOptionalError(location, "reads ", count, " words but there are ",
                             words ? words.getCount() : 0);
  types.append(count * words.getLanes(), IntegerType::get(context, 32));
  return success();
}

LogicalResult LdWordsOp::verify() {
  int32_t lanes = getWords().getType().getLanes();
  if (int64_t(getNumResults()) != int64_t(int32_t(getCount())) * lanes)
    return emitOpError() << "has " << getNumResults() << " results but reads "
                         << int32_t(getCount()) << " words of " << lanes
                         << " lanes";
  return success();
}

LogicalResult StWordsOp::verify() {
  WordsType words = getWords().getType();
  if (getValues().empty() || int32_t(getValues().size()) > words.getCount())
    return emitOpError() << "writes " << getValues().size()
                         << " words but a lane has " << words.getCount();
  if (getLane() && words.getLanes() == 1)
    return emitOpError() << "words have 1 lane and take no lane";
  return success();
}

static LogicalResult verifyQueue(Operation *op, PtrType queue) {
  if (!queue.getElement().isInteger(32))
    return op->emitOpError()
           << "queue is words of i32, not " << queue.getElement();
  if (op->getParentOfType<ElectOp>())
    return op->emitOpError() << "is for a whole warp and must not be in "
                                "frag.elect";
  return success();
}

LogicalResult NextWorkOp::verify() {
  return verifyQueue(*this, getQueue().getType());
}

LogicalResult NextWorkDoneOp::verify() {
  return verifyQueue(*this, getQueue().getType());
}
