//===- BundleTest.cpp - verification and introspection of bundles ---------===//
#include "TestBundle.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <unistd.h>

static attnrt_status openBytes(const std::vector<uint8_t> &bytes) {
  attnrt_bundle *bundle = nullptr;
  attnrt_status status =
      attnrt_bundle_open_memory(bytes.data(), bytes.size(), &bundle);
  EXPECT_EQ(bundle != nullptr, status == ATTNRT_OK);
  attnrt_bundle_close(bundle);
  return status;
}

TEST(Bundle, SaysWhatWasWritten) {
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  EXPECT_STREQ(attnrt_bundle_compiler(f.bundle), "test writer");
  ASSERT_EQ(attnrt_bundle_kernels(f.bundle), 1u);
  uint32_t index = 7;
  ASSERT_OK(attnrt_bundle_find(f.bundle, "tiny", &index));
  EXPECT_EQ(index, 0u);

  attnrt_kernel_info k;
  ASSERT_OK(attnrt_bundle_kernel(f.bundle, 0, &k));
  EXPECT_STREQ(k.name, "tiny");
  EXPECT_EQ(k.heads, 4);
  EXPECT_EQ(k.kv_heads, 2);
  EXPECT_EQ(k.dim, 8);
  EXPECT_EQ(k.dim_v, 8);
  EXPECT_EQ(k.storage, ATTNRT_RAGGED);
  EXPECT_EQ(k.normaliser, ATTNRT_SOFTMAX);
  EXPECT_FLOAT_EQ(k.default_scale, 0.35355339f);
  EXPECT_EQ(k.params, 2u);
  EXPECT_EQ(k.tables, 1u);
  EXPECT_EQ(k.hooks, 2u);
  EXPECT_EQ(k.specialisations, 1u);
  EXPECT_STREQ(k.map_form, "closed");
  EXPECT_STREQ(k.block_map, "#map");
  EXPECT_STREQ(k.source_hash, "abc123");

  attnrt_param_info p;
  ASSERT_OK(attnrt_bundle_param(f.bundle, 0, 1, &p));
  EXPECT_STREQ(p.name, "window");
  EXPECT_EQ(p.type, ATTN_I32);
  EXPECT_EQ(p.default_bits, 1u << 30);
  EXPECT_TRUE(p.has_default);
  EXPECT_EQ(p.sample_lo, 1u);
  EXPECT_EQ(p.sample_hi, 9u);
  EXPECT_EQ(p.offset, 204u);

  attnrt_table_info t;
  ASSERT_OK(attnrt_bundle_table(f.bundle, 0, 0, &t));
  EXPECT_STREQ(t.name, "temp");
  EXPECT_EQ(t.element, ATTN_F32);
  EXPECT_EQ(t.rank, 1u);
  EXPECT_EQ(t.index[0], ATTN_INDEX_HEAD);
  EXPECT_EQ(t.sample_lo, 2u);
  EXPECT_EQ(t.sample_hi, 3u);
  EXPECT_TRUE(t.sorted);
  EXPECT_EQ(t.offset, 208u);

  attnrt_hook_info h;
  ASSERT_OK(attnrt_bundle_hook(f.bundle, 0, 1, &h));
  EXPECT_EQ(h.kind, ATTN_HOOK_MASK);
  ASSERT_GE(h.size, 12u);
  EXPECT_EQ(memcmp(h.code, ATTN_HOOK_MAGIC, 4), 0);

  attnrt_specialisation_info s;
  ASSERT_OK(attnrt_bundle_specialisation(f.bundle, 0, 0, &s));
  EXPECT_STREQ(s.target, "cpu");
  EXPECT_EQ(s.tile_q, 8);
  EXPECT_EQ(s.tile_k, 16);
  EXPECT_EQ(s.pack, 1);
  EXPECT_STREQ(s.entry, "tiny_attention");
  EXPECT_STREQ(s.merge_entry, "tiny_merge");
  EXPECT_EQ(s.codes, 1u);
  EXPECT_EQ(s.params_bytes, 232u);
  EXPECT_EQ(s.registers, 42u);
  EXPECT_EQ(s.scratch_bytes, 64u);
  EXPECT_EQ(s.base_align, 4u);
  EXPECT_STREQ(s.schedule, "#schedule");
  EXPECT_EQ(s.tensor_maps, 0u);
  EXPECT_FALSE(s.dynamic);

  attnrt_code_info c;
  ASSERT_OK(attnrt_bundle_code(f.bundle, 0, 0, 0, &c));
  EXPECT_EQ(c.kind, ATTNRT_CODE_SHARED_OBJECT);
  EXPECT_STREQ(c.arch, "x86-64");
  ASSERT_GT(c.size, 4u);
  EXPECT_EQ(memcmp(c.data, "\177ELF", 4), 0);
}

