//===- BundleVerify.cpp - from untrusted bytes to a Bundle ----------------===//
//
// Outside in: length, hash, FlatBuffers structure, then the rules of each
// field.  Every refusal names the thing and the two numbers.
//
//   flip one bit    -> "bundle hash is 0x... but its bytes give 0x..."
//   heads 6, kv 4   -> "kernel 'k': 6 heads are not a multiple of 4 kv heads"
//
//===----------------------------------------------------------------------===//
#include "Bundle.h"

#include "attn/ABI/Bundle_generated.h"
#include "attn/ABI/Version.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace attnrt {
namespace {

namespace fb = attn::bundle;

constexpr size_t kHeaderBytes = 64;
/// The parameter space of a kernel entry.
constexpr uint32_t kMaxParamsBytes = 4096;
constexpr int32_t kMaxExtent = 1 << 16; ///< heads, dims, tiles
constexpr uint32_t kMaxScratchBytes = 1u << 30;
constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxAlign = 4096;
constexpr uint32_t kMaxMaps = 8;
constexpr int kMaxMapBox = 256;
constexpr uint32_t kMapGranule = 16; ///< bytes, of everything that TMA reads

template <class T> T readAt(const uint8_t *bytes, size_t offset) {
  T value;
  memcpy(&value, bytes + offset, sizeof(T));
  return value;
}

bool isPowerOfTwo(uint32_t x) { return x && !(x & (x - 1)); }

template <size_t N> bool contains(const uint32_t (&list)[N], uint32_t x) {
  return std::find(list, list + N, x) != list + N;
}

class Verifier {
public:
  explicit Verifier(KernelEntry &entry) : entry(entry) {}

  attnrt_status kernel(const fb::Kernel &k);

private:
  template <class... Args>
  attnrt_status bad(const char *format, Args... args) const {
    char text[512];
    snprintf(text, sizeof(text), format, args...);
    const char *name = entry.info.name ? entry.info.name : "";
    return fail(ATTNRT_BAD_BUNDLE, "kernel '%s': %s", name, text);
  }

  attnrt_status bad(const char *text) const { return bad("%s", text); }

  attnrt_status name(const char *what, const flatbuffers::String *s,
                     const char *&out) const {
    if (s->size() == 0)
      return bad("%s is empty", what);
    for (uint32_t i = 0; i < s->size(); ++i)
      if (s->Data()[i] == 0)
        return bad("%s has %u bytes but a zero byte after %u", what, s->size(),
                   i);
    out = s->c_str();
    return ATTNRT_OK;
  }

  attnrt_status range(const char *what, int64_t value, int64_t low,
                      int64_t high) const {
    if (value < low || value > high)
      return bad("%s is %ld but must lie in [%ld, %ld]", what, value, low,
                 high);
    return ATTNRT_OK;
  }

  attnrt_status params(const fb::Kernel &k);
  attnrt_status tables(const fb::Kernel &k);
  attnrt_status spans() const;
  attnrt_status hooks(const fb::Kernel &k);
  attnrt_status specialisation(const fb::Specialisation &s);
  attnrt_status code(const fb::Specialisation &s, bool gpu,
                     Specialisation &out);
  attnrt_status tensorMaps(const fb::Specialisation &s,
                           Specialisation &out) const;
  attnrt_status tensorMap(const fb::TensorMap &m, uint32_t index,
                          const attnrt_specialisation_info &s,
                          attnrt_tensor_map_info &out) const;

