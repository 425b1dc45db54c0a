//===- TypeConverter.cpp - frag types to machine values -------------------===//
//
//   !frag.reg<128x64xf32, mma_c, 8 warps>   ->  32 x f32
//   !frag.reg<128x64xbf16, mma_a, 8 warps>  ->  16 x i32
//   !frag.vec<128xi1, mma_c, 8 warps>       ->   2 x i1
//   !frag.pos<slots = 2>                    ->   slot and phase, i32
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
  addConversion([](InflightType type, SmallVectorImpl<Type> &results) {
    results.append(layoutOf(type.getReg()).registersPerThread(),
                   type.getElement());
    return success();
  });
  auto shared = [](Type type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext(), sharedSpace);
  };
  addConversion([=](RingType type) { return shared(type); });
  addConversion([=](BarsType type) { return shared(type); });
  addConversion([=](WordsType type) { return shared(type); });
  addConversion([](PosType type, SmallVectorImpl<Type> &results) {
    results.append(2, IntegerType::get(type.getContext(), 32));
    return success();
  });
  addConversion([](ViewType type) -> Type {
    return IntegerType::get(type.getContext(), 32);
  });
  addConversion([](TmapType type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext());
  });
  addConversion([](PtrType type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext(), globalSpace);
  });
}
