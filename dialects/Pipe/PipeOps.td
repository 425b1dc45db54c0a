//===- PipeOps.td - roles, channels, work ---------------------------------===//

#ifndef PIPE_OPS
#define PIPE_OPS

include "PipeAttrs.td"
include "PipeTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

class Pipe_Op<string mnemonic, list<Trait> traits = []>
    : Op<PipeDialect, mnemonic, traits>;

def Pipe_ChannelOp : Pipe_Op<"channel"> {
  let summary = "declare a channel: one producer role, n consumer roles";
  let description = [{
    Slots are used in order.  A slot is free, held by the producer, full, held by
    consumers, and free again after every consumer's release.

    ```mlir
    func.func @f() {
      %k = pipe.channel "k" from "all" to ["all"] : !pipe.channel<f32, depth = 2>
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$producer, StrArrayAttr:$consumers);
  let results = (outs Pipe_ChannelType:$result);
  let assemblyFormat = "$name `from` $producer `to` $consumers attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Pipe_RolesOp : Pipe_Op<"roles", [NoRegionArguments,
    SingleBlock, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "regions that start together and join at the end, one a role";
  let description = [{
    Regions may use channels, kernel arguments and values defined above; nothing
    else crosses between roles.

    ```mlir
    func.func @f() {
      pipe.roles [#pipe.role<"all", warps = 8, replicas = 1, regs = 0>] {
      }
      return
    }
    ```
  }];
  let arguments = (ins ArrayAttr:$roles);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let assemblyFormat = "$roles $bodies attr-dict";
  let hasVerifier = 1;
}

def Pipe_AcquireOp : Pipe_Op<"acquire"> {
  let summary = "producer: take the next slot, blocks until it is free";
  let arguments = (ins Pipe_ChannelType:$channel);
  let results = (outs Pipe_SlotType:$slot);
  let assemblyFormat = "$channel attr-dict `:` type($channel) `->` type($slot)";
  let hasVerifier = 1;
}

def Pipe_IssueOp : Pipe_Op<"issue", [SingleBlock, NoRegionArguments,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "start the region's ops on an agent";
  let arguments = (ins Pipe_AgentAttr:$agent);
  let results = (outs Pipe_FutureType:$future);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$agent $body attr-dict";
}

def Pipe_CommitOp : Pipe_Op<"commit"> {
  let summary = "producer: the slot is full once the futures have finished";
  let arguments = (ins Pipe_SlotType:$slot, Variadic<Pipe_FutureType>:$futures);
  let assemblyFormat = "$slot (`after` $futures^)? attr-dict `:` type($slot)";
  let hasVerifier = 1;
}

def Pipe_WaitOp : Pipe_Op<"wait"> {
  let summary = "consumer: the next full slot and its payload, blocks until full";
  let arguments = (ins Pipe_ChannelType:$channel);
  let results = (outs AnyType:$payload, Pipe_SlotType:$slot);
  let assemblyFormat = "$channel attr-dict `:` type($channel) `->` type($payload) `,` type($slot)";
  let hasVerifier = 1;
}

def Pipe_ReleaseOp : Pipe_Op<"release"> {
  let summary = "consumer: give the slot back";
  let description = [{
    A synchronous reader needs nothing; the tokens of asynchronous readers are
    part of the dialect's next step.
  }];
  let arguments = (ins Pipe_SlotType:$slot);
  let assemblyFormat = "$slot attr-dict `:` type($slot)";
}

def Pipe_NextWorkOp : Pipe_Op<"next_work"> {
  let summary = "index of this CTA's next item, or -1 for ever";
  let description = [{
    `%previous` is the last index, negative at the start.  `static_order`: the
    first is the CTA's number, each next one is further by the number of CTAs.
    The one input of a role that is not a channel.
  }];
  let arguments = (ins AnyType:$plan, I32:$previous, Pipe_WorkOrderAttr:$order,
                   BoolAttr:$merges);
  let results = (outs I32:$index);
  let assemblyFormat = "$order $plan `after` $previous `merges` `=` $merges attr-dict `:` type($plan)";
}

def Pipe_YieldOp : Pipe_Op<"yield", [Pure, Terminator]> {
  let summary = "end of a role or of an issued region";
  let assemblyFormat = "attr-dict";
}

#endif // PIPE_OPS