TEST(Bundle, SaysWhatATensorMapIs) {
  TestBundle content = TestBundle::tma();
  content.spec().pack = 2;
  content.spec().tensorMaps[0].dims = {ATTN_MAP_DIM, ATTN_MAP_GROUP,
                                       ATTN_MAP_TOKEN, ATTN_MAP_HEAD,
                                       ATTN_MAP_BATCH};
  content.spec().tensorMaps[0].box = {8, 2, 4, 1, 1};
  std::vector<uint8_t> bytes = content.write();
  attnrt_bundle *bundle = nullptr;
  ASSERT_OK(attnrt_bundle_open_memory(bytes.data(), bytes.size(), &bundle));
  attnrt_specialisation_info s;
  ASSERT_OK(attnrt_bundle_specialisation(bundle, 0, 0, &s));
  EXPECT_EQ(s.tensor_maps, 3u);
  EXPECT_TRUE(s.dynamic);
  attnrt_tensor_map_info m;
  ASSERT_OK(attnrt_bundle_tensor_map(bundle, 0, 0, 0, &m));
  EXPECT_EQ(m.tensor, ATTN_MAP_Q);
  EXPECT_EQ(m.offset, 256u);
  ASSERT_EQ(m.rank, 5u);
  const attn_map_dim dims[] = {ATTN_MAP_DIM, ATTN_MAP_GROUP, ATTN_MAP_TOKEN,
                               ATTN_MAP_HEAD, ATTN_MAP_BATCH};
  const uint32_t box[] = {8, 2, 4, 1, 1};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(m.dims[i], dims[i]);
    EXPECT_EQ(m.box[i], box[i]);
  }
  EXPECT_EQ(m.element, ATTNRT_F32);
  EXPECT_EQ(m.swizzle, 32u);
  EXPECT_EQ(m.promotion, 128u);
  ASSERT_OK(attnrt_bundle_tensor_map(bundle, 0, 0, 2, &m));
  EXPECT_EQ(m.tensor, ATTN_MAP_V);
  EXPECT_EQ(m.rank, 4u);
  EXPECT_FAILS(attnrt_bundle_tensor_map(bundle, 0, 0, 3, &m),
               ATTNRT_INVALID_ARGUMENT,
               "tensor map index is 3 but the kernel has 3");
  attnrt_bundle_close(bundle);
}

