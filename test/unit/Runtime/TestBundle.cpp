//===- TestBundle.cpp - bundles written by the tests ----------------------===//
#include "TestBundle.h"

#include "attn/ABI/Bundle_generated.h"
#include "attn/ABI/Version.h"
#include "attn/Mask/HookProgram.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace fb = attn::bundle;
using attn::mask::Assembler;

std::string readWholeFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

uint32_t bitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static std::vector<uint8_t> finish(Assembler &a) {
  std::vector<uint8_t> bytes;
  std::string error;
  EXPECT_TRUE(a.finish(bytes, error)) << error;
  return bytes;
}

TestBundle TestBundle::tiny() {
  static const std::string object = readWholeFile(ATTN_TINY_KERNEL);
  TestKernel kernel;
  kernel.params = {{"bias", ATTN_F32, 0, true, 200},
                   {"window", ATTN_I32, 1 << 30, true, 204}};
  kernel.tables = {{"temp", ATTN_F32, {ATTN_INDEX_HEAD}, 208}};
  Assembler score(ATTN_HOOK_SCORE);
  score.arg(ATTN_ARG_S).arg(ATTN_ARG_H).table(0).op(ATTN_OP_FMUL);
  score.param(0).op(ATTN_OP_FADD);
  Assembler mask(ATTN_HOOK_MASK);
  mask.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).icmp(ATTN_CMP_GE);
  mask.arg(ATTN_ARG_Q).arg(ATTN_ARG_K).op(ATTN_OP_ISUB).param(1);
  mask.icmp(ATTN_CMP_LT).op(ATTN_OP_AND);
  kernel.hooks = {{ATTN_HOOK_SCORE, finish(score)},
                  {ATTN_HOOK_MASK, finish(mask)}};
  TestSpec spec;
  spec.code = {{ATTNRT_CODE_SHARED_OBJECT, "x86-64", object}};
  kernel.specs = {spec};
  TestBundle bundle;
  bundle.kernels = {kernel};
  return bundle;
}

TestBundle TestBundle::gpu() {
  TestBundle bundle = tiny();
  TestSpec &spec = bundle.spec();
  spec.target = "sm_80";
  spec.code = {{ATTNRT_CODE_PTX, "sm_80", ".version 7.0 .target sm_80"}};
  spec.threads = 128;
  spec.sharedBytes = 100000;
  spec.mergeThreads = 64;
  spec.mergeSharedBytes = 0;
  return bundle;
}

TestBundle TestBundle::tma() {
  TestBundle bundle = gpu();
  TestSpec &spec = bundle.spec();
  spec.target = spec.code[0].arch = "sm_90a";
  spec.paramsBytes = 256 + 3 * ATTN_TENSOR_MAP_BYTES;
  spec.strideMultiple = 4;
  spec.baseAlign = 16;
  spec.dynamic = true;
  for (int tensor : {ATTN_MAP_Q, ATTN_MAP_K, ATTN_MAP_V}) {
    TestTensorMap map;
    map.tensor = tensor;
    map.offset = 256 + uint32_t(tensor) * ATTN_TENSOR_MAP_BYTES;
    spec.tensorMaps.push_back(map);
  }
  return bundle;
}

void sealBundle(std::vector<uint8_t> &bytes) {
  uint64_t payload = bytes.size() - 64;
  XXH128_hash_t hash = XXH3_128bits(bytes.data() + 64, payload);
  uint64_t low = hash.low64, high = hash.high64;
  memcpy(bytes.data() + 16, &payload, 8);
  memcpy(bytes.data() + 24, &low, 8);
  memcpy(bytes.data() + 32, &high, 8);
}

