//===- RemarkFilter.h - each remark once, or none ---------------*- C++ -*-===//
//
// The same source is lowered once for each specialisation, element type and
// level, and its passes say each time what they derived.
//
// Invariant: other diagnostics pass through.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_COMPILER_REMARKFILTER_H
#define ATTN_COMPILER_REMARKFILTER_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

namespace attn {

/// Stands before the handlers that were there when it was made.
class RemarkFilter : public mlir::ScopedDiagnosticHandler {
public:
  RemarkFilter(mlir::MLIRContext *context, bool show)
      : ScopedDiagnosticHandler(context), show(show) {
    setHandler([this](mlir::Diagnostic &diagnostic) {
      return mlir::success(drops(diagnostic));
    });
  }

private:
  bool drops(const mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Remark)
      return false;
    std::string text;
    llvm::raw_string_ostream(text)
        << diagnostic.getLocation() << diagnostic.str();
    return !show || !seen.insert(text).second;
  }

  bool show;
  llvm::StringSet<> seen;
};

} // namespace attn

#endif // ATTN_COMPILER_REMARKFILTER_H
