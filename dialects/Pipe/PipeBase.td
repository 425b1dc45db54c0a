//===- PipeBase.td - the pipe dialect -------------------------------------===//

#ifndef PIPE_BASE
#define PIPE_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def PipeDialect : Dialect {
  let name = "pipe";
  let cppNamespace = "::attn::pipe";
  let summary = "roles joined by channels (level L2)";
  let description = [{
    Who does it, when, with which buffers in flight.  Knows nothing of attention:
    payloads are any type, and the ops inside roles come from elsewhere.  See
    dialects/Pipe/README.md for the state machine of a channel.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class Pipe_Enum<string name, string summary, list<I32EnumCase> cases>
    : I32Enum<name, summary, cases> {
  let cppNamespace = "::attn::pipe";
}

def Pipe_Agent : Pipe_Enum<"Agent", "who finishes an issued operation", [
  I32EnumCase<"Threads", 0, "threads">, I32EnumCase<"CpAsync", 1, "cp_async">,
  I32EnumCase<"Tma", 2, "tma">, I32EnumCase<"Mma", 3, "mma">]>;
def Pipe_AgentAttr : EnumAttr<PipeDialect, Pipe_Agent, "agent">;

def Pipe_WorkOrder : Pipe_Enum<"WorkOrder", "how a CTA takes its items", [
  I32EnumCase<"Static", 0, "static_order">, I32EnumCase<"Dynamic", 1, "dynamic">]>;
def Pipe_WorkOrderAttr : EnumAttr<PipeDialect, Pipe_WorkOrder, "work_order">;

#endif // PIPE_BASE
