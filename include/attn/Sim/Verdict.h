//===- Verdict.h - what a simulated run says --------------------*- C++ -*-===//
//
// One verdict a run, with the places in the IR that led to it.
//
//   prefill: deadlock (random schedule, seed 7)
//     role 'load' waits to acquire slot 1 of channel 'k': ...   (loc)
//     role 'compute'[0] waits ...                               (loc)
//
// Invariant: a report that is not `correct` has a message; the first violation
// of a run stays, later ones are consequences of it.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_SIM_VERDICT_H
#define ATTN_SIM_VERDICT_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <optional>
#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace attn::sim {

enum class Verdict {
  Correct,
  WrongValues, ///< the run ended well but the outputs disagree
  Race,        ///< an access that nothing orders, or of a slot not held
  Deadlock,    ///< nobody can go on
  NoEnd,       ///< still going on when the limit of steps or turns was reached
  ResourceError, ///< counts: unreturned slot, over-arrival, registers, bytes
  NotRun,        ///< the simulator does not know an op, or the input is bad
};

llvm::StringRef nameOf(Verdict verdict);

/// A place and what is said about it.
struct ReportNote {
  std::optional<mlir::Location> loc;
  std::string text;
};

struct Report {
  Verdict verdict = Verdict::Correct;
  std::string message;
  std::optional<mlir::Location> loc; ///< of the op that `message` is about
  llvm::SmallVector<ReportNote> notes;
  std::string schedule; ///< "random", ...: with `seed` it replays
  uint64_t seed = 0;
  uint64_t steps = 0; ///< decisions of the scheduler
  /// Turns of each loop: of the fiber that made most, summed over CTAs.
  llvm::DenseMap<mlir::Operation *, uint64_t> turns;

  bool ok() const { return verdict == Verdict::Correct; }

  /// Sets the verdict unless one was given before.
  void give(Verdict v, const llvm::Twine &text,
            std::optional<mlir::Location> at = std::nullopt);
  void note(const llvm::Twine &text,
            std::optional<mlir::Location> at = std::nullopt);

  /// All of it on one line, notes separated by "; ".
  std::string str() const;
  /// Message, then one indented line a note, with "file:line:column".
  void print(llvm::raw_ostream &os) const;
};

/// "file:line:column" of the innermost file location, or empty.
std::string locText(std::optional<mlir::Location> loc);

} // namespace attn::sim

#endif // ATTN_SIM_VERDICT_H
