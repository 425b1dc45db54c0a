//===- PipeTypes.td - channels, words, slots, futures, done tokens --------===//

#ifndef PIPE_TYPES
#define PIPE_TYPES

include "PipeBase.td"

class Pipe_Type<string name, string typeMnemonic> : TypeDef<PipeDialect, name> {
  let mnemonic = typeMnemonic;
}

def Pipe_ChannelType : Pipe_Type<"Channel", "channel"> {
  let summary = "bounded FIFO of slots that hold a payload";
  let description = [{
    The payload is any type, `!pipe.words<n>`, or `none` where only the order
    matters.  `lanes` is the number of replicas of the producer role: one FIFO
    each, which a consumer reads together.

    `!pipe.channel<!attn.tile<64x128xbf16>, depth = 2>`,
    `!pipe.channel<!pipe.words<1>, depth = 3, lanes = 2>`
  }];
  let parameters = (ins "::mlir::Type":$payload, "int32_t":$depth,
                    DefaultValuedParameter<"int32_t", "1">:$lanes);
  let assemblyFormat = "`<` $payload `,` `depth` `=` $depth (`,` `lanes` `=` $lanes^)? `>`";
  let builders = [TypeBuilder<(ins "::mlir::Type":$payload, "int32_t":$depth),
    [{ return $_get($_ctxt, payload, depth, 1); }]>];
  let genVerifyDecl = 1;
}

def Pipe_WordsType : Pipe_Type<"Words", "words"> {
  let summary = "payload of n 32-bit integers: a message between roles";
  let parameters = (ins "int32_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

def Pipe_SlotType : Pipe_Type<"Slot", "slot"> {
  let summary = "a slot held by a producer (acquired) or a consumer (waited)";
  let parameters = (ins "::mlir::Type":$payload);
  let assemblyFormat = "`<` $payload `>`";
}

def Pipe_FutureType : Pipe_Type<"Future", "future"> {
  let summary = "an issued operation under way; lives in one block";
  let description = [{
    With a payload it yields that value at `pipe.join`; without, the operation
    fills a slot.
  }];
  let parameters = (ins OptionalParameter<"::mlir::Type">:$payload);
  let assemblyFormat = "(`<` $payload^ `>`)?";
  let builders = [TypeBuilder<(ins), [{ return $_get($_ctxt, ::mlir::Type()); }]>];
}

def Pipe_DoneType : Pipe_Type<"Done", "done"> {
  let summary = "proof that an issued operation has finished; may be carried";
}

#endif // PIPE_TYPES
