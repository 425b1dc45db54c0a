//===- Cache.cpp - compiled bundles by content ----------------------------===//

#include "attn/Compiler/Cache.h"

#include "attn/Emit/PTX.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>

using namespace mlir;
using namespace attn;

/// Stands for the contents of a file that is too large to read each time.
static std::string stampOf(StringRef path) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status))
    return path.str();
  return (path + ":" + Twine(status.getSize()) + ":" +
          Twine(status.getLastModificationTime().time_since_epoch().count()))
      .str();
}

/// The executable or library that holds this code.
static std::string compilerStamp() {
  Dl_info info = {};
  if (!dladdr(reinterpret_cast<void *>(&compilerStamp), &info) ||
      !info.dli_fname)
    return compilerVersion().str();
  return stampOf(info.dli_fname);
}

static std::string keyOf(ModuleOp source, const CompileOptions &options) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // Every part ends with a byte that none of them holds.
  auto part = [&](const Twine &value) { os << value << '\0'; };
  part(compilerStamp());
  for (const std::string &target : options.targets)
    part(target);
  part(options.schedule);
  part(options.tuneSet ? "tune set" : "");
  for (const std::string &type : options.cpuTypes)
    part(type);
  std::string error;
  std::optional<std::string> ptxas =
      options.useCubin ? findPtxas(options.ptxas, error) : std::nullopt;
  part(ptxas ? stampOf(*ptxas) : "no ptxas");
  source.print(os);
  XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
         llvm::utohexstr(hash.low64, /*LowerCase=*/true, 16);
}

static FailureOr<std::vector<char>> compileBytes(ModuleOp source,
                                                 const CompileOptions &options,
                                                 StageTimes &times) {
  FailureOr<emit::Bundle> bundle = compile(source, options, times);
  if (failed(bundle))
    return failure();
  return emit::serialise(*bundle);
}

FailureOr<std::vector<char>> attn::compileToFile(ModuleOp source,
                                                 const CompileOptions &options,
                                                 StringRef folder,
                                                 StageTimes &times) {
  if (folder.empty())
    return compileBytes(source, options, times);
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, keyOf(source, options) + ".attn");
  if (auto file = llvm::MemoryBuffer::getFile(path)) {
    llvm::ArrayRef<char> bytes((*file)->getBufferStart(),
                               (*file)->getBufferSize());
    if (emit::isIntact(bytes))
      return std::vector<char>(bytes.begin(), bytes.end());
  }
  FailureOr<std::vector<char>> bytes = compileBytes(source, options, times);
  if (failed(bytes))
    return failure();
  std::string why;
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    why = code.message();
  else if (llvm::Error error = emit::writeFileAtomically(path, *bytes))
    why = llvm::toString(std::move(error));
  if (!why.empty())
    source.emitWarning("cache " + folder + " is not written: " + why);
  return bytes;
}
