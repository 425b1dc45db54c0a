//===- Describe.cpp - what a bundle says of a kernel ----------------------===//
//
// From an L0 kernel that owns its variant and has its block map: shapes,
// parameters and tables with their offsets, hooks in encoded form.
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/EncodeHook.h"
#include "attn/Analysis/ParamLayout.h"
#include "attn/Compiler/Compiler.h"
#include "attn/Dialect/Attn/IR/Attn.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace attn;

/// Bit pattern of a number attribute; 0 if there is none.
static uint32_t bitsOf(Attribute attr) {
  if (auto f = dyn_cast_or_null<FloatAttr>(attr)) {
    float value = float(f.getValueAsDouble());
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  }
  if (auto i = dyn_cast_or_null<IntegerAttr>(attr))
    return uint32_t(i.getInt());
  return 0;
}

static attn_scalar scalarOf(Type type) {
  return type.isF32() ? ATTN_F32 : ATTN_I32;
}

/// `sample = [lo, hi]`; the default alone, or [0, 1] in the type without one.
static std::pair<uint32_t, uint32_t> sampleOf(Operation *op, Type type) {
  if (auto sample = op->getAttrOfType<ArrayAttr>("sample"))
    return {bitsOf(sample[0]), bitsOf(sample[1])};
  if (Attribute value = op->getAttr("default"))
    return {bitsOf(value), bitsOf(value)};
  float one = 1.0f;
  uint32_t bits = 1;
  if (type.isF32())
    std::memcpy(&bits, &one, sizeof(bits));
  return {0, bits};
}

static emit::Param describe(ParamOp op, const ParamLayout &layout) {
  emit::Param p;
  p.name = op.getName().str();
  p.type = scalarOf(op.getType());
  Attribute value = op->getAttr("default");
  p.hasDefault = bool(value);
  p.defaultBits = bitsOf(value);
  std::tie(p.sampleLo, p.sampleHi) = sampleOf(op, op.getType());
  p.offset = *layout.offsetOf("param." + p.name);
  return p;
}

static emit::Table describe(TableOp op, const ParamLayout &layout) {
  emit::Table t;
  t.name = op.getName().str();
  auto type = cast<TableType>(op.getType());
  t.element = scalarOf(type.getElement());
  for (IndexSpace space : type.getIndex())
    t.index.push_back(uint8_t(space));
  std::tie(t.sampleLo, t.sampleHi) = sampleOf(op, type.getElement());
  t.sorted = op->hasAttr("sorted");
  t.offset = *layout.offsetOf("table." + t.name + ".data");
  return t;
}

FailureOr<emit::Kernel> attn::describeKernel(Operation *op) {
  auto kernel = cast<KernelOp>(op);
  emit::Kernel k;
  auto query =
      cast<attn::TensorType>(kernel.getTensor(TensorRole::Query).getType());
  auto key =
      cast<attn::TensorType>(kernel.getTensor(TensorRole::Key).getType());
  auto value =
      cast<attn::TensorType>(kernel.getTensor(TensorRole::Value).getType());
  k.name = kernel.getSymName().str();
  k.heads = query.getHeads();
  k.kvHeads = key.getHeads();
  k.dim = query.getDim();
  k.dimV = value.getDim();
  k.ragged = query.getStorage() == Storage::Ragged;
  k.defaultScale = float(1.0 / std::sqrt(double(k.dim)));

  VariantOp variant = kernel.getVariant();
  k.softmax = variant.getNormaliser() == Normaliser::Softmax;
  ParamLayout layout(kernel);
  for (Operation &inner : variant.getBody().front()) {
    if (auto param = dyn_cast<ParamOp>(inner))
      k.params.push_back(describe(param, layout));
    else if (auto table = dyn_cast<TableOp>(inner))
      k.tables.push_back(describe(table, layout));
    else if (auto hook = dyn_cast<HookOp>(inner)) {
      FailureOr<std::vector<uint8_t>> code = encodeHook(hook);
      if (failed(code))
        return failure();
      k.hooks.push_back({uint8_t(hook.getKind()), std::move(*code)});
    }
  }
  if (BlockMapAttr map = kernel.getBlockMapAttr()) {
    k.mapForm = uint8_t(map.getForm());
    llvm::raw_string_ostream(k.blockMap) << map;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os);
  k.sourceHash =
      llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), true);
  return k;
}