TEST(Bundle, IndicesAreChecked) {
  Fixture f;
  ASSERT_OK(f.open(TestBundle::tiny()));
  attnrt_kernel_info k;
  attnrt_param_info p;
  attnrt_table_info t;
  attnrt_hook_info h;
  attnrt_specialisation_info s;
  attnrt_code_info c;
  uint32_t index;
  EXPECT_FAILS(attnrt_bundle_kernel(f.bundle, 1, &k), ATTNRT_INVALID_ARGUMENT,
               "kernel index is 1 but the bundle has 1");
  EXPECT_FAILS(attnrt_bundle_param(f.bundle, 0, 2, &p), ATTNRT_INVALID_ARGUMENT,
               "param index is 2 but the kernel has 2");
  EXPECT_FAILS(attnrt_bundle_table(f.bundle, 0, 5, &t), ATTNRT_INVALID_ARGUMENT,
               "table index is 5 but the kernel has 1");
  EXPECT_FAILS(attnrt_bundle_hook(f.bundle, 0, 2, &h), ATTNRT_INVALID_ARGUMENT,
               "hook index is 2 but the kernel has 2");
  EXPECT_FAILS(attnrt_bundle_specialisation(f.bundle, 0, 1, &s),
               ATTNRT_INVALID_ARGUMENT,
               "specialisation index is 1 but the kernel has 1");
  EXPECT_FAILS(attnrt_bundle_code(f.bundle, 0, 0, 1, &c),
               ATTNRT_INVALID_ARGUMENT, "code index is 1 but the kernel has 1");
  EXPECT_FAILS(attnrt_bundle_find(f.bundle, "huge", &index), ATTNRT_NOT_FOUND,
               "bundle has no kernel 'huge' (1 kernels, the first is 'tiny')");
  EXPECT_FAILS(attnrt_bundle_find(f.bundle, nullptr, &index),
               ATTNRT_INVALID_ARGUMENT,
               "bundle, name or result pointer is null");
  EXPECT_FAILS(attnrt_bundle_kernel(nullptr, 0, &k), ATTNRT_INVALID_ARGUMENT,
               "bundle is null");
  EXPECT_FAILS(attnrt_bundle_kernel(f.bundle, 0, nullptr),
               ATTNRT_INVALID_ARGUMENT, "result pointer is null");
  EXPECT_FAILS(attnrt_bundle_open(nullptr, nullptr), ATTNRT_INVALID_ARGUMENT,
               "path or result pointer is null");
  EXPECT_FAILS(attnrt_bundle_open_memory(nullptr, 3, &f.bundle),
               ATTNRT_INVALID_ARGUMENT, "data or result pointer is null");
}

TEST(Bundle, Files) {
  attnrt_bundle *bundle = nullptr;
  std::string directory = ::testing::TempDir();
  std::string path =
      directory + "attnrt-bundle-" + std::to_string(getpid()) + ".attn";
  EXPECT_FAILS(attnrt_bundle_open(path.c_str(), &bundle), ATTNRT_IO_ERROR,
               "cannot open '" + path + "': No such file or directory");
  EXPECT_FAILS(attnrt_bundle_open(directory.c_str(), &bundle), ATTNRT_IO_ERROR,
               "'" + directory + "' is not a regular file");
  std::ofstream(path).close();
  EXPECT_FAILS(attnrt_bundle_open(path.c_str(), &bundle), ATTNRT_BAD_BUNDLE,
               "bundle has 0 bytes but its header has 64");
  std::vector<uint8_t> bytes = TestBundle::tiny().write();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
  ASSERT_OK(attnrt_bundle_open(path.c_str(), &bundle));
  EXPECT_EQ(attnrt_bundle_kernels(bundle), 1u);
  attnrt_bundle_close(bundle);
  remove(path.c_str());
}

TEST(Bundle, Header) {
  const std::vector<uint8_t> good = TestBundle::tiny().write();
  auto with = [&](size_t offset, uint8_t value) {
    std::vector<uint8_t> bytes = good;
    bytes[offset] = value;
    return bytes;
  };
  EXPECT_FAILS(openBytes(with(0, 'X')), ATTNRT_BAD_BUNDLE,
               "bundle does not begin with ATTNBNDL");
  EXPECT_FAILS(openBytes(with(8, 9)), ATTNRT_BAD_BUNDLE,
               "bundle has abi version 9 but the runtime knows 3");
  EXPECT_FAILS(openBytes(with(13, 5)), ATTNRT_BAD_BUNDLE,
               "reserved byte 13 of the bundle is 5");
  EXPECT_FAILS(openBytes(with(50, 1)), ATTNRT_BAD_BUNDLE,
               "reserved byte 50 of the bundle is 1");
  std::vector<uint8_t> bytes = good;
  bytes.pop_back();
  EXPECT_FAILS(openBytes(bytes), ATTNRT_BAD_BUNDLE,
               "bundle has " + std::to_string(good.size() - 65) +
                   " payload bytes but its header says " +
                   std::to_string(good.size() - 64));
  EXPECT_EQ(openBytes(with(good.size() - 1, good.back() ^ 1)),
            ATTNRT_BAD_BUNDLE);
  std::string text = attnrt_last_error();
  EXPECT_EQ(text.find("bundle hash is 0x"), 0u) << text;
  EXPECT_NE(text.find(" but its bytes give 0x"), std::string::npos) << text;
  // A right hash over bytes that are no flatbuffer.
  bytes.assign(64 + 32, 0);
  memcpy(bytes.data(), good.data(), 64);
  sealBundle(bytes);
  EXPECT_FAILS(openBytes(bytes), ATTNRT_BAD_BUNDLE,
               "bundle payload of 32 bytes is not a valid ATNB flatbuffer");
  bytes.resize(64);
  sealBundle(bytes);
  EXPECT_FAILS(openBytes(bytes), ATTNRT_BAD_BUNDLE,
               "bundle payload of 0 bytes is not a valid ATNB flatbuffer");
}

