//===- Ptxas.cpp - PTX to cubins by a child process -----------------------===//
//
//   ptxas info    : Compiling entry function 'k' for 'sm_80'
//   ptxas info    : Function properties for k
//       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 184 registers, used 1 barriers
//
// Files live in the system's temporary folder and are removed on every path.
//
//===----------------------------------------------------------------------===//

#include "attn/Emit/PTX.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using llvm::StringRef;

/// The wheel puts the toolkit's programs beside the interpreter's packages.
static std::optional<std::string> findInWheels() {
  llvm::SmallVector<std::string> roots;
  for (const char *name : {"python3", "python"})
    if (llvm::ErrorOr<std::string> python = llvm::sys::findProgramByName(name))
      roots.push_back(
          llvm::sys::path::parent_path(llvm::sys::path::parent_path(*python))
              .str());
  if (std::optional<std::string> venv =
          llvm::sys::Process::GetEnv("VIRTUAL_ENV"))
    roots.push_back(*venv);
  if (std::optional<std::string> home = llvm::sys::Process::GetEnv("HOME"))
    roots.push_back(*home + "/.local");
  for (const std::string &root : roots) {
    std::error_code ec;
    for (llvm::sys::fs::directory_iterator it(root + "/lib", ec), end;
         it != end && !ec; it.increment(ec)) {
      if (!llvm::sys::path::filename(it->path()).starts_with("python3"))
        continue;
      for (const char *packages : {"site-packages", "dist-packages"})
        for (const char *wheel : {"cuda_nvcc", "cu13"}) {
          std::string path =
              it->path() + "/" + packages + "/nvidia/" + wheel + "/bin/ptxas";
          if (llvm::sys::fs::can_execute(path))
            return path;
        }
    }
  }
  return std::nullopt;
}

std::optional<std::string> attn::findPtxas(StringRef hint, std::string &error) {
  if (!hint.empty()) {
    if (llvm::sys::fs::can_execute(hint))
      return hint.str();
    error = "no ptxas at '" + hint.str() + "'";
    return std::nullopt;
  }
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  std::string toolkit = "/usr/local/cuda";
  for (std::string root :
       {llvm::sys::Process::GetEnv("CUDA_HOME").value_or(toolkit), toolkit})
    if (std::string path = root + "/bin/ptxas";
        llvm::sys::fs::can_execute(path))
      return path;
  if (std::optional<std::string> path = findInWheels())
    return path;
  error =
      "ptxas not found on PATH, in $CUDA_HOME/bin, /usr/local/cuda/bin or a "
      "python wheel";
  return std::nullopt;
}

/// The number that ends before `what` in `line`, 0 if it is not there.
static unsigned numberBefore(StringRef line, StringRef what) {
  size_t at = line.find(what);
  if (at == StringRef::npos)
    return 0;
  StringRef head = line.take_front(at).rtrim();
  size_t begin = head.find_last_not_of("0123456789");
  unsigned value = 0;
  head.drop_front(begin == StringRef::npos ? 0 : begin + 1)
      .getAsInteger(10, value);
  return value;
}

void attn::parsePtxasLog(StringRef log, PtxasResult &result) {
  for (StringRef line : llvm::split(log, '\n')) {
    if (line.contains("(C75"))
      result.notes.push_back(line.trim().str());
    if (line.contains("Compiling entry function")) {
      result.kernels.emplace_back();
      result.kernels.back().name = line.split('\'').second.split('\'').first;
      continue;
    }
    if (result.kernels.empty())
      continue;
    PtxasKernel &kernel = result.kernels.back();
    if (line.contains("bytes stack frame")) {
      kernel.stackBytes = numberBefore(line, "bytes stack frame");
      kernel.spillStoreBytes = numberBefore(line, "bytes spill stores");
      kernel.spillLoadBytes = numberBefore(line, "bytes spill loads");
    } else if (line.contains("Used ")) {
      kernel.registers = numberBefore(line, "registers");
      kernel.sharedBytes = numberBefore(line, "bytes smem");
    }
  }
}

static std::string readFile(StringRef path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

bool attn::runPtxas(StringRef ptx, const TargetSpec &target, StringRef ptxas,
                    PtxasResult &result, std::string &error) {
  llvm::SmallString<64> input, output, log;
  llvm::SmallVector<llvm::SmallString<64> *, 3> files;
  llvm::scope_exit cleanUp([&] {
    for (llvm::SmallString<64> *file : files)
      llvm::sys::fs::remove(*file);
  });
  const std::pair<llvm::SmallString<64> *, const char *> wanted[] = {
      {&input, "ptx"}, {&output, "cubin"}, {&log, "log"}};
  for (auto [file, suffix] : wanted) {
    if (std::error_code ec =
            llvm::sys::fs::createTemporaryFile("attn", suffix, *file)) {
      error = "no temporary file for ptxas: " + ec.message();
      return false;
    }
    files.push_back(file);
  }
  {
    std::error_code ec;
    llvm::raw_fd_ostream stream(input, ec);
    if (!ec) {
      stream << ptx;
      stream.close();
      ec = stream.error();
      stream.clear_error();
    }
    if (ec) {
      error = "cannot write the input of ptxas: " + ec.message();
      return false;
    }
  }
  std::string arch = "-arch=" + std::string(target.chip);
  StringRef args[] = {ptxas, "-v", arch, "-o", output, input};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  std::string launch;
  int code = llvm::sys::ExecuteAndWait(ptxas, args, std::nullopt, redirects,
                                       /*SecondsToWait=*/0, /*MemoryLimit=*/0,
                                       &launch);
  result.log = readFile(log);
  if (code != 0) {
    error = "ptxas failed with status " + std::to_string(code) + ": " +
            (launch.empty() ? StringRef(result.log).trim().str() : launch);
    return false;
  }
  parsePtxasLog(result.log, result);
  result.cubin = readFile(output);
  return true;
}

/// A word or two of an item that ptxas keeps on the stack is read outside of the
/// loops: on an H200 sm_80 code with 8 bytes of them ran 20 percent faster than the
/// next shape without.  Where roles set their registers there is room for all.
static constexpr unsigned fewWords = 40;
/// A merge kernel runs once a row: what it keeps on the stack costs a few loads.
static constexpr unsigned mergeWords = 128;

bool attn::checkPtxasResult(const PtxasResult &result, const TargetSpec &target,
                            std::string &error) {
  if (!result.notes.empty()) {
    error = "ptxas serialised an mma: " + result.notes.front();
    return false;
  }
  for (const PtxasKernel &kernel : result.kernels) {
    unsigned spills = kernel.spillStoreBytes + kernel.spillLoadBytes;
    unsigned room = StringRef(kernel.name).ends_with("_merge") ? mergeWords
                    : target.has(Feature::Wgmma)               ? 0
                                                               : fewWords;
    if (kernel.stackBytes <= room && spills <= 4 * room)
      continue;
    error = "kernel '" + kernel.name + "' spills " + std::to_string(spills) +
            " bytes and has a stack frame of " +
            std::to_string(kernel.stackBytes) + " bytes with " +
            std::to_string(kernel.registers) + " registers";
    return false;
  }
  return true;
}
