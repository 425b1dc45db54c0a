//===- PipeAttrs.td - roles and schedules ---------------------------------===//

#ifndef PIPE_ATTRS
#define PIPE_ATTRS

include "PipeBase.td"

class Pipe_Attr<string name, string attrMnemonic> : AttrDef<PipeDialect, name> {
  let mnemonic = attrMnemonic;
}

def Pipe_RoleAttr : Pipe_Attr<"Role", "role"> {
  let summary = "a role: name, warps, replicas, registers a thread (0: unset)";
  let parameters = (ins "::mlir::StringAttr":$name, "int32_t":$warps,
                    "int32_t":$replicas, "int32_t":$regs);
  let assemblyFormat = "`<` $name `,` struct($warps, $replicas, $regs) `>`";
  let genVerifyDecl = 1;
}

def Pipe_ScheduleAttr : Pipe_Attr<"Schedule", "schedule"> {
  let summary = "roles, placement, agents, atoms, channel depths, skew";
  let description = [{
    - `roles`: the roles of the kernel;
    - `place`: op name (without dialect) to role name; `default` for the rest;
    - `agents`: op name to agent;
    - `atoms`: op name to MMA atom name;
    - `channels`: channel name to depth;
    - `skew`: op name to the number of visits it is moved by (-1: the copies of the
      next visit are issued in this one; 1: the second product of the visit before);
    - `handover`: `none`, or `ring`: replicas take turns to issue their products;
    - `persist`: `static`, `dynamic`, or `none`: the launch has a CTA for each item;
    - `unroll`: copies of the innermost loop's body.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$roles, "::mlir::DictionaryAttr":$place,
                    "::mlir::DictionaryAttr":$agents, "::mlir::DictionaryAttr":$atoms,
                    "::mlir::DictionaryAttr":$channels, "::mlir::DictionaryAttr":$skew,
                    "::mlir::StringAttr":$handover, "::mlir::StringAttr":$persist,
                    "int32_t":$unroll);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Depth of a channel, or 1 if it is not named.
    int32_t getDepth(::llvm::StringRef channel);
    /// Skew of an op, or 0.
    int32_t getSkew(::llvm::StringRef op);
    /// Atom name of an op, or empty.
    ::llvm::StringRef getAtom(::llvm::StringRef op);
    /// Agent of an op; threads if it is not named.
    ::attn::pipe::Agent getAgent(::llvm::StringRef op);
    /// Role of an op by `place`, or of `default`.
    ::llvm::StringRef getRoleOf(::llvm::StringRef op);
  }];
}

#endif // PIPE_ATTRS