TEST(Bundle, RandomTruncationsAndFlipsAreRefused) {
  TestBundle small = TestBundle::gpu();
  const std::vector<uint8_t> good = small.write();
  ASSERT_EQ(openBytes(good), ATTNRT_OK) << attnrt_last_error();
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    std::vector<uint8_t> bytes = good;
    if (i % 2)
      bytes.resize(random() % good.size());
    else
      bytes[random() % good.size()] ^= uint8_t(1u << random() % 8);
    // Exactly sized heap memory, so that a sanitizer sees any read behind it.
    EXPECT_EQ(openBytes(bytes), ATTNRT_BAD_BUNDLE);
    EXPECT_STRNE(attnrt_last_error(), "");
  }
}

TEST(Bundle, RandomFlipsUnderARightHashDoNotCrash) {
  const std::vector<uint8_t> good = TestBundle::tma().write();
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<uint8_t> bytes = good;
    if (i % 4 == 0)
      bytes.resize(64 + random() % (good.size() - 64));
    for (unsigned flips = 1 + random() % 3; flips > 0 && bytes.size() > 64;
         --flips)
      bytes[64 + random() % (bytes.size() - 64)] ^= uint8_t(1u << random() % 8);
    sealBundle(bytes);
    refused += openBytes(bytes) != ATTNRT_OK;
  }
  EXPECT_GT(refused, 1500);
}

namespace {
struct Case {
  std::function<void(TestBundle &)> change;
  const char *error; ///< behind "kernel 'tiny': " unless it begins with !
};
} // namespace

template <size_t N>
static void checkCases(const Case (&cases)[N], TestBundle (*make)()) {
  EXPECT_EQ(openBytes(make().write()), ATTNRT_OK) << attnrt_last_error();
  for (const Case &c : cases) {
    TestBundle bundle = make();
    c.change(bundle);
    std::string expected = c.error[0] == '!'
                               ? std::string(c.error + 1)
                               : std::string("kernel 'tiny': ") + c.error;
    EXPECT_FAILS(openBytes(bundle.write()), ATTNRT_BAD_BUNDLE, expected);
  }
}

