//===- TypeConverter.cpp - frag types to machine values -------------------===//
//
//   !frag.reg<128x64xf32, mma_c, 8 warps>   ->  32 x f32
//   !frag.reg<128x64xbf16, mma_a, 8 warps>  ->  16 x i32
//   !frag.vec<128xi1, mma_c, 8 warps>       ->   2 x i1
//
// One to many rather than structs: loops then carry plain registers, and LLVM
// has no insertvalue chains to take apart.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace attn;
using namespace attn::frag;

bool frag::isPacked(Type element) {
  return element.isF16() || element.isBF16();
}

MachineTypes::MachineTypes() {
  // Tried last: scalars are machine values already.
  addConversion([](Type type) { return type; });
  addConversion([](RegType type, SmallVectorImpl<Type> &results) {
    unsigned count = layoutOf(type).registersPerThread();
    if (isPacked(type.getElement()))
      results.append(count / 2, IntegerType::get(type.getContext(), 32));
    else
      results.append(count, type.getElement());
    return success();
  });
  addConversion([](VecType type, SmallVectorImpl<Type> &results) {
    results.append(layoutOf(type).rowsPerThread(), type.getElement());
    return success();
  });
  addConversion([](RingType type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext(), sharedSpace);
  });
  addConversion([](PosType type) -> Type {
    return IntegerType::get(type.getContext(), 32);
  });
  addConversion([](PtrType type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext(), globalSpace);
  });
}