std::vector<uint8_t> TestBundle::write() const {
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<fb::Kernel>> kernelList;
  for (const TestKernel &k : kernels) {
    std::vector<flatbuffers::Offset<fb::Param>> params;
    for (const TestParam &p : k.params)
      params.push_back(fb::CreateParam(b, b.CreateString(p.name),
                                       fb::Scalar(p.type), p.defaultBits,
                                       p.hasDefault, 1, 9, p.offset));
    std::vector<flatbuffers::Offset<fb::TableDecl>> tables;
    for (const TestTable &t : k.tables)
      tables.push_back(
          fb::CreateTableDecl(b, b.CreateString(t.name), fb::Scalar(t.element),
                              b.CreateVector(t.index), 2, 3, true, t.offset));
    std::vector<flatbuffers::Offset<fb::Hook>> hooks;
    for (const TestHook &h : k.hooks)
      hooks.push_back(
          fb::CreateHook(b, uint8_t(h.kind), b.CreateVector(h.code)));
    std::vector<flatbuffers::Offset<fb::Specialisation>> specs;
    for (const TestSpec &s : k.specs) {
      std::vector<flatbuffers::Offset<fb::Code>> code;
      for (const TestCode &c : s.code) {
        std::vector<uint8_t> data(c.data.begin(), c.data.end());
        code.push_back(fb::CreateCode(b, fb::CodeKind(c.kind),
                                      b.CreateString(c.arch),
                                      b.CreateVector(data)));
      }
      std::vector<flatbuffers::Offset<fb::TensorMap>> maps;
      for (const TestTensorMap &m : s.tensorMaps)
        maps.push_back(fb::CreateTensorMap(
            b, fb::MapTensor(m.tensor), m.offset, b.CreateVector(m.dims),
            b.CreateVector(m.box), fb::Element(m.element), m.swizzle,
            m.promotion));
      specs.push_back(fb::CreateSpecialisation(
          b, b.CreateString(s.target), fb::Element(s.element),
          fb::Element(s.output), s.tileQ, s.tileK, s.pack,
          b.CreateString(s.entry), b.CreateString(s.mergeEntry),
          b.CreateVector(code), s.paramsBytes, s.threads, s.sharedBytes,
          s.mergeThreads, s.mergeSharedBytes, 42, s.scratchBytes,
          s.mergeScratchBytes, s.strideMultiple, s.baseAlign, s.scalePositive,
          s.costQ, s.costKv, b.CreateString("#schedule"), b.CreateVector(maps),
          s.dynamic, s.ctaAnItem));
    }
    kernelList.push_back(fb::CreateKernel(
        b, b.CreateString(k.name), k.heads, k.kvHeads, k.dim, k.dimV,
        fb::Storage(k.storage), fb::Normaliser(k.normaliser), k.defaultScale,
        b.CreateVector(params), b.CreateVector(tables), b.CreateVector(hooks),
        fb::MapForm(k.mapForm), b.CreateString("#map"), b.CreateVector(specs),
        b.CreateString("abc123")));
  }
  fb::FinishBundleBuffer(b, fb::CreateBundle(b, b.CreateString("test writer"),
                                             b.CreateVector(kernelList)));
  std::vector<uint8_t> bytes(64, 0);
  memcpy(bytes.data(), "ATTNBNDL", 8);
  bytes[8] = ATTN_ABI_VERSION;
  bytes.insert(bytes.end(), b.GetBufferPointer(),
               b.GetBufferPointer() + b.GetSize());
  sealBundle(bytes);
  return bytes;
}

attnrt_status Fixture::open(const TestBundle &content, const char *deviceName,
                            const attnrt_device_options *options,
                            const attnrt_select *select) {
  std::vector<uint8_t> bytes = content.write();
  attnrt_status status =
      attnrt_bundle_open_memory(bytes.data(), bytes.size(), &bundle);
  if (status == ATTNRT_OK)
    status = attnrt_device_open(deviceName, options, &device);
  if (status == ATTNRT_OK)
    status = attnrt_kernel_load(device, bundle, content.kernels[0].name.c_str(),
                                select, &kernel);
  if (status == ATTNRT_OK)
    status = attnrt_plan_create(kernel, &plan);
  return status;
}

attnrt_status Fixture::makePlan(const attnrt_plan_params &params,
                                void *stream) {
  attnrt_status status = attnrt_plan_workspace(plan, &params, &workspaceBytes);
  if (status != ATTNRT_OK)
    return status;
  status = attnrt_mem_free(device, workspace);
  if (status != ATTNRT_OK)
    return status;
  workspace = nullptr;
  status = attnrt_mem_alloc(device, workspaceBytes, &workspace);
  if (status != ATTNRT_OK)
    return status;
  return attnrt_plan_build(plan, &params, workspace, workspaceBytes, stream);
}

void Fixture::close() {
  // Again if it fails: see CudaTest.
  if (workspace && attnrt_mem_free(device, workspace) != ATTNRT_OK)
    attnrt_mem_free(device, workspace);
  attnrt_plan_destroy(plan);
  attnrt_kernel_unload(kernel);
  attnrt_device_close(device);
  attnrt_bundle_close(bundle);
  workspace = nullptr;
  plan = nullptr;
  kernel = nullptr;
  device = nullptr;
  bundle = nullptr;
}
