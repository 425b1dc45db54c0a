//===- FragFixture.h - small kernels down to L3 and their runs --*- C++ -*-===//
//
// The kernels, batches and the oracle are those of the L1/L2 tests; here the
// kernel that runs is the frag.kernel of the same name.
//
//===----------------------------------------------------------------------===//
#ifndef ATTN_TEST_UNIT_FRAG_FRAGFIXTURE_H
#define ATTN_TEST_UNIT_FRAG_FRAGFIXTURE_H

#include "KernelText.h"
#include "attn/Dialect/Frag/IR/Frag.h"

namespace attn::test {

class FragFixture : public SimFixture {
public:
  FragFixture();
  ~FragFixture();

  /// Text of the kernels at L1; a tile has 16 rows a warp.
  static std::string text(const KernelShape &shape);
  /// A shape that the MMA atom takes.
  static KernelShape shape();

  /// Lowers a copy to L3 and keeps it as the module that runs.
  bool lower(const std::string &text);
  oracle::Comparison run(const KernelShape &shape, const Batch &batch,
                         std::string &error, int32_t splitKeys = 0,
                         int32_t ctas = 2);

  /// "" if right, else the error or "wrong values".
  std::string outcome(const KernelShape &shape, const Batch &batch,
                      int32_t splitKeys = 0);

  mlir::OwningOpRef<mlir::ModuleOp> source; ///< L1
  mlir::OwningOpRef<mlir::ModuleOp> frag;   ///< L3
};

/// Requests without queries or keys, and tails of tiles.
inline const Batch ragged = {{5, 40, 0, 33, 1}, {70, 40, 7, 12, 0}};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_FRAG_FRAGFIXTURE_H
