//===- Interp.h - run a kernel of any level on the CPU ----------*- C++ -*-===//
//
// A small interpreter.  It knows regions, scf, arith and math; every other
// dialect brings a handler.  Memory is real: kernels read the parameter struct
// of KernelParams.h with host pointers in it.
//
//   std::string error;
//   runKernel(kernel, params, {/*ctas=*/3}, error)   // L1, L2 or L3
//
// Values are scalars or shared, immutable objects (tiles, fragments, slots).
//
// Invariant: user input never aborts; a run either finishes or says which op
// failed and why.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_INTERP_H
#define ATTN_SIM_INTERP_H

#include "attn/Sim/Scalar.h"
#include "attn/Sim/Scheduler.h"
#include "attn/Sim/Verdict.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

#include <cassert>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace attn::sim {

struct PipeTrace;

struct LaunchOptions {
  int32_t ctas = 1;
  bool forceExact = false; ///< speculations run with exact = true
  bool failCheck = false;  ///< every speculation's check says no
  /// Who runs next, and which CTA takes which item of a dynamic order.
  ScheduleKind schedule = ScheduleKind::RoundRobin;
  uint64_t seed = 0;
  /// Not null: used instead of `schedule`, e.g. an Explorer.
  Scheduler *scheduler = nullptr;
  /// Decisions of the scheduler in one CTA before a run is given up.
  uint64_t maxSteps = 1 << 24;
  /// Turns of loops in one fiber before a run is given up.
  uint64_t maxTurns = 1 << 20;
  /// CTA that takes each item of a dynamic order; by `schedule` and `seed` where
  /// it has no entry.  A test that goes through all of them sees every stream.
  std::vector<int32_t> takers;
  /// Not null: gets the channel ops of each CTA that ran roles (L2).
  std::vector<PipeTrace> *traces = nullptr;
};

/// Base of everything that is not a scalar.
struct Object {
  virtual ~Object() = default;
};

/// When a timed run has a value: its first and its last register.
struct Stamp {
  double first = 0, last = 0;
};

/// The value of an SSA value.
class Datum {
public:
  Stamp stamp; ///< goes where the value goes
  Datum() = default;
  Datum(Word word) : scalar(word) {}
  Datum(std::shared_ptr<Object> object) : object(std::move(object)) {}

  static Datum ofInt(int64_t v) { return Datum(Word::ofInt(v)); }
  static Datum ofFloat(float v) { return Datum(Word::ofFloat(v)); }
  template <class T, class... Args> static Datum make(Args &&...args) {
    return Datum(std::shared_ptr<Object>(
        std::make_shared<T>(std::forward<Args>(args)...)));
  }

  bool isObject() const { return object != nullptr; }
  const Word &word() const { return scalar; }
  int64_t asInt() const { return scalar.i; }
  float asFloat() const { return scalar.f; }

  /// The object, or null if it is not a T.  Treat it as immutable unless its
  /// type says otherwise (slots, memory).
  template <class T> T *as() const { return dynamic_cast<T *>(object.get()); }
  template <class T> std::shared_ptr<T> share() const {
    return std::dynamic_pointer_cast<T>(object);
  }

private:
  Word scalar;
  std::shared_ptr<Object> object;
};

/// State that a dialect's handler keeps for one CTA, see Interp::state.
struct HandlerState {
  virtual ~HandlerState() = default;
};

class Interp;

/// Sees every op and terminator that an interpreter runs; a failure ends the run.
struct Watcher {
  virtual ~Watcher() = default;
  virtual mlir::LogicalResult before(mlir::Operation *op, Interp &interp) = 0;
  virtual mlir::LogicalResult after(mlir::Operation *op, Interp &interp) = 0;
};

/// Runs one op: reads operands, sets results.  Regions by Interp::run.
using Handler = std::function<mlir::LogicalResult(mlir::Operation *, Interp &)>;

class Interp {
public:
  Interp(llvm::ArrayRef<char> params, const LaunchOptions &options,
         int32_t cta = 0);
  /// A fiber of `parent`: starts with its values and has its own from then on;
  /// handlers, their state and the report are shared.
  explicit Interp(Interp &parent);

