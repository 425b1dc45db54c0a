//===- Compiler.cpp - the compiler as a C library -------------------------===//

#include "attn-c/Compiler.h"

#include "attn/ABI/Version.h"
#include "attn/Compiler/Cache.h"
#include "attn/Compiler/RemarkFilter.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Emit/PTX.h"
#include "attn/InitAll.h"
#include "attn/Target/TargetSpec.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace attn;

struct attnc_result {
  std::vector<char> bundle;
  std::string messages;
};

static std::vector<std::string> split(const char *list) {
  std::vector<std::string> parts;
  for (StringRef part : llvm::split(StringRef(list ? list : ""), ','))
    if (!part.trim().empty())
      parts.push_back(part.trim().str());
  return parts;
}

static StringRef severity(DiagnosticSeverity kind) {
  switch (kind) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  return "";
}

static void append(std::string &messages, const Diagnostic &diagnostic) {
  llvm::raw_string_ostream os(messages);
  if (auto at = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
    os << at.getFilename().getValue() << ":" << at.getLine() << ":"
       << at.getColumn() << ": ";
  os << severity(diagnostic.getSeverity()) << ": " << diagnostic << "\n";
  for (const Diagnostic &note : diagnostic.getNotes())
    append(messages, note);
}

static bool read(const attnc_options &in, CompileOptions &out,
                 std::string &error) {
  out.targets = split(in.targets);
  if (out.targets.empty()) {
    error = "no target is given";
    return false;
  }
  for (const std::string &target : out.targets)
    if (!findTarget(target, error))
      return false;
  if (in.cpu_types && *in.cpu_types)
    out.cpuTypes = split(in.cpu_types);
  for (const std::string &type : out.cpuTypes)
    if (!llvm::is_contained({"f32", "f16", "bf16"}, type)) {
      error = "unknown element type " + type + " (known: f32, f16, bf16)";
      return false;
    }
  out.schedule = in.schedule ? in.schedule : "";
  out.ptxas = in.ptxas ? in.ptxas : "";
  out.useCubin = !in.no_cubin;
  return true;
}

static bool compileText(StringRef text, StringRef name,
                        const attnc_options &options, attnc_result &result) {
  CompileOptions compileOptions;
  std::string error;
  if (!read(options, compileOptions, error)) {
    result.messages = "error: " + error + "\n";
    return false;
  }
  DialectRegistry registry;
  registerDialects(registry, levels::all);
  registerPTXTranslation(registry);
  // The caller has its own threads.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    append(result.messages, diagnostic);
  });
  RemarkFilter remarks(&context, /*show=*/true);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context), name);
  if (!module)
    return false;
  if (module->getOps<KernelOp>().empty()) {
    result.messages += "error: module has 0 kernels\n";
    return false;
  }
  StageTimes times;
  FailureOr<std::vector<char>> bundle = compileToFile(
      *module, compileOptions, options.cache ? options.cache : "", times);
  if (failed(bundle))
    return false;
  result.bundle = std::move(*bundle);
  return true;
}

int attnc_compile(const char *text, size_t bytes, const char *name,
                  const attnc_options *options, attnc_result **result) {
  *result = new attnc_result;
  return compileText(StringRef(text, bytes), name ? name : "kernel", *options,
                     **result)
             ? 0
             : 1;
}

const void *attnc_result_data(const attnc_result *result) {
  return result->bundle.empty() ? nullptr : result->bundle.data();
}
size_t attnc_result_size(const attnc_result *result) {
  return result->bundle.size();
}
const char *attnc_result_messages(const attnc_result *result) {
  return result->messages.c_str();
}
void attnc_result_free(attnc_result *result) { delete result; }

const char *attnc_version() {
  static const std::string version = compilerVersion().str();
  return version.c_str();
}
uint32_t attnc_abi_version() { return ATTN_ABI_VERSION; }
