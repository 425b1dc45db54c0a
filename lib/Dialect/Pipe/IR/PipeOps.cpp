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
  return success();
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

LogicalResult AcquireOp::verify() {
  Type payload = getChannel().getType().getPayload();
  if (getSlot().getType().getPayload() != payload)
    return emitOpError("slot holds ") << getSlot().getType().getPayload()
                                      << " but the channel holds " << payload;
  return success();
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
  return success();
}

#define GET_OP_CLASSES
#include "attn/Dialect/Pipe/PipeOps.cpp.inc"
