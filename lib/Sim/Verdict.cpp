//===- Verdict.cpp - reports of simulated runs ----------------------------===//
//
// Text of a report.
//
// Invariant: no address in a message: two runs of one seed print the same.
//
//===----------------------------------------------------------------------===//

#include "attn/Sim/Verdict.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attn::sim;

llvm::StringRef attn::sim::nameOf(Verdict verdict) {
  switch (verdict) {
  case Verdict::Correct:
    return "correct";
  case Verdict::WrongValues:
    return "wrong values";
  case Verdict::Race:
    return "race";
  case Verdict::Deadlock:
    return "deadlock";
  case Verdict::NoEnd:
    return "no end";
  case Verdict::ResourceError:
    return "resource error";
  case Verdict::NotRun:
    return "not run";
  }
  return "";
}

void Report::give(Verdict v, const llvm::Twine &text,
                  std::optional<Location> at) {
  if (!ok())
    return;
  verdict = v;
  message = text.str();
  loc = at;
}

void Report::note(const llvm::Twine &text, std::optional<Location> at) {
  notes.push_back({at, text.str()});
}

std::string attn::sim::locText(std::optional<Location> loc) {
  if (!loc)
    return "";
  std::string text;
  (*loc)->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    text = file.getFilename().str() + ":" + std::to_string(file.getLine()) +
           ":" + std::to_string(file.getColumn());
    return WalkResult::interrupt();
  });
  return text;
}

static std::string withLoc(const std::string &text,
                           const std::optional<Location> &loc) {
  std::string where = locText(loc);
  return where.empty() ? text : text + " (" + where + ")";
}

std::string Report::str() const {
  std::string text = nameOf(verdict).str();
  if (!message.empty())
    text += ": " + withLoc(message, loc);
  for (const ReportNote &n : notes)
    text += "; " + withLoc(n.text, n.loc);
  return text;
}

void Report::print(llvm::raw_ostream &os) const {
  os << nameOf(verdict);
  if (!schedule.empty())
    os << " (" << schedule << " schedule, seed " << seed << ")";
  if (!message.empty())
    os << ": " << withLoc(message, loc);
  os << "\n";
  for (const ReportNote &n : notes)
    os << "  " << withLoc(n.text, n.loc) << "\n";
}