  /// Handler of a dialect by namespace.  scf, arith and math are there.
  void addHandler(llvm::StringRef dialect, Handler handler) {
    root->handlers[dialect] = std::move(handler);
  }

  /// Not null: is told of each op.
  void setWatcher(Watcher *w) { watcher = w; }

  //===--- values ---------------------------------------------------------===//
  const Datum &get(mlir::Value value) const;
  int64_t getInt(mlir::Value value) const { return get(value).asInt(); }
  float getFloat(mlir::Value value) const { return get(value).asFloat(); }
  /// Asserts that the value is a T: verified IR says so.
  template <class T> T &get(mlir::Value value) const {
    T *object = get(value).template as<T>();
    assert(object && "value has another kind of object");
    return *object;
  }
  void set(mlir::Value value, Datum datum) { values[value] = std::move(datum); }
  void stamp(mlir::Value value, Stamp stamp) { values[value].stamp = stamp; }

  //===--- control --------------------------------------------------------===//
  /// Runs a region of one block; `results` gets the terminator's operands.
  mlir::LogicalResult run(mlir::Region &region, llvm::ArrayRef<Datum> args,
                          llvm::SmallVectorImpl<Datum> &results);
  mlir::LogicalResult run(mlir::Region &region,
                          llvm::ArrayRef<Datum> args = {});
  mlir::LogicalResult runOp(mlir::Operation *op);

  /// Counts one turn of a loop; fails at the limit.
  mlir::LogicalResult turn(mlir::Operation *loop);

  /// Records "op: message" and returns failure.  The first message stays.
  mlir::LogicalResult fail(mlir::Operation *op, const llvm::Twine &message,
                           Verdict verdict = Verdict::NotRun);
  Report &report() { return root->ownReport; }

  //===--- the launch -----------------------------------------------------===//
  llvm::ArrayRef<char> params() const { return bytes; }
  /// A field of the parameter struct; 0 past its end.
  template <class T> T param(size_t offset) const {
    T value{};
    if (offset + sizeof(T) <= bytes.size())
      std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }
  const LaunchOptions &options() const { return launch; }
  int32_t cta() const { return ctaIndex; }
  int32_t ctas() const { return launch.ctas; }

  /// The handler's own state, made at first use.
  template <class T> T &state() {
    for (auto &s : root->states)
      if (T *found = dynamic_cast<T *>(s.get()))
        return *found;
    root->states.push_back(std::make_unique<T>());
    return static_cast<T &>(*root->states.back());
  }

private:
  mlir::LogicalResult dispatch(mlir::Operation *op);
  mlir::LogicalResult runScf(mlir::Operation *op);
  mlir::LogicalResult runScalar(mlir::Operation *op);

  Interp *root; ///< the CTA's own
  Watcher *watcher = nullptr;
  llvm::ArrayRef<char> bytes;
  LaunchOptions launch;
  int32_t ctaIndex;
  uint64_t turns = 0;                                    ///< of all loops
  llvm::DenseMap<mlir::Operation *, uint64_t> loopTurns; ///< of this fiber
  llvm::DenseMap<mlir::Value, Datum> values;
  llvm::DenseMap<mlir::Operation *, ScalarInstr> decoded;
  llvm::StringMap<Handler> handlers;
  llvm::SmallVector<std::unique_ptr<HandlerState>> states;
  Report ownReport;
};

/// Runs one CTA of a kernel that is not `attn.kernel`: L3 registers
/// "frag.kernel".  Runners live for the whole process.
using KernelRunner =
    std::function<mlir::LogicalResult(mlir::Operation *kernel, Interp &interp)>;
void registerKernelRunner(llvm::StringRef opName, KernelRunner runner);

/// Runs all CTAs of a kernel, one after another.  `params` is its parameter
/// struct.  On failure `error` says which op failed and why.
mlir::LogicalResult runKernel(mlir::Operation *kernel,
                              llvm::ArrayRef<char> params,
                              const LaunchOptions &options, std::string &error);

/// The same with everything that is known of a failure.  `correct` only says
/// that the run ended well: the caller compares the values.
mlir::LogicalResult runKernel(mlir::Operation *kernel,
                              llvm::ArrayRef<char> params,
                              const LaunchOptions &options, Report &report);

} // namespace attn::sim

#endif // ATTN_SIM_INTERP_H
