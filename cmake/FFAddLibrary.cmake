# ff_add_library(NAME sources... DEPENDS targets... LINK libraries...)
#
# A static library of compiler code. Ours list only our libraries: the executables link libMLIR, once. (Linking libMLIR and
# MLIR's static archives together puts two copies of MLIR into one process.)
function(ff_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  # LLVM 19 in Debian has RTTI and no exceptions.
  target_compile_options(${name} PRIVATE -fno-exceptions)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(ARG_LINK)
    target_link_libraries(${name} PUBLIC ${ARG_LINK})
  endif()
endfunction()

# ff_add_tool(NAME sources... LINK libraries...): an executable of the compiler, in bin/.
function(ff_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
endfunction()

# ff_tablegen(TARGET FILE.td output generator-flags ...): pairs of an output and its flags in one string.
function(ff_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest output flags)
    separate_arguments(flags)
    mlir_tablegen(${output} ${flags} EXTRA_INCLUDES ${CMAKE_SOURCE_DIR})
  endwhile()
  add_public_tablegen_target(${target})
endfunction()
