//===- PipeDialect.cpp - the dialect, its attributes and its types --------===//
//
// Registration, and the checks on roles, schedules and channel types.
//
//   #pipe.role<"all", warps = 8, replicas = 1, regs = 0>
//
// Invariant: an attribute that verifies needs no further check of its numbers.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Pipe/IR/Pipe.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn::pipe;

#include "attn/Dialect/Pipe/PipeDialect.cpp.inc"
#include "attn/Dialect/Pipe/PipeEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Pipe/PipeAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "attn/Dialect/Pipe/PipeTypes.cpp.inc"

void PipeDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attn/Dialect/Pipe/PipeAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "attn/Dialect/Pipe/PipeTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "attn/Dialect/Pipe/PipeOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Roles and schedules
//===----------------------------------------------------------------------===//

LogicalResult RoleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringAttr name, int32_t warps, int32_t replicas,
                               int32_t regs) {
  if (name.getValue().empty())
    return emitError() << "role needs a name";
  if (warps < 1 || warps > 32)
    return emitError() << "role " << name << " has " << warps
                       << " warps but needs 1 to 32";
  if (replicas < 1 || warps * replicas > 32)
    return emitError() << "role " << name << " has " << replicas
                       << " replicas of " << warps
                       << " warps but a block holds 1 to 32 warps";
  if (regs < 0 || regs > 255)
    return emitError() << "role " << name << " has " << regs
                       << " registers a thread but the limit is 255";
  return success();
}

/// Every value of `dict` must satisfy `ok`; `what` names the field.
static LogicalResult verifyEntries(function_ref<InFlightDiagnostic()> emitError,
                                   DictionaryAttr dict, StringRef field,
                                   StringRef what,
                                   function_ref<bool(Attribute)> ok) {
  for (NamedAttribute entry : dict)
    if (!ok(entry.getValue()))
      return emitError() << field << " of '" << entry.getName().getValue()
                         << "' must be " << what << " but is "
                         << entry.getValue();
  return success();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayAttr roles, DictionaryAttr place,
                                   DictionaryAttr agents, DictionaryAttr atoms,
                                   DictionaryAttr channels, DictionaryAttr skew,
                                   StringAttr handover, StringAttr persist,
                                   int32_t unroll) {
  if (roles.empty())
    return emitError() << "schedule needs a role";
  llvm::StringSet<> names;
  for (Attribute attr : roles) {
    auto role = dyn_cast<RoleAttr>(attr);
    if (!role)
      return emitError() << "roles must be #pipe.role but one is " << attr;
    if (!names.insert(role.getName().getValue()).second)
      return emitError() << "role " << role.getName() << " is named twice";
  }
  auto isRole = [&](Attribute attr) {
    auto name = dyn_cast<StringAttr>(attr);
    return name && names.contains(name.getValue());
  };
  auto isAgent = [](Attribute attr) {
    auto name = dyn_cast<StringAttr>(attr);
    return name && symbolizeAgent(name.getValue()).has_value();
  };
  auto isName = [](Attribute attr) {
    return isa<StringAttr>(attr) && !cast<StringAttr>(attr).empty();
  };
  auto isI32 = [](Attribute attr) {
    auto number = dyn_cast<IntegerAttr>(attr);
    return number && number.getType().isInteger(32);
  };
  auto isDepth = [&](Attribute attr) {
    return isI32(attr) && cast<IntegerAttr>(attr).getInt() >= 1;
  };
  if (failed(verifyEntries(emitError, place, "place", "the name of a role",
                           isRole)) ||
      failed(verifyEntries(emitError, agents, "agent",
                           "one of \"threads\", \"cp_async\", \"tma\", \"mma\"",
                           isAgent)) ||
      failed(verifyEntries(emitError, atoms, "atom", "a name", isName)) ||
      failed(verifyEntries(emitError, channels, "depth", "an i32 of at least 1",
                           isDepth)) ||
      failed(verifyEntries(emitError, skew, "skew", "an i32", isI32)))
    return failure();
  if (!llvm::is_contained({"static", "dynamic", "none"}, persist.getValue()))
    return emitError() << "persist must be \"static\", \"dynamic\" or "
                          "\"none\" but is "
                       << persist;
  if (handover.getValue() != "none" && handover.getValue() != "ring")
    return emitError() << "handover must be \"none\" or \"ring\" but is "
                       << handover;
  if (unroll < 1)
    return emitError() << "unroll must be at least 1 but is " << unroll;
  return success();
}

static int32_t intOr(DictionaryAttr dict, StringRef key, int32_t otherwise) {
  if (auto number = dict.getAs<IntegerAttr>(key))
    return static_cast<int32_t>(number.getInt());
  return otherwise;
}

static StringRef stringOr(DictionaryAttr dict, StringRef key,
                          StringRef otherwise) {
  if (auto text = dict.getAs<StringAttr>(key))
    return text.getValue();
  return otherwise;
}

int32_t ScheduleAttr::getDepth(StringRef channel) {
  return intOr(getChannels(), channel, 1);
}

int32_t ScheduleAttr::getSkew(StringRef op) { return intOr(getSkew(), op, 0); }

StringRef ScheduleAttr::getAtom(StringRef op) {
  return stringOr(getAtoms(), op, "");
}

Agent ScheduleAttr::getAgent(StringRef op) {
  return symbolizeAgent(stringOr(getAgents(), op, "threads"))
      .value_or(Agent::Threads);
}

StringRef ScheduleAttr::getRoleOf(StringRef op) {
  StringRef first = cast<RoleAttr>(getRoles()[0]).getName().getValue();
  return stringOr(getPlace(), op, stringOr(getPlace(), "default", first));
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  Type payload, int32_t depth, int32_t lanes) {
  if (depth < 1)
    return emitError() << "channel has depth " << depth
                       << " but needs at least 1";
  if (lanes < 1 || lanes > 32)
    return emitError() << "channel has " << lanes << " lanes but needs 1 to 32";
  return success();
}

LogicalResult WordsType::verify(function_ref<InFlightDiagnostic()> emitError,
                                int32_t count) {
  if (count < 1 || count > 64)
    return emitError() << "message of " << count
                       << " words but 1 to 64 are possible";
  return success();
}