TEST(Bundle, SemanticRules) {
  const Case cases[] = {
      {[](TestBundle &b) { b.kernels.clear(); }, "!bundle has no kernels"},
      {[](TestBundle &b) { b.kernels.push_back(b.kernels[0]); },
       "!kernel 'tiny' occurs twice"},
      {[](TestBundle &b) { b.kernel().name = ""; },
       "!kernel '': kernel name is empty"},
      {[](TestBundle &b) { b.kernel().name = std::string("a\0b", 3); },
       "!kernel '': kernel name has 3 bytes but a zero byte after 1"},
      {[](TestBundle &b) { b.kernel().heads = 0; },
       "heads is 0 but must lie in [1, 65536]"},
      {[](TestBundle &b) { b.kernel().kvHeads = -1; },
       "kv_heads is -1 but must lie in [1, 65536]"},
      {[](TestBundle &b) { b.kernel().kvHeads = 3; },
       "4 heads are not a multiple of 3 kv heads"},
      {[](TestBundle &b) { b.kernel().dim = 0; },
       "dim is 0 but must lie in [1, 65536]"},
      {[](TestBundle &b) { b.kernel().dimV = 70000; },
       "dim_v is 70000 but must lie in [1, 65536]"},
      {[](TestBundle &b) { b.kernel().storage = 2; },
       "storage is 2 but must lie in [0, 1]"},
      {[](TestBundle &b) { b.kernel().normaliser = 7; },
       "normaliser is 7 but must lie in [0, 1]"},
      {[](TestBundle &b) { b.kernel().mapForm = 3; },
       "map form is 3 but must lie in [0, 2]"},
      {[](TestBundle &b) { b.kernel().defaultScale = 1.0f / 0.0f; },
       "default scale inf is not finite"},
      {[](TestBundle &b) { b.kernel().params[1].name = "bias"; },
       "param 'bias' is declared twice"},
      {[](TestBundle &b) { b.kernel().params[1].type = 3; },
       "param type is 3 but must lie in [0, 2]"},
      {[](TestBundle &b) { b.kernel().params[1].offset = 202; },
       "param 'window' has offset 202, not a multiple of 4"},
      {[](TestBundle &b) { b.kernel().params[1].offset = 200; },
       "'window' has offset 200 but bytes up to 204 are taken"},
      {[](TestBundle &b) { b.kernel().params[0].offset = 196; },
       "'bias' has offset 196 but bytes up to 200 are taken"},
      {[](TestBundle &b) { b.kernel().params[1].offset = 0xfffffffc; },
       "parameter struct has 232 bytes but its fields need 4294967296"},
      {[](TestBundle &b) { b.spec().paramsBytes = 228; },
       "parameter struct has 228 bytes but its fields need 232"},
      {[](TestBundle &b) { b.spec().paramsBytes = 199; },
       "params_bytes is 199 but must lie in [200, 4096]"},
      {[](TestBundle &b) { b.kernel().tables.push_back(b.kernel().tables[0]); },
       "table 'temp' is declared twice"},
      {[](TestBundle &b) { b.kernel().tables[0].element = 3; },
       "table element type is 3 but must lie in [0, 2]"},
      {[](TestBundle &b) { b.kernel().tables[0].index.assign(4, 0); },
       "table rank is 4 but must lie in [1, 3]"},
      {[](TestBundle &b) { b.kernel().tables[0].index = {9}; },
       "table index space is 9 but must lie in [0, 3]"},
      {[](TestBundle &b) { b.kernel().tables[0].offset = 212; },
       "table 'temp' has offset 212, not a multiple of 8"},
      {[](TestBundle &b) { b.kernel().hooks[0].kind = 7; },
       "hook kind is 7 but must lie in [0, 6]"},
      {[](TestBundle &b) { b.kernel().hooks.push_back(b.kernel().hooks[1]); },
       "hook mask occurs twice"},
      {[](TestBundle &b) { b.kernel().hooks[0].kind = ATTN_HOOK_SINK; },
       "hook sink holds a program of kind score"},
      {[](TestBundle &b) { b.kernel().specs.clear(); },
       "it has no specialisation"},
      {[](TestBundle &b) { b.spec().target = "hexagon"; },
       "target 'hexagon' is neither cpu nor sm_N"},
      {[](TestBundle &b) { b.spec().element = 3; },
       "element type is 3 but must lie in [0, 2]"},
      {[](TestBundle &b) { b.spec().output = 4; },
       "output type is 4 but must lie in [0, 2]"},
      {[](TestBundle &b) { b.spec().tileQ = 0; },
       "tile_q is 0 but must lie in [1, 65536]"},
      {[](TestBundle &b) { b.spec().tileK = -16; },
       "tile_k is -16 but must lie in [1, 65536]"},
      {[](TestBundle &b) { b.spec().pack = 4; },
       "pack is 4 but only 1 and 2 are possible"},
      {[](TestBundle &b) {
         b.spec().pack = 2;
         b.spec().tileQ = 1;
       },
       "tile of 1 rows is smaller than pack 2"},
      {[](TestBundle &b) { b.spec().entry = ""; }, "entry name is empty"},
      {[](TestBundle &b) { b.spec().mergeEntry = ""; },
       "merge entry name is empty"},
      {[](TestBundle &b) { b.spec().code.clear(); },
       "specialisation 0 has no code"},
      {[](TestBundle &b) { b.spec().code[0].kind = 3; },
       "code kind is 3 but must lie in [0, 2]"},
      {[](TestBundle &b) { b.spec().code[0].kind = ATTNRT_CODE_PTX; },
       "code for 'x86-64' has kind 1, which target 'cpu' cannot load"},
      {[](TestBundle &b) {
         b.spec().target = "sm_80";
         b.spec().threads = 128;
       },
       "code for 'x86-64' has kind 0, which target 'sm_80' cannot load"},
      {[](TestBundle &b) { b.spec().code[0].data = ""; },
       "code for 'x86-64' has 0 bytes"},
      {[](TestBundle &b) {
         b = TestBundle::gpu();
         b.spec().threads = 2048;
       },
       "threads is 2048 but must lie in [1, 1024]"},
      {[](TestBundle &b) {
         b = TestBundle::gpu();
         b.spec().mergeThreads = 0;
       },
       "merge_threads is 0 but must lie in [1, 1024]"},
      {[](TestBundle &b) { b.spec().scratchBytes = 0xffffffff; },
       "scratch_bytes is 4294967295 but must lie in [0, 1073741824]"},
      {[](TestBundle &b) { b.spec().strideMultiple = 5000; },
       "stride_multiple is 5000 but must lie in [0, 4096]"},
      {[](TestBundle &b) { b.spec().baseAlign = 24; },
       "base_align is 24, not a power of two"},
      {[](TestBundle &b) { b.spec().costQ = -1; },
       "cost is -1 but must lie in [0, 1e30]"},
  };
  checkCases(cases, &TestBundle::tiny);
}

