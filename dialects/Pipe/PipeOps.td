//===- PipeOps.td - roles, channels, work ---------------------------------===//

#ifndef PIPE_OPS
#define PIPE_OPS

include "PipeAttrs.td"
include "PipeTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

class Pipe_Op<string mnemonic, list<Trait> traits = []>
    : Op<PipeDialect, mnemonic, traits>;

// A future of an operation that fills a slot, the only kind that a commit takes:
// the value of any other is had by joining it.
def Pipe_CopyFuture : Type<And<[
      CPred<"::llvm::isa<::attn::pipe::FutureType>($_self)">,
      CPred<"!::llvm::cast<::attn::pipe::FutureType>($_self).getPayload()">]>,
    "future without a value", "::attn::pipe::FutureType">,
    BuildableType<"::attn::pipe::FutureType::get($_builder.getContext())">;

//===----------------------------------------------------------------------===//
// Channels and roles
//===----------------------------------------------------------------------===//

def Pipe_ChannelOp : Pipe_Op<"channel"> {
  let summary = "declare a channel: one producer role, n consumer roles";
  let description = [{
    Slots are used in order.  A slot is free, held by the producer, full, held by
    consumers, and free again after every consumer's release.  Every replica of a
    consumer role sees every slot and releases it.

    `initial` slots are full of zeros at the start: tokens of a feedback channel.
    It is 0 or the depth, and only a channel of words has any.  Such a channel
    never blocks its producer: the tokens of the cycle that it closes are its
    credit.

    ```mlir
    func.func @f() {
      %k = pipe.channel "k" from "all" to ["all"] : !pipe.channel<f32, depth = 2>
      %x = pipe.channel "verdict" from "compute" to ["load"] initial 3
           : !pipe.channel<!pipe.words<1>, depth = 3, lanes = 2>
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$producer, StrArrayAttr:$consumers,
                   DefaultValuedAttr<I32Attr, "0">:$initial);
  let results = (outs Pipe_ChannelType:$result);
  let assemblyFormat = "$name `from` $producer `to` $consumers (`initial` $initial^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Pipe_RolesOp : Pipe_Op<"roles", [
    SingleBlock, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "regions that start together and join at the end, one a role";
  let description = [{
    Regions may use channels, kernel arguments and values defined above; nothing
    else crosses between roles.  A role with replicas is one code run by several
    groups of warps, and its region has the replica's number as argument.

    ```mlir
    func.func @f() {
      pipe.roles [#pipe.role<"load", warps = 1, replicas = 1, regs = 40>,
                  #pipe.role<"compute", warps = 4, replicas = 2, regs = 232>] {
      }, (%rank) {
      }
      return
    }
    ```
  }];
  let arguments = (ins ArrayAttr:$roles);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The role of a region.
    ::attn::pipe::RoleAttr getRole(unsigned index) {
      return ::llvm::cast<::attn::pipe::RoleAttr>(getRoles()[index]);
    }
    /// Number of the role with this name, or -1.
    int indexOf(::llvm::StringRef name);
  }];
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
  let description = [{
    The region captures its operands.  It yields a value, which `pipe.join` gives,
    or nothing: then it fills a slot.  The operands must stay as they are until
    the join or, for a copy, until the commit's slot is full.

    ```mlir
    func.func private @product(f32, f32) -> f32
    func.func @f(%a: f32, %b: f32) {
      %f = pipe.issue mma {
        %x = func.call @product(%a, %b) : (f32, f32) -> f32
        pipe.yield %x : f32
      }
      %y, %done = pipe.join %f : !pipe.future<f32>
      return
    }
    ```
  }];
  let arguments = (ins Pipe_AgentAttr:$agent);
  let results = (outs Pipe_FutureType:$future);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Pipe_JoinOp : Pipe_Op<"join", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "wait for an issued operation: its value, if any, and a done token";
  let description = "Futures are joined in the block that issued them, once.";
  let arguments = (ins Pipe_FutureType:$future);
  let results = (outs Optional<AnyType>:$payload, Pipe_DoneType:$done);
  let assemblyFormat = "$future attr-dict `:` type($future)";
}

def Pipe_CommitOp : Pipe_Op<"commit", [AttrSizedOperandSegments]> {
  let summary = "producer: the slot is full once the futures have finished";
  let description = [{
    `after` names copies under way; `done` operations joined before, after which
    the role's own threads may have written the slot too.
  }];
  let arguments = (ins Pipe_SlotType:$slot, Variadic<Pipe_CopyFuture>:$futures,
                   Variadic<Pipe_DoneType>:$done);
  let assemblyFormat = "$slot (`after` $futures^)? (`done` $done^)? attr-dict `:` type($slot)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$slot, "::mlir::ValueRange":$futures),
    [{ build($_builder, $_state, slot, futures, ::mlir::ValueRange()); }]>];
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
    Takes the done tokens of the slot's asynchronous readers; a synchronous reader
    needs none.
  }];
  let arguments = (ins Pipe_SlotType:$slot, Variadic<Pipe_DoneType>:$done);
  let assemblyFormat = "$slot (`done` $done^)? attr-dict `:` type($slot)";
  let builders = [OpBuilder<(ins "::mlir::Value":$slot),
    [{ build($_builder, $_state, slot, ::mlir::ValueRange()); }]>];
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

def Pipe_SendOp : Pipe_Op<"send"> {
  let summary = "acquire, write and commit a slot of words";
  let description = [{
    A replica of the producer role sends on its own lane.

    `pipe.send %work(%word, %request) : !pipe.channel<!pipe.words<2>, depth = 2>`
  }];
  let arguments = (ins Pipe_ChannelType:$channel, Variadic<I32>:$words);
  let assemblyFormat = "$channel `(` $words `)` attr-dict `:` type($channel)";
  let hasVerifier = 1;
}

def Pipe_RecvOp : Pipe_Op<"recv", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "wait for, read and release a slot of words, on all lanes";
  let description = "The words of lane 0, then those of lane 1, and so on.";
  let arguments = (ins Pipe_ChannelType:$channel);
  let results = (outs Variadic<I32>:$words);
  let assemblyFormat = "$channel attr-dict `:` type($channel)";
  let hasVerifier = 1;
}

def Pipe_GatherOp : Pipe_Op<"gather", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "every replica's values, in the order of the replicas";
  let description = [{
    Collective over the `replicas` of the own role.  Result v * replicas + r is
    value v of replica r.

    `%o:4 = pipe.gather 4 of %x : f32`
  }];
  let arguments = (ins I32Attr:$replicas, Variadic<AnyType>:$values);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$replicas `of` $values attr-dict `:` type($values)";
  let hasVerifier = 1;
}

class Pipe_TurnOp<string mnemonic> : Pipe_Op<mnemonic> {
  let arguments = (ins);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Pipe_TakeTurnOp : Pipe_TurnOp<"take_turn"> {
  let summary = "wait for this replica's turn";
  let description = [{
    The replicas of the own role take turns in the order of their ranks, 0 first.
    Every replica takes as many turns as any other.

    `pipe.take_turn`
  }];
}

def Pipe_PassTurnOp : Pipe_TurnOp<"pass_turn"> {
  let summary = "give the turn to the next replica";
  let description = "Of the turn that this replica took last, once: `pipe.pass_turn`";
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

def Pipe_NextWorkOp : Pipe_Op<"next_work"> {
  let summary = "index of this CTA's next item, or -1 for ever";
  let description = [{
    `%previous` is the last index, negative at the start.  `static_order`: the
    first is the CTA's number, each next one is further by the number of CTAs.
    `dynamic`: the first index that no CTA has taken, whatever `%previous` is; each
    index is handed out once in a launch.
    The one input of a role that is not a channel.
  }];
  let arguments = (ins AnyType:$plan, I32:$previous, Pipe_WorkOrderAttr:$order,
                   BoolAttr:$merges);
  let results = (outs I32:$index);
  let assemblyFormat = "$order $plan `after` $previous `merges` `=` $merges attr-dict `:` type($plan)";
}

def Pipe_YieldOp : Pipe_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "end of a role, or of an issued region with its value";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

#endif // PIPE_OPS
