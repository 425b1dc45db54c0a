//===- HookFixture.h - parse a variant in a test ----------------*- C++ -*-===//
#ifndef ATTN_TEST_UNIT_ANALYSIS_HOOKFIXTURE_H
#define ATTN_TEST_UNIT_ANALYSIS_HOOKFIXTURE_H

#include "attn/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <string>

namespace attn::test {

class HookFixture : public ::testing::Test {
protected:
  HookFixture() {
    context.loadDialect<AttnDialect, mlir::arith::ArithDialect,
                        mlir::math::MathDialect, mlir::func::FuncDialect,
                        mlir::vector::VectorDialect>();
    context.getDiagEngine().registerHandler([this](mlir::Diagnostic &d) {
      diagnostics += d.str() + "\n";
      return mlir::success();
    });
  }

  /// The first variant of the text; the text must be valid.
  VariantOp parse(llvm::StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(bool(module)) << diagnostics;
    return module ? *module->getOps<VariantOp>().begin() : VariantOp();
  }
  HookOp parseHook(llvm::StringRef text) {
    VariantOp variant = parse(text);
    return variant ? *variant.getBody().getOps<HookOp>().begin() : HookOp();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string diagnostics;
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_ANALYSIS_HOOKFIXTURE_H
