//===- PipeTypes.td - channels, slots, futures ----------------------------===//

#ifndef PIPE_TYPES
#define PIPE_TYPES

include "PipeBase.td"

class Pipe_Type<string name, string typeMnemonic> : TypeDef<PipeDialect, name> {
  let mnemonic = typeMnemonic;
}

def Pipe_ChannelType : Pipe_Type<"Channel", "channel"> {
  let summary = "bounded FIFO of slots that hold a payload";
  let description = "`!pipe.channel<!attn.tile<64x128xbf16>, depth = 2>`";
  let parameters = (ins "::mlir::Type":$payload, "int32_t":$depth);
  let assemblyFormat = "`<` $payload `,` `depth` `=` $depth `>`";
  let genVerifyDecl = 1;
}

def Pipe_SlotType : Pipe_Type<"Slot", "slot"> {
  let summary = "a slot held by a producer (acquired) or a consumer (waited)";
  let parameters = (ins "::mlir::Type":$payload);
  let assemblyFormat = "`<` $payload `>`";
}

def Pipe_FutureType : Pipe_Type<"Future", "future"> {
  let summary = "completion of an issued operation; lives in one block";
}

#endif // PIPE_TYPES