  KernelEntry &entry;
};

attnrt_status Verifier::params(const fb::Kernel &k) {
  if (!k.params())
    return ATTNRT_OK;
  for (const fb::Param *p : *k.params()) {
    attnrt_param_info info = {};
    ATTNRT_TRY(name("param name", p->name(), info.name));
    for (const attnrt_param_info &other : entry.params)
      if (strcmp(other.name, info.name) == 0)
        return bad("param '%s' is declared twice", info.name);
    ATTNRT_TRY(range("param type", int(p->type()), ATTN_I32, ATTN_I1));
    info.type = attn_scalar(p->type());
    info.has_default = p->has_default();
    info.default_bits = p->default_bits();
    info.sample_lo = p->sample_lo();
    info.sample_hi = p->sample_hi();
    info.offset = p->offset();
    entry.params.push_back(info);
  }
  return range("param count", int64_t(entry.params.size()), 0, 256);
}

attnrt_status Verifier::tables(const fb::Kernel &k) {
  if (!k.tables())
    return ATTNRT_OK;
  for (const fb::TableDecl *t : *k.tables()) {
    attnrt_table_info info = {};
    ATTNRT_TRY(name("table name", t->name(), info.name));
    for (const attnrt_table_info &other : entry.tables)
      if (strcmp(other.name, info.name) == 0)
        return bad("table '%s' is declared twice", info.name);
    ATTNRT_TRY(
        range("table element type", int(t->element()), ATTN_I32, ATTN_I1));
    ATTNRT_TRY(range("table rank", t->index()->size(), 1, ATTN_TABLE_MAX_RANK));
    info.element = attn_scalar(t->element());
    info.rank = t->index()->size();
    for (uint32_t i = 0; i < info.rank; ++i) {
      ATTNRT_TRY(range("table index space", t->index()->Get(i), ATTN_INDEX_HEAD,
                       ATTN_INDEX_FREE));
      info.index[i] = attn_index_space(t->index()->Get(i));
    }
    info.sample_lo = t->sample_lo();
    info.sample_hi = t->sample_hi();
    info.sorted = t->sorted();
    info.offset = t->offset();
    entry.tables.push_back(info);
  }
  return range("table count", int64_t(entry.tables.size()), 0, 256);
}

/// Parameters and tables lie behind the fixed fields, aligned, apart from each
/// other and inside the parameter struct of every specialisation; its tensor
/// maps lie behind them.
attnrt_status Verifier::spans() const {
  struct Span {
    uint64_t begin, end;
    const char *name;
  };
  std::vector<Span> list;
  for (const attnrt_param_info &p : entry.params) {
    if (p.offset % 4)
      return bad("param '%s' has offset %u, not a multiple of 4", p.name,
                 p.offset);
    list.push_back({p.offset, uint64_t(p.offset) + 4, p.name});
  }
  for (const attnrt_table_info &t : entry.tables) {
    if (t.offset % 8)
      return bad("table '%s' has offset %u, not a multiple of 8", t.name,
                 t.offset);
    list.push_back(
        {t.offset, uint64_t(t.offset) + sizeof(attn_table_param), t.name});
  }
  std::sort(list.begin(), list.end(),
            [](const Span &a, const Span &b) { return a.begin < b.begin; });
  uint64_t end = ATTN_PARAMS_FIXED_BYTES;
  for (const Span &span : list) {
    if (span.begin < end)
      return bad("'%s' has offset %lu but bytes up to %lu are taken", span.name,
                 span.begin, end);
    end = span.end;
  }
  for (const Specialisation &s : entry.specialisations) {
    uint64_t needed = end;
    for (const attnrt_tensor_map_info &m : s.tensorMaps) {
      if (m.offset < needed)
        return bad("tensor map has offset %u but bytes up to %lu are taken",
                   m.offset, needed);
      needed = uint64_t(m.offset) + ATTN_TENSOR_MAP_BYTES;
    }
    if (s.info.params_bytes < needed)
      return bad("parameter struct has %u bytes but its fields need %lu",
                 s.info.params_bytes, needed);
  }
  return ATTNRT_OK;
}

attnrt_status Verifier::hooks(const fb::Kernel &k) {
  if (!k.hooks())
    return ATTNRT_OK;
  attn::mask::Signature signature;
  for (const attnrt_param_info &p : entry.params)
    signature.params.push_back(p.type);
  for (const attnrt_table_info &t : entry.tables)
    signature.tables.push_back({t.element, t.rank});
  bool seen[ATTN_HOOK_KINDS] = {};
  for (const fb::Hook *h : *k.hooks()) {
    ATTNRT_TRY(range("hook kind", h->kind(), 0, ATTN_HOOK_KINDS - 1));
    auto kind = attn_hook_kind(h->kind());
    const char *kindName = attn::mask::nameOf(kind);
    if (seen[kind])
      return bad("hook %s occurs twice", kindName);
    seen[kind] = true;
    attn::mask::HookProgram program;
    std::string error;
    if (!attn::mask::HookProgram::decode(h->code()->data(), h->code()->size(),
                                         signature, program, error))
      return bad("hook %s: %s", kindName, error.c_str());
    if (program.kind() != kind)
      return bad("hook %s holds a program of kind %s", kindName,
                 attn::mask::nameOf(program.kind()));
    entry.hooks.push_back({kind, h->code()->data(), h->code()->size()});
    if (kind == ATTN_HOOK_MASK) {
      entry.mask = std::move(program);
      if (k.map_form() == fb::MapForm::Closed &&
          !attn::mask::closedForm(entry.mask, entry.bounds))
        entry.bounds = {};
    }
  }
  if (seen[ATTN_HOOK_SINK] && entry.info.normaliser == ATTNRT_NO_NORMALISER)
    return bad("a sink needs the normaliser softmax");
  return ATTNRT_OK;
}

attnrt_status Verifier::code(const fb::Specialisation &s, bool gpu,
                             Specialisation &out) {
  if (s.code()->size() == 0)
    return bad("specialisation %zu has no code", entry.specialisations.size());
  for (const fb::Code *c : *s.code()) {
    ATTNRT_TRY(range("code kind", int(c->kind()), ATTNRT_CODE_SHARED_OBJECT,
                     ATTNRT_CODE_CUBIN));
    attnrt_code_info info = {};
    info.kind = attnrt_code_kind(c->kind());
    ATTNRT_TRY(name("code arch", c->arch(), info.arch));
    if (gpu == (info.kind == ATTNRT_CODE_SHARED_OBJECT))
      return bad("code for '%s' has kind %d, which target '%s' cannot load",
                 info.arch, int(info.kind), out.info.target);
    if (c->data()->size() == 0)
      return bad("code for '%s' has 0 bytes", info.arch);
    info.data = c->data()->data();
    info.size = c->data()->size();
    out.codes.push_back(info);
  }
  out.info.codes = uint32_t(out.codes.size());
  return ATTNRT_OK;
}

/// What cuTensorMapEncodeTiled would refuse is refused here, as far as it does
/// not depend on the tensors of a call.
attnrt_status Verifier::tensorMap(const fb::TensorMap &m, uint32_t index,
                                  const attnrt_specialisation_info &s,
                                  attnrt_tensor_map_info &out) const {
  ATTNRT_TRY(range("tensor of a map", int(m.tensor()), ATTN_MAP_Q, ATTN_MAP_V));
  out.tensor = attn_map_tensor(m.tensor());
  out.offset = m.offset();
  if (out.offset % ATTN_TENSOR_MAP_ALIGN)
    return bad("tensor map %u has offset %u, not a multiple of %d", index,
               out.offset, ATTN_TENSOR_MAP_ALIGN);
  out.rank = m.dims()->size();
  ATTNRT_TRY(range("tensor map rank", out.rank, 1, ATTN_MAP_MAX_RANK));
  if (m.box()->size() != out.rank)
    return bad("tensor map %u has %u dimensions but its box %u", index,
               out.rank, m.box()->size());
  bool seen[ATTN_MAP_MAX_RANK] = {};
  for (uint32_t i = 0; i < out.rank; ++i) {
    int dim = m.dims()->Get(i), box = m.box()->Get(i);
    ATTNRT_TRY(
        range("tensor map dimension", dim, ATTN_MAP_DIM, ATTN_MAP_BATCH));
    ATTNRT_TRY(range("tensor map box", box, 1, kMaxMapBox));
    if (seen[dim])
      return bad("tensor map %u has dimension %d twice", index, dim);
    seen[dim] = true;
    out.dims[i] = attn_map_dim(dim);
    out.box[i] = uint32_t(box);
  }
  if (out.dims[0] != ATTN_MAP_DIM)
    return bad("tensor map %u has innermost dimension %d but it must be %d",
               index, int(out.dims[0]), int(ATTN_MAP_DIM));
  if (seen[ATTN_MAP_GROUP] && (out.tensor != ATTN_MAP_Q || s.pack == 1))
    return bad("tensor map %u has a group but its tensor is %d and pack %d",
               index, int(out.tensor), s.pack);
  if (int(m.element()) != int(s.element))
    return bad("tensor map %u has element type %d but q, k and v have %d",
               index, int(m.element()), int(s.element));
  out.element = s.element;
  out.swizzle = m.swizzle();
  out.promotion = m.promotion();
  static constexpr uint32_t swizzles[] = {0, 32, 64, 128};
  static constexpr uint32_t promotions[] = {0, 64, 128, 256};
  if (!contains(swizzles, out.swizzle))
    return bad("tensor map %u has swizzle %u (known: 0, 32, 64, 128)", index,
               out.swizzle);
  if (!contains(promotions, out.promotion))
    return bad("tensor map %u has promotion %u (known: 0, 64, 128, 256)", index,
               out.promotion);
  uint32_t row = out.box[0] * bytesOf(s.element);
  if (row % kMapGranule || (out.swizzle && row > out.swizzle))
    return bad("tensor map %u has rows of %u bytes, but they must be multiples "
               "of %u and fit swizzle %u",
               index, row, kMapGranule, out.swizzle);
  return ATTNRT_OK;
}

attnrt_status Verifier::tensorMaps(const fb::Specialisation &s,
                                   Specialisation &out) const {
  attnrt_specialisation_info &info = out.info;
  if (!s.tensor_maps() || s.tensor_maps()->size() == 0)
    return ATTNRT_OK;
  info.tensor_maps = s.tensor_maps()->size();
  ATTNRT_TRY(range("tensor map count", info.tensor_maps, 0, kMaxMaps));
  // So that Run.cpp's check of each call is all that a map needs.
  uint32_t stride = info.stride_multiple * bytesOf(info.element);
  if (info.base_align % kMapGranule || stride % kMapGranule)
    return bad("tensor maps need tensors at multiples of %u bytes but the "
               "specialisation asks for base %u and stride %u",
               kMapGranule, info.base_align, stride);
  for (uint32_t i = 0; i < info.tensor_maps; ++i) {
    attnrt_tensor_map_info map = {};
    ATTNRT_TRY(tensorMap(*s.tensor_maps()->Get(i), i, info, map));
    out.tensorMaps.push_back(map);
  }
  return ATTNRT_OK;
}

attnrt_status Verifier::specialisation(const fb::Specialisation &s) {
  Specialisation out;
  attnrt_specialisation_info &info = out.info;
  ATTNRT_TRY(name("target", s.target(), info.target));
  bool gpu = strncmp(info.target, "sm_", 3) == 0;
  if (!gpu && strcmp(info.target, "cpu") != 0)
    return bad("target '%s' is neither cpu nor sm_N", info.target);
  ATTNRT_TRY(range("element type", int(s.element()), ATTNRT_F32, ATTNRT_BF16));
  ATTNRT_TRY(range("output type", int(s.output()), ATTNRT_F32, ATTNRT_BF16));
  info.element = attnrt_element(s.element());
  info.output = attnrt_element(s.output());
  ATTNRT_TRY(range("tile_q", s.tile_q(), 1, kMaxExtent));
  ATTNRT_TRY(range("tile_k", s.tile_k(), 1, kMaxExtent));
  if (s.pack() != 1 && s.pack() != entry.group())
    return bad("pack is %d but only 1 and %d are possible", s.pack(),
               entry.group());
  if (s.tile_q() < s.pack())
    return bad("tile of %d rows is smaller than pack %d", s.tile_q(),
               s.pack());
  info.tile_q = s.tile_q();
  info.tile_k = s.tile_k();
  info.pack = s.pack();
  ATTNRT_TRY(name("entry name", s.entry(), info.entry));
  ATTNRT_TRY(name("merge entry name", s.merge_entry(), info.merge_entry));
  ATTNRT_TRY(code(s, gpu, out));
  ATTNRT_TRY(range("params_bytes", s.params_bytes(), ATTN_PARAMS_FIXED_BYTES,
                   kMaxParamsBytes));
  info.params_bytes = s.params_bytes();
  if (gpu) {
    ATTNRT_TRY(range("threads", s.threads(), 1, kMaxThreads));
    ATTNRT_TRY(range("merge_threads", s.merge_threads(), 1, kMaxThreads));
  }
  info.threads = s.threads();
  info.merge_threads = s.merge_threads();
  info.shared_bytes = s.shared_bytes();
  info.merge_shared_bytes = s.merge_shared_bytes();
  info.registers = s.registers();
  ATTNRT_TRY(range("scratch_bytes", s.scratch_bytes(), 0, kMaxScratchBytes));
  ATTNRT_TRY(range("merge_scratch_bytes", s.merge_scratch_bytes(), 0,
                   kMaxScratchBytes));
  info.scratch_bytes = s.scratch_bytes();
  info.merge_scratch_bytes = s.merge_scratch_bytes();
  // 0 and 1 both mean no requirement.
  ATTNRT_TRY(range("stride_multiple", s.stride_multiple(), 0, kMaxAlign));
  ATTNRT_TRY(range("base_align", s.base_align(), 0, kMaxAlign));
  if (s.base_align() && !isPowerOfTwo(s.base_align()))
    return bad("base_align is %u, not a power of two", s.base_align());
  info.stride_multiple = std::max(s.stride_multiple(), 1u);
  info.base_align = std::max(s.base_align(), 1u);
  info.scale_positive = s.scale_positive();
  for (float cost : {s.cost_q(), s.cost_kv()})
    if (!(cost >= 0 && cost <= 1e30f))
      return bad("cost is %g but must lie in [0, 1e30]", double(cost));
  info.cost_q = s.cost_q();
  info.cost_kv = s.cost_kv();
  info.schedule = s.schedule() ? s.schedule()->c_str() : "";
  info.dynamic = s.dynamic();
  info.cta_an_item = s.cta_an_item();
  ATTNRT_TRY(tensorMaps(s, out));
  if (info.dynamic && info.cta_an_item)
    return bad("CTAs take items from a queue but the launch has one for each "
               "item");
  if (!gpu && (info.tensor_maps || info.dynamic || info.cta_an_item))
    return bad(
        "target '%s' has %u tensor maps, dynamic %d and a CTA for each item "
        "%d, which only a GPU has",
        info.target, info.tensor_maps, info.dynamic, info.cta_an_item);
  entry.specialisations.push_back(std::move(out));
  return ATTNRT_OK;
}

attnrt_status Verifier::kernel(const fb::Kernel &k) {
  attnrt_kernel_info &info = entry.info;
  ATTNRT_TRY(name("kernel name", k.name(), info.name));
  ATTNRT_TRY(range("heads", k.heads(), 1, kMaxExtent));
  ATTNRT_TRY(range("kv_heads", k.kv_heads(), 1, kMaxExtent));
  if (k.heads() % k.kv_heads() != 0)
    return bad("%d heads are not a multiple of %d kv heads", k.heads(),
               k.kv_heads());
  ATTNRT_TRY(range("dim", k.dim(), 1, kMaxExtent));
  ATTNRT_TRY(range("dim_v", k.dim_v(), 1, kMaxExtent));
  ATTNRT_TRY(range("storage", int(k.storage()), ATTNRT_DENSE, ATTNRT_RAGGED));
  ATTNRT_TRY(range("normaliser", int(k.normaliser()), ATTNRT_SOFTMAX,
                   ATTNRT_NO_NORMALISER));
  ATTNRT_TRY(range("map form", int(k.map_form()), int(fb::MapForm::MIN),
                   int(fb::MapForm::MAX)));
  if (!std::isfinite(k.default_scale()))
    return bad("default scale %g is not finite", double(k.default_scale()));
  static const char *const forms[] = {"closed", "list", "opaque"};
  info.heads = k.heads();
  info.kv_heads = k.kv_heads();
  info.dim = k.dim();
  info.dim_v = k.dim_v();
  info.storage = attnrt_storage(k.storage());
  info.normaliser = attnrt_normaliser(k.normaliser());
  info.default_scale = k.default_scale();
  info.map_form = forms[int(k.map_form())];
  info.block_map = k.block_map() ? k.block_map()->c_str() : "";
  info.source_hash = k.source_hash() ? k.source_hash()->c_str() : "";
  ATTNRT_TRY(params(k));
  ATTNRT_TRY(tables(k));
  ATTNRT_TRY(hooks(k));
  if (!k.specialisations() || k.specialisations()->size() == 0)
    return bad("it has no specialisation");
  for (const fb::Specialisation *s : *k.specialisations())
    ATTNRT_TRY(specialisation(*s));
  ATTNRT_TRY(spans());
  info.params = uint32_t(entry.params.size());
  info.tables = uint32_t(entry.tables.size());
  info.hooks = uint32_t(entry.hooks.size());
  info.specialisations = uint32_t(entry.specialisations.size());
  return ATTNRT_OK;
}

attnrt_status verifyHeader(const uint8_t *bytes, size_t size) {
  if (size < kHeaderBytes)
    return fail(ATTNRT_BAD_BUNDLE,
                "bundle has %zu bytes but its header has %zu", size,
                kHeaderBytes);
  if (memcmp(bytes, "ATTNBNDL", 8) != 0)
    return fail(ATTNRT_BAD_BUNDLE, "bundle does not begin with ATTNBNDL");
  auto version = readAt<uint32_t>(bytes, 8);
  if (version != ATTN_ABI_VERSION)
    return fail(ATTNRT_BAD_BUNDLE,
                "bundle has abi version %u but the runtime knows %d", version,
                ATTN_ABI_VERSION);
  for (size_t i : {12, 13, 14, 15})
    if (bytes[i])
      return fail(ATTNRT_BAD_BUNDLE, "reserved byte %zu of the bundle is %u", i,
                  bytes[i]);
  for (size_t i = 40; i < kHeaderBytes; ++i)
    if (bytes[i])
      return fail(ATTNRT_BAD_BUNDLE, "reserved byte %zu of the bundle is %u", i,
                  bytes[i]);
  auto payload = readAt<uint64_t>(bytes, 16);
  if (payload != size - kHeaderBytes)
    return fail(ATTNRT_BAD_BUNDLE,
                "bundle has %zu payload bytes but its header says %lu",
                size - kHeaderBytes, payload);
  XXH128_hash_t hash = XXH3_128bits(bytes + kHeaderBytes, payload);
  auto low = readAt<uint64_t>(bytes, 24), high = readAt<uint64_t>(bytes, 32);
  if (hash.low64 != low || hash.high64 != high)
    return fail(
        ATTNRT_BAD_BUNDLE,
        "bundle hash is 0x%016lx%016lx but its bytes give 0x%016lx%016lx", high,
        low, uint64_t(hash.high64), uint64_t(hash.low64));
  return ATTNRT_OK;
}

} // namespace

