//===- Wgmma.cpp - roles and atoms of warpgroup products ------------------===//
//
// See Wgmma.h.  A launch gives every thread the same number of registers; each
// role then gives back or takes what it needs (setmaxnreg), in steps of 8:
//
//   warpgroups   launch   load   compute
//   1 + 1, 1 + 2    168     24       240
//   1 + 3           128     32       160
//   1 + 4            96     32       112
//
//===----------------------------------------------------------------------===//

#include "Wgmma.h"

#include "attn/Dialect/Pipe/IR/Pipe.h"

using namespace mlir;
using namespace attn;

ArrayAttr attn::wgmmaRoles(Builder &builder, int32_t replicas) {
  int32_t load = replicas <= 2 ? 24 : 32;
  int32_t compute = replicas <= 2 ? 240 : replicas == 3 ? 160 : 112;
  auto role = [&](StringRef name, int32_t warps, int32_t count,
                  int32_t regs) -> Attribute {
    return pipe::RoleAttr::get(builder.getContext(),
                               builder.getStringAttr(name), warps, count, regs);
  };
  return builder.getArrayAttr(
      {role("load", 1, 1, load),
       role("compute", warpgroupWarps, replicas, compute)});
}

std::string attn::wgmmaAtom(int32_t columns) {
  return "wgmma.m64n" + std::to_string(columns) + "k16";
}
