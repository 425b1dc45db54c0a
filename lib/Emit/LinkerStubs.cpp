//===- LinkerStubs.cpp - what lld names and never needs here --------------===//
//
// lld is written to link bitcode for every target: its start-up registers each
// back end, and its link-time optimiser registers Polly.  We hand it x86-64
// object files, so none of that runs, and linking it would add 20 back ends to
// every tool.  The back ends that we do have (X86, NVPTX) are the real ones.
//
// Invariant: a stub does nothing; a back end that is missing from the list is a
// link error, not a surprise at run time.
//
//===----------------------------------------------------------------------===//
#include "llvm/Plugins/PassPlugin.h"

#define STUB(name)                                                             \
  void LLVMInitialize##name(void);                                             \
  void LLVMInitialize##name(void) {}
#define BACK_END(target)                                                       \
  STUB(target##TargetInfo)                                                     \
  STUB(target##Target)                                                         \
  STUB(target##TargetMC)                                                       \
  STUB(target##AsmPrinter)
#define BACK_END_WITH_PARSER(target) BACK_END(target) STUB(target##AsmParser)

extern "C" {
BACK_END_WITH_PARSER(AArch64)
BACK_END_WITH_PARSER(AMDGPU)
BACK_END_WITH_PARSER(ARM)
BACK_END_WITH_PARSER(AVR)
BACK_END_WITH_PARSER(BPF)
BACK_END_WITH_PARSER(Hexagon)
BACK_END_WITH_PARSER(Lanai)
BACK_END_WITH_PARSER(LoongArch)
BACK_END_WITH_PARSER(M68k)
BACK_END_WITH_PARSER(MSP430)
BACK_END_WITH_PARSER(Mips)
BACK_END_WITH_PARSER(PowerPC)
BACK_END_WITH_PARSER(RISCV)
BACK_END(SPIRV)
BACK_END_WITH_PARSER(Sparc)
BACK_END_WITH_PARSER(SystemZ)
BACK_END_WITH_PARSER(VE)
BACK_END_WITH_PARSER(WebAssembly)
BACK_END(XCore)
BACK_END_WITH_PARSER(Xtensa)
}

llvm::PassPluginLibraryInfo getPollyPluginInfo();

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "0", [](llvm::PassBuilder &) {}};
}