attnrt_status Bundle::verify() {
  ATTNRT_TRY(verifyHeader(bytes, size));
  const uint8_t *payload = bytes + kHeaderBytes;
  flatbuffers::Verifier verifier(payload, size - kHeaderBytes);
  if (!fb::VerifyBundleBuffer(verifier))
    return fail(ATTNRT_BAD_BUNDLE,
                "bundle payload of %zu bytes is not a valid ATNB flatbuffer",
                size - kHeaderBytes);
  const fb::Bundle *root = fb::GetBundle(payload);
  if (root->compiler())
    compiler = root->compiler()->c_str();
  if (root->kernels()->size() == 0)
    return fail(ATTNRT_BAD_BUNDLE, "bundle has no kernels");
  kernels.resize(root->kernels()->size());
  for (uint32_t i = 0; i < kernels.size(); ++i) {
    ATTNRT_TRY(Verifier(kernels[i]).kernel(*root->kernels()->Get(i)));
    for (uint32_t j = 0; j < i; ++j)
      if (strcmp(kernels[i].info.name, kernels[j].info.name) == 0)
        return fail(ATTNRT_BAD_BUNDLE, "kernel '%s' occurs twice",
                    kernels[i].info.name);
  }
  return ATTNRT_OK;
}

} // namespace attnrt