TEST(Bundle, RulesOfTensorMaps) {
  const Case cases[] = {
      {[](TestBundle &b) { b.spec().tensorMaps[1].tensor = 3; },
       "tensor of a map is 3 but must lie in [0, 2]"},
      {[](TestBundle &b) { b.spec().tensorMaps[1].offset = 400; },
       "tensor map 1 has offset 400, not a multiple of 64"},
      {[](TestBundle &b) { b.spec().tensorMaps[1].offset = 320; },
       "tensor map has offset 320 but bytes up to 384 are taken"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].offset = 192; },
       "tensor map has offset 192 but bytes up to 232 are taken"},
      {[](TestBundle &b) { b.spec().tensorMaps[2].offset = 0xffffffc0; },
       "parameter struct has 640 bytes but its fields need 4294967360"},
      {[](TestBundle &b) { b.spec().paramsBytes = 639; },
       "parameter struct has 639 bytes but its fields need 640"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].dims = {}; },
       "tensor map rank is 0 but must lie in [1, 5]"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].dims.assign(6, 0); },
       "tensor map rank is 6 but must lie in [1, 5]"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].box.pop_back(); },
       "tensor map 0 has 4 dimensions but its box 3"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].dims[1] = 5; },
       "tensor map dimension is 5 but must lie in [0, 4]"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].box[1] = 0; },
       "tensor map box is 0 but must lie in [1, 256]"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].box[1] = 257; },
       "tensor map box is 257 but must lie in [1, 256]"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].dims[3] = ATTN_MAP_TOKEN; },
       "tensor map 0 has dimension 2 twice"},
      {[](TestBundle &b) {
         std::swap(b.spec().tensorMaps[0].dims[0],
                   b.spec().tensorMaps[0].dims[1]);
       },
       "tensor map 0 has innermost dimension 2 but it must be 0"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].dims[1] = ATTN_MAP_GROUP; },
       "tensor map 0 has a group but its tensor is 0 and pack 1"},
      {[](TestBundle &b) {
         b.spec().pack = 2;
         b.spec().tensorMaps[2].dims[1] = ATTN_MAP_GROUP;
       },
       "tensor map 2 has a group but its tensor is 2 and pack 2"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].element = ATTNRT_F16; },
       "tensor map 0 has element type 1 but q, k and v have 0"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].swizzle = 48; },
       "tensor map 0 has swizzle 48 (known: 0, 32, 64, 128)"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].promotion = 512; },
       "tensor map 0 has promotion 512 (known: 0, 64, 128, 256)"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].box[0] = 16; },
       "tensor map 0 has rows of 64 bytes, but they must be multiples of 16 "
       "and fit swizzle 32"},
      {[](TestBundle &b) { b.spec().tensorMaps[0].box[0] = 2; },
       "tensor map 0 has rows of 8 bytes, but they must be multiples of 16 and "
       "fit swizzle 32"},
      {[](TestBundle &b) { b.spec().strideMultiple = 1; },
       "tensor maps need tensors at multiples of 16 bytes but the "
       "specialisation asks for base 16 and stride 4"},
      {[](TestBundle &b) { b.spec().baseAlign = 8; },
       "tensor maps need tensors at multiples of 16 bytes but the "
       "specialisation asks for base 8 and stride 16"},
      {[](TestBundle &b) {
         b.spec().tensorMaps.assign(9, b.spec().tensorMaps[0]);
       },
       "tensor map count is 9 but must lie in [0, 8]"},
      {[](TestBundle &b) {
         TestSpec gpu = b.spec();
         b = TestBundle::tiny();
         b.spec().strideMultiple = 4;
         b.spec().baseAlign = 16;
         b.spec().tensorMaps = gpu.tensorMaps;
       },
       "target 'cpu' has 3 tensor maps, dynamic 0 and a CTA for each item 0, "
       "which only a GPU has"},
      {[](TestBundle &b) {
         b = TestBundle::tiny();
         b.spec().ctaAnItem = true;
       },
       "target 'cpu' has 0 tensor maps, dynamic 0 and a CTA for each item 1, "
       "which only a GPU has"},
      {[](TestBundle &b) { b.spec().dynamic = b.spec().ctaAnItem = true; },
       "CTAs take items from a queue but the launch has one for each item"},
      {[](TestBundle &b) {
         b = TestBundle::tiny();
         b.spec().dynamic = true;
       },
       "target 'cpu' has 0 tensor maps, dynamic 1 and a CTA for each item 0, "
       "which only a GPU has"},
  };
  checkCases(cases, &TestBundle::tma);
}

