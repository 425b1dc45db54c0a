# Thin wrappers, so that a component's CMakeLists.txt is a list of files and a
# list of libraries.

# attn_add_library(name sources... [DEPENDS libs...]): plain C++17.
function(attn_add_library name)
  cmake_parse_arguments(A "" "" "DEPENDS" ${ARGN})
  add_library(${name} STATIC ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${A_DEPENDS})
endfunction()

# attn_add_unittest(name sources... [DEPENDS libs...]): a GoogleTest binary
# build/unittests/<name>, run by lit (test/Unit).
function(attn_add_unittest name)
  cmake_parse_arguments(A "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${A_DEPENDS} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  set_property(GLOBAL APPEND PROPERTY ATTN_UNITTESTS ${name})
endfunction()

# attn_add_mlir_library(name sources... [DEPENDS libs...] [TABLEGEN targets...]):
# compiler code, with the one precompiled header.
function(attn_add_mlir_library name)
  cmake_parse_arguments(A "NO_PCH" "" "DEPENDS;TABLEGEN" ${ARGN})
  add_library(${name} STATIC ${A_UNPARSED_ARGUMENTS})
  target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC ${A_DEPENDS})
  add_dependencies(${name} attn-tablegen ${A_TABLEGEN})
  if(NOT A_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM attn-pch)
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  set_property(GLOBAL APPEND PROPERTY ATTN_COMPILER_LIBS ${name})
endfunction()

# attn_add_tool(name sources... [DEPENDS libs...]): links the runtime half only.
function(attn_add_tool name)
  cmake_parse_arguments(A "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${A_DEPENDS})
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--as-needed)
endfunction()

# attn_add_compiler_tool(name sources... [DEPENDS libs...]): links the compiler.
function(attn_add_compiler_tool name)
  cmake_parse_arguments(A "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${A_UNPARSED_ARGUMENTS})
  target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  add_dependencies(${name} attn-tablegen)
  target_precompile_headers(${name} REUSE_FROM attn-pch)
  # The precompiled header is position-independent library code, not -fPIE.
  target_compile_options(${name} PRIVATE -fPIC "SHELL:-Xclang -fno-pch-timestamp")
  llvm_map_components_to_libnames(llvm_libs ${ATTN_LLVM_COMPONENTS})
  target_link_libraries(${name} PRIVATE ${A_DEPENDS} ${ATTN_MLIR_LIBS} ${llvm_libs})
  # --as-needed: LLVMSupport names libz3, which only the static analyser uses.
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--as-needed)
endfunction()
