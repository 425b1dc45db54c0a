//===- PipeOps.cpp - verifiers of the pipe ops ----------------------------===//
//
// Local checks: an op against its types and the roles around it.  What needs
// the order of several ops (spans, balance, deadlock) is pipe-verify-schedule.
//
//   error: payload of 'pipe.wait' is f32 but the channel holds i32
//
// Invariant: slots and payloads have their channel's payload type.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Pipe/IR/Pipe.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace attn::pipe;

//===----------------------------------------------------------------------===//
// Channels and roles
//===----------------------------------------------------------------------===//

LogicalResult ChannelOp::verify() {
  if (getName().empty())
    return emitOpError("needs a name");
  if (getProducer().empty())
    return emitOpError("needs a producer role");
  if (getConsumers().empty())
    return emitOpError("needs a consumer role");
  llvm::StringSet<> names;
  for (Attribute consumer : getConsumers()) {
    StringRef role = cast<StringAttr>(consumer).getValue();
    if (!names.insert(role).second)
      return emitOpError("names consumer '") << role << "' twice";
  }
  ChannelType type = getResult().getType();
  int32_t initial = getInitial();
  if (initial != 0 && initial != type.getDepth())
    return emitOpError("has ")
           << initial << " initial tokens but its depth is " << type.getDepth();
  if (initial != 0 && !isa<WordsType>(type.getPayload()))
    return emitOpError("has initial tokens but holds ")
           << type.getPayload() << ", not words";
  return success();
}

int RolesOp::indexOf(StringRef name) {
  for (auto [i, attr] : llvm::enumerate(getRoles()))
    if (auto role = dyn_cast<RoleAttr>(attr))
      if (role.getName().getValue() == name)
        return int(i);
  return -1;
}

ParseResult RolesOp::parse(OpAsmParser &parser, OperationState &result) {
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
    RolesOp::ensureTerminator(*region, builder, result.location);
    return success();
  };
  if (parser.parseCommaSeparatedList(parseBody))
    return failure();
  return parser.parseOptionalAttrDictWithKeyword(result.attributes);
}

/// The implicit terminator is left out.
static bool hasValues(Block &block) {
  return !block.empty() && block.back().getNumOperands() != 0;
}

void RolesOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getRoles() << ' ';
  llvm::interleave(
      getBodies(),
      [&](Region &region) {
        if (region.getNumArguments())
          printer << '(' << region.getArgument(0) << ") ";
        printer.printRegion(region, /*printEntryBlockArgs=*/false,
                            hasValues(region.front()));
      },
      [&] { printer << ", "; });
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"roles"});
}

LogicalResult RolesOp::verify() {
  if (getRoles().empty())
    return emitOpError("needs a role");
  llvm::StringSet<> names;
  for (Attribute attr : getRoles()) {
    auto role = dyn_cast<RoleAttr>(attr);
    if (!role)
      return emitOpError("roles must be #pipe.role but one is ") << attr;
    if (!names.insert(role.getName().getValue()).second)
      return emitOpError("names role '")
             << role.getName().getValue() << "' twice";
  }
  if (getBodies().size() != getRoles().size())
    return emitOpError("has ") << getBodies().size() << " regions but "
                               << getRoles().size() << " roles";
  return success();
}

LogicalResult RolesOp::verifyRegions() {
  for (auto [i, region] : llvm::enumerate(getBodies())) {
    RoleAttr role = getRole(i);
    unsigned needed = role.getReplicas() > 1 ? 1 : 0;
    if (region.getNumArguments() != needed)
      return emitOpError("region of role ")
             << role.getName() << " has " << region.getNumArguments()
             << " arguments but a role of " << role.getReplicas()
             << " replicas has " << needed;
    if (needed && !region.getArgument(0).getType().isInteger(32))
      return emitOpError("rank of role ")
             << role.getName() << " is " << region.getArgument(0).getType()
             << " but must be i32";
    if (hasValues(region.front()))
      return emitOpError("role ") << role.getName() << " yields a value";
  }
  return success();
}

/// The role that `op` is in, if any.
static RoleAttr roleOf(Operation *op) {
  for (Region *region = op->getParentRegion(); region;
       region = region->getParentRegion())
    if (auto roles = dyn_cast<RolesOp>(region->getParentOp()))
      return roles.getRole(region->getRegionNumber());
  return {};
}

//===----------------------------------------------------------------------===//
// Issue and join
//===----------------------------------------------------------------------===//

ParseResult IssueOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<Agent> agent = symbolizeAgent(keyword);
  if (!agent)
    return parser.emitError(loc)
           << "agent '" << keyword
           << "' is not known (known: threads, cp_async, tma, mma)";
  MLIRContext *context = parser.getContext();
  result.addAttribute("agent", AgentAttr::get(context, *agent));
  Region *region = result.addRegion();
  if (parser.parseRegion(*region, /*arguments=*/{}) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  IssueOp::ensureTerminator(*region, parser.getBuilder(), result.location);
  // The value of the region is the value of the future.
  Type payload;
  if (hasValues(region->front()))
    payload = region->front().back().getOperand(0).getType();
  result.addTypes(FutureType::get(context, payload));
  return success();
}

void IssueOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyAgent(getAgent()) << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      hasValues(getBody().front()));
  printer.printOptionalAttrDict((*this)->getAttrs(), {"agent"});
}

LogicalResult IssueOp::verifyRegions() {
  Block &body = getBody().front();
  auto yield = cast<YieldOp>(body.back());
  if (yield.getValues().size() > 1)
    return emitOpError("region yields ")
           << yield.getValues().size() << " values but 1 is possible";
  Type payload = getFuture().getType().getPayload();
  Type yielded =
      yield.getValues().empty() ? Type() : yield.getValues()[0].getType();
  if (payload != yielded)
    return emitOpError("future is ")
           << getFuture().getType() << " but the region's is "
           << FutureType::get(getContext(), yielded);
  return success();
}

LogicalResult JoinOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> location,
                                       ValueRange operands, DictionaryAttr,
                                       OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  auto future = dyn_cast<FutureType>(operands[0].getType());
  if (!future)
    return failure(); // the operand's constraint says so
  if (future.getPayload())
    types.push_back(future.getPayload());
  types.push_back(DoneType::get(context));
  return success();
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// Words are sent and received whole.
static LogicalResult verifyNoWords(Operation *op, Type payload) {
  if (isa<WordsType>(payload))
    return op->emitOpError("takes a slot of ")
           << payload << " but words go through pipe.send and pipe.recv";
  return success();
}

LogicalResult AcquireOp::verify() {
  Type payload = getChannel().getType().getPayload();
  if (getSlot().getType().getPayload() != payload)
    return emitOpError("slot holds ") << getSlot().getType().getPayload()
                                      << " but the channel holds " << payload;
  return verifyNoWords(*this, payload);
}

LogicalResult CommitOp::verify() {
  for (Value future : getFutures())
    if (!future.getDefiningOp<IssueOp>())
      return emitOpError("waits for a future that is not an issue's");
  return success();
}

LogicalResult WaitOp::verify() {
  Type payload = getChannel().getType().getPayload();
  if (getPayload().getType() != payload)
    return emitOpError("payload is ")
           << getPayload().getType() << " but the channel holds " << payload;
  if (getSlot().getType().getPayload() != payload)
    return emitOpError("slot holds ") << getSlot().getType().getPayload()
                                      << " but the channel holds " << payload;
  return verifyNoWords(*this, payload);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// Words of one lane, or 0 with an error.
static int32_t wordsOf(Operation *op, ChannelType channel) {
  auto words = dyn_cast<WordsType>(channel.getPayload());
  if (words)
    return words.getCount();
  op->emitOpError("needs a channel of words but it holds ")
      << channel.getPayload();
  return 0;
}

LogicalResult SendOp::verify() {
  ChannelType channel = getChannel().getType();
  int32_t count = wordsOf(*this, channel);
  if (!count)
    return failure();
  if (int32_t(getWords().size()) != count)
    return emitOpError("sends ")
           << getWords().size() << " words but the channel holds " << count;
  RoleAttr role = roleOf(*this);
  if (role && role.getReplicas() != channel.getLanes())
    return emitOpError("channel has ")
           << channel.getLanes() << " lanes but its producer has "
           << role.getReplicas() << " replicas";
  return success();
}

LogicalResult RecvOp::verify() {
  return success(wordsOf(*this, getChannel().getType()) != 0);
}

LogicalResult RecvOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> location,
                                       ValueRange operands, DictionaryAttr,
                                       OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  auto channel = dyn_cast<ChannelType>(operands[0].getType());
  auto words =
      channel ? dyn_cast<WordsType>(channel.getPayload()) : WordsType();
  if (words)
    types.append(words.getCount() * channel.getLanes(),
                 IntegerType::get(context, 32));
  return success();
}

LogicalResult GatherOp::verify() {
  RoleAttr role = roleOf(*this);
  if (role && role.getReplicas() != int32_t(getReplicas()))
    return emitOpError("gathers from ")
           << int32_t(getReplicas()) << " replicas but the role has "
           << role.getReplicas();
  if (getValues().empty())
    return emitOpError("needs at least 1 value");
  return success();
}

LogicalResult GatherOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  GatherOp::Adaptor adaptor(operands, attributes, properties, regions);
  int32_t replicas = int32_t(adaptor.getReplicas());
  if (replicas < 1 || replicas > 32)
    return emitOptionalError(location, "gathers from ", replicas,
                             " replicas but 1 to 32 are possible");
  for (Value value : operands)
    types.append(replicas, value.getType());
  return success();
}

/// Turns go round among several.
static LogicalResult verifyTurn(Operation *op) {
  RoleAttr role = roleOf(op);
  if (role && role.getReplicas() < 2)
    return op->emitOpError("needs 2 replicas to take turns but role ")
           << role.getName() << " has " << role.getReplicas();
  return success();
}

LogicalResult TakeTurnOp::verify() { return verifyTurn(*this); }
LogicalResult PassTurnOp::verify() { return verifyTurn(*this); }

#define GET_OP_CLASSES
#include "attn/Dialect/Pipe/PipeOps.cpp.inc"