TEST(Bundle, HooksAreDecoded) {
  TestBundle bundle = TestBundle::tiny();
  bundle.kernel().hooks[1].code.pop_back();
  EXPECT_EQ(openBytes(bundle.write()), ATTNRT_BAD_BUNDLE);
  std::string text = attnrt_last_error();
  EXPECT_EQ(text.find("kernel 'tiny': hook mask: "), 0u) << text;
  // A program that reads a parameter that is not declared.
  bundle = TestBundle::tiny();
  bundle.kernel().params.pop_back();
  EXPECT_EQ(openBytes(bundle.write()), ATTNRT_BAD_BUNDLE);
}

TEST(Bundle, NoSinkWithoutSoftmax) {
  TestBundle bundle = TestBundle::tiny();
  bundle.kernel().normaliser = ATTNRT_NO_NORMALISER;
  ASSERT_EQ(openBytes(bundle.write()), ATTNRT_OK) << attnrt_last_error();
  // score reads s, which a sink may not; a constant will do.
  std::vector<uint8_t> code = {
      'A', 'H', 'X',  '1', 1, 0, ATTN_HOOK_SINK, 0, 3, 0, 0, 0, 3, 0,
      1,   0,   0x50, 0,   0, 0, 0xff,           0, 0, 0};
  bundle.kernel().hooks.push_back({ATTN_HOOK_SINK, code});
  EXPECT_FAILS(openBytes(bundle.write()), ATTNRT_BAD_BUNDLE,
               "kernel 'tiny': a sink needs the normaliser softmax");
}
