// RUN: split-file %s %t
// RUN: not attn-translate --attn-to-ptx %t/exp.mlir 2>&1 | FileCheck %s --check-prefix=EXP
// RUN: not attn-translate --attn-to-ptx %t/tanh.mlir 2>&1 | FileCheck %s --check-prefix=TANH
// RUN: not attn-translate --attn-to-ptx %t/undefined.mlir 2>&1 | FileCheck %s --check-prefix=UNDEF
// RUN: not attn-translate --attn-to-ptx %t/foreign.mlir 2>&1 | FileCheck %s --check-prefix=FOREIGN
// RUN: not attn-translate --attn-to-ptx %t/broken.mlir 2>&1 | FileCheck %s --check-prefix=BROKEN
// RUN: not attn-translate --attn-to-ptx %t/asm.mlir 2>&1 | FileCheck %s --check-prefix=ASM
// RUN: not attn-translate --attn-to-ptx --attn-target=cpu %t/fine.mlir 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not attn-translate --attn-to-ptx --attn-target=sm_1 %t/fine.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: attn-translate --attn-to-ptx %t/fine.mlir | FileCheck %s --check-prefix=FINE

// What LLVM would abort on is named before code generation.

//--- exp.mlir
// EXP: no instruction on sm_80 for 'llvm.exp.f32'
llvm.func @k(%x: f32) -> f32 {
  %y = llvm.intr.exp(%x) : (f32) -> f32
  llvm.return %y : f32
}

//--- tanh.mlir
// TANH: no instruction on sm_80 for 'llvm.tanh.f32'
llvm.func @k(%x: f32) -> f32 {
  %y = llvm.intr.tanh(%x) : (f32) -> f32
  llvm.return %y : f32
}

//--- undefined.mlir
// UNDEF: no instruction on sm_80 for 'erff'
llvm.func @erff(f32) -> f32
llvm.func @k(%x: f32) -> f32 {
  %y = llvm.call @erff(%x) : (f32) -> f32
  llvm.return %y : f32
}

//--- foreign.mlir
// FOREIGN: translation to llvm ir failed
llvm.func @k() {
  %x = arith.constant 1 : i32
  llvm.return
}

//--- broken.mlir
// BROKEN: invalid llvm ir: cannot guarantee tail call
llvm.func @callee(%x: f32) {
  llvm.return
}
llvm.func @k(%x: i32, %y: f32) {
  llvm.call musttail @callee(%y) : (f32) -> ()
  llvm.return
}

//--- asm.mlir
// ASM: code generation failed:
llvm.func @k() -> i32 {
  %x = llvm.inline_asm "mov $0, 0;", "=z" : () -> i32
  llvm.return %x : i32
}

//--- fine.mlir
// CPU: target cpu has no ptx
// UNKNOWN: unknown target 'sm_1'
// FINE: .version 7.7
// FINE: .target sm_80
// FINE: ex2.approx
llvm.func @k(%x: f32) -> f32 {
  %y = llvm.intr.exp2(%x) : (f32) -> f32
  llvm.return %y : f32
}
