//===- Bundle.cpp - write a bundle ----------------------------------------===//

#include "attn/Emit/Bundle.h"

#include "attn/ABI/Bundle_generated.h"
#include "attn/ABI/Version.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace attn::emit;
namespace fbs = attn::bundle;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

static constexpr size_t headerBytes = 64;

static Offset<fbs::Specialisation> write(FlatBufferBuilder &b,
                                         const Specialisation &s) {
  std::vector<Offset<fbs::Code>> code;
  for (const Code &c : s.code)
    code.push_back(fbs::CreateCode(
        b, fbs::CodeKind(c.kind), b.CreateString(c.arch),
        b.CreateVector(reinterpret_cast<const uint8_t *>(c.data.data()),
                       c.data.size())));
  std::vector<Offset<fbs::TensorMap>> maps;
  for (const TensorMap &m : s.tensorMaps)
    maps.push_back(
        fbs::CreateTensorMap(b, fbs::MapTensor(m.tensor), m.offset,
                             b.CreateVector(m.dims), b.CreateVector(m.box),
                             fbs::Element(m.element), m.swizzle, m.promotion));
  auto target = b.CreateString(s.target), entry = b.CreateString(s.entry),
       mergeEntry = b.CreateString(s.mergeEntry),
       schedule = b.CreateString(s.schedule);
  auto codes = b.CreateVector(code);
  auto tensorMaps = b.CreateVector(maps);
  fbs::SpecialisationBuilder out(b);
  out.add_target(target);
  out.add_element(fbs::Element(s.element));
  out.add_output(fbs::Element(s.output));
  out.add_tile_q(s.tileQ);
  out.add_tile_k(s.tileK);
  out.add_pack(s.pack);
  out.add_entry(entry);
  out.add_merge_entry(mergeEntry);
  out.add_code(codes);
  out.add_params_bytes(s.paramsBytes);
  out.add_threads(s.threads);
  out.add_shared_bytes(s.sharedBytes);
  out.add_merge_threads(s.mergeThreads);
  out.add_merge_shared_bytes(s.mergeSharedBytes);
  out.add_registers(s.registers);
  out.add_scratch_bytes(s.scratchBytes);
  out.add_merge_scratch_bytes(s.mergeScratchBytes);
  out.add_stride_multiple(s.strideMultiple);
  out.add_base_align(s.baseAlign);
  out.add_scale_positive(s.scalePositive);
  out.add_cost_q(s.costQ);
  out.add_cost_kv(s.costKv);
  out.add_schedule(schedule);
  out.add_tensor_maps(tensorMaps);
  out.add_dynamic(s.dynamic);
  out.add_cta_an_item(s.ctaAnItem);
  return out.Finish();
}

static Offset<fbs::Kernel> write(FlatBufferBuilder &b, const Kernel &k) {
  std::vector<Offset<fbs::Param>> params;
  for (const Param &p : k.params)
    params.push_back(fbs::CreateParam(
        b, b.CreateString(p.name), fbs::Scalar(p.type), p.defaultBits,
        p.hasDefault, p.sampleLo, p.sampleHi, p.offset));
  std::vector<Offset<fbs::TableDecl>> tables;
  for (const Table &t : k.tables)
    tables.push_back(fbs::CreateTableDecl(
        b, b.CreateString(t.name), fbs::Scalar(t.element),
        b.CreateVector(t.index), t.sampleLo, t.sampleHi, t.sorted, t.offset));
  std::vector<Offset<fbs::Hook>> hooks;
  for (const Hook &h : k.hooks)
    hooks.push_back(fbs::CreateHook(b, h.kind, b.CreateVector(h.code)));
  std::vector<Offset<fbs::Specialisation>> specialisations;
  for (const Specialisation &s : k.specialisations)
    specialisations.push_back(write(b, s));
  return fbs::CreateKernel(
      b, b.CreateString(k.name), k.heads, k.kvHeads, k.dim, k.dimV,
      k.ragged ? fbs::Storage::Ragged : fbs::Storage::Dense,
      k.softmax ? fbs::Normaliser::Softmax : fbs::Normaliser::None,
      k.defaultScale, b.CreateVector(params), b.CreateVector(tables),
      b.CreateVector(hooks), fbs::MapForm(k.mapForm),
      b.CreateString(k.blockMap), b.CreateVector(specialisations),
      b.CreateString(k.sourceHash));
}

std::vector<char> attn::emit::serialise(const Bundle &bundle) {
  FlatBufferBuilder b;
  std::vector<Offset<fbs::Kernel>> kernels;
  for (const Kernel &k : bundle.kernels)
    kernels.push_back(write(b, k));
  fbs::FinishBundleBuffer(b,
                          fbs::CreateBundle(b, b.CreateString(bundle.compiler),
                                            b.CreateVector(kernels)));

  uint64_t payload = b.GetSize();
  uint32_t version = ATTN_ABI_VERSION;
  XXH128_hash_t hash = XXH3_128bits(b.GetBufferPointer(), payload);
  std::vector<char> out(headerBytes + payload);
  std::memcpy(out.data(), "ATTNBNDL", 8);
  std::memcpy(out.data() + 8, &version, 4);
  std::memcpy(out.data() + 16, &payload, 8);
  std::memcpy(out.data() + 24, &hash.low64, 8);
  std::memcpy(out.data() + 32, &hash.high64, 8);
  std::memcpy(out.data() + headerBytes, b.GetBufferPointer(), payload);
  return out;
}

bool attn::emit::isIntact(llvm::ArrayRef<char> file) {
  if (file.size() < headerBytes)
    return false;
  uint32_t version;
  uint64_t payload;
  XXH128_hash_t hash;
  std::memcpy(&version, file.data() + 8, 4);
  std::memcpy(&payload, file.data() + 16, 8);
  std::memcpy(&hash.low64, file.data() + 24, 8);
  std::memcpy(&hash.high64, file.data() + 32, 8);
  return std::memcmp(file.data(), "ATTNBNDL", 8) == 0 &&
         version == ATTN_ABI_VERSION && payload == file.size() - headerBytes &&
         XXH128_isEqual(hash, XXH3_128bits(file.data() + headerBytes, payload));
}

llvm::Error attn::emit::writeFileAtomically(llvm::StringRef path,
                                            llvm::ArrayRef<char> bytes) {
  // A rename would put a file in the place of a device or a pipe, and of a link
  // in place of what it points to.
  llvm::SmallString<128> real(path);
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status)) {
    if (status.type() != llvm::sys::fs::file_type::regular_file)
      return llvm::createStringError("%s is not a regular file",
                                     path.str().c_str());
    llvm::sys::fs::real_path(path, real);
  }
  path = real;
  auto cannotWrite = [&](std::error_code code) {
    return llvm::createStringError(code, "cannot write '%s': %s",
                                   path.str().c_str(), code.message().c_str());
  };
  auto temp = llvm::sys::fs::TempFile::create(path + ".%%%%%%.tmp");
  if (!temp)
    return cannotWrite(llvm::errorToErrorCode(temp.takeError()));
  llvm::raw_fd_ostream os(temp->FD, /*shouldClose=*/false);
  os.write(bytes.data(), bytes.size());
  os.flush();
  if (os.has_error()) {
    std::error_code code = os.error();
    os.clear_error();
    llvm::consumeError(temp->discard());
    return cannotWrite(code);
  }
  if (llvm::Error error = temp->keep(path))
    return cannotWrite(llvm::errorToErrorCode(std::move(error)));
  return llvm::Error::success();
}
