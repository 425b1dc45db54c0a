//===- AttnToCPUFixture.h - L0 text to CPU code and back to the oracle *- C++ -*-===//
//
// compile() takes a variant and shapes down to a loaded shared object; run()
// fills a batch at random, plans it, calls the entries item by item and asks
// the oracle.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_COMPILER_ATTNTOCPUFIXTURE_H
#define ATTN_TEST_UNIT_COMPILER_ATTNTOCPUFIXTURE_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Workload/Workload.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"

#include <functional>
#include <memory>
#include <string>

namespace attn::test {

/// A shared object in memory, unloaded at the end.
class LoadedObject {
public:
  explicit LoadedObject(llvm::ArrayRef<char> bytes);
  ~LoadedObject();
  void *symbol(const std::string &name) const;
  const std::string &error() const { return message; }

private:
  void *handle = nullptr;
  std::string message;
};

struct Spec {
  std::string variant; ///< body of the variant
  std::string element = "f32", output = "f32";
  std::string storage = "ragged";
  std::string normaliser;                         ///< "none" or empty
  std::string schedule;                           ///< overrides
  int heads = 2, kvHeads = 2, dim = 64, dimV = 0; ///< dimV 0: dim
  unsigned vectorBits = 256;
  bool forceExact = false, failCheck = false;
};

struct RunOptions {
  std::string batch = "q=5,70;kv=7,300";
  uint64_t seed = 1;
  int splitKeys = 0;
  std::map<std::string, uint32_t> params;
  /// Changes the inputs before the run.
  std::function<void(workload::Workload &)> edit;
};

struct RunResult {
  workload::Verdict verdict;
  uint32_t items = 0, merges = 0;
  std::vector<char> output, lse;
};

class Compiled {
public:
  RunResult run(const RunOptions &options) const;

  Spec spec;
  workload::KernelDesc desc;
  std::vector<std::pair<std::string, uint32_t>> offsets; ///< params, tables
  uint32_t paramsBytes = 0;
  int32_t tileQ = 0, tileK = 0, pack = 1;
  int64_t scratchBytes = 0;
  std::unique_ptr<LoadedObject> object;
};

class AttnToCPUFixture : public ::testing::Test {
protected:
  AttnToCPUFixture();

  /// Null with a test failure if a pass or the linker refuses.
  std::unique_ptr<Compiled> compile(const Spec &spec);
  /// compile and run must succeed and agree with the oracle.
  void expectAgrees(const Spec &spec, const RunOptions &options);

  /// LLVM dialect module to a loaded object.
  std::unique_ptr<LoadedObject> load(mlir::ModuleOp module,
                                     llvm::StringRef level);
  /// arith, math, vector and scf to the LLVM dialect.
  bool lowerToLLVM(mlir::ModuleOp module);

  mlir::MLIRContext context;
  std::string diagnostics;
};

/// Bodies of variants: q >= k; window, tanh soft cap and sink logit; weights
/// sigmoid(s) under q >= k, for normaliser none.
extern const char *const causalMask;
extern const char *const windowSoftcapSink;
extern const char *const sigmoid;

/// Sets the first `dim` elements of row `token` in all heads of request 0 of an
/// f32 tensor.
void setRow(workload::Tensor &t, int32_t heads, int64_t token, int64_t dim,
            float value);

} // namespace attn::test

#endif // ATTN_TEST_UNIT_COMPILER_ATTNTOCPUFIXTURE_H
