# LLVM/MLIR 22 from Debian's packages, linked statically.
#
# Two traps: Debian's MLIR archives name libLLVM.so and libMLIR.so in their link
# interface, so a "static" tool would hold everything twice; both are removed
# here and LLVM's components are named instead (test/Lint/static-link.test
# checks `readelf -d`).  LLVMSupport names libz3, dropped by --as-needed.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
find_package(LLD REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/lld)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

get_property(all_mlir GLOBAL PROPERTY MLIR_ALL_LIBS)
foreach(t IN LISTS all_mlir ITEMS lldELF lldCommon)
  if(TARGET ${t})
    get_target_property(deps ${t} INTERFACE_LINK_LIBRARIES)
    if(deps)
      list(REMOVE_ITEM deps LLVM MLIR "\$<LINK_ONLY:LLVM>" "\$<LINK_ONLY:MLIR>")
      set_target_properties(${t} PROPERTIES INTERFACE_LINK_LIBRARIES "${deps}")
    endif()
  endif()
endforeach()
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${LLVM_DEFINITIONS_LIST})

set(ATTN_MLIR_LIBS
  MLIROptLib MLIRTranslateLib MLIRParser MLIRPass MLIRTransforms MLIRTransformUtils MLIRAnalysis
  MLIRFuncDialect MLIRArithDialect MLIRMathDialect MLIRSCFDialect MLIRControlFlowDialect MLIRVectorDialect
  MLIRNVVMDialect MLIRLLVMDialect MLIRUBDialect MLIRDLTIDialect
  MLIRArithToLLVM MLIRArithTransforms MLIRFuncToLLVM MLIRControlFlowToLLVM MLIRSCFToControlFlow MLIRSCFTransforms
  MLIRMathToLLVM MLIRMathTransforms MLIRVectorToLLVM MLIRVectorToLLVMPass MLIRVectorTransforms
  MLIRReconcileUnrealizedCasts MLIRNVVMToLLVM MLIRUBToLLVM
  MLIRBuiltinToLLVMIRTranslation MLIRLLVMToLLVMIRTranslation MLIRNVVMToLLVMIRTranslation
  MLIRTargetLLVMIRExport MLIRBytecodeWriter)
set(ATTN_LLVM_COMPONENTS Core Support Passes Target TargetParser NVPTXCodeGen NVPTXDesc NVPTXInfo
  X86CodeGen X86AsmParser X86Desc X86Info)

# The precompiled header: upstream headers only, nothing of ours, so that it is
# built once.  Never mlir/Conversion/Passes.h (10 s a translation unit).
add_library(attn-pch STATIC ${PROJECT_SOURCE_DIR}/cmake/Pch.cpp)
target_include_directories(attn-pch SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_precompile_headers(attn-pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Pch.h)
target_compile_options(attn-pch PRIVATE "SHELL:-Xclang -fno-pch-timestamp")

# Every TableGen target hangs on this one.
add_custom_target(attn-tablegen)
