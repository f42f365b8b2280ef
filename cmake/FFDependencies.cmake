# Everything that ff builds on, found once. Debian 12 has all of it.

# The version file of Debian's MLIR wants major.minor.
find_package(MLIR 19.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# MLIR_INCLUDE_DIR and MLIR_MAIN_SRC_DIR name a folder of Debian's build machine; MLIR_INCLUDE_DIRS is right.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${LLVM_DEFINITIONS_LIST})

# Compiles the device library to bitcode. That of a newer LLVM could not be read.
find_program(FF_DEVICE_CLANG NAMES clang++-${LLVM_VERSION_MAJOR} PATHS ${LLVM_TOOLS_BINARY_DIR})
if(NOT FF_DEVICE_CLANG)
  message(FATAL_ERROR "clang++-${LLVM_VERSION_MAJOR} not found: it compiles the device library (codegen/device/library). "
                      "tools/setup.sh installs it.")
endif()

# Debian's dnnl-config.cmake asks for OpenCL, which a CPU build does not need.
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_package(Gloo REQUIRED CONFIG)
# oneDNN runs on libgomp. The runtime shares its threads by calling libgomp's GOMP_parallel (the entry to which GCC compiles
# `#pragma omp parallel`): clang's own OpenMP would bring a second thread pool, which spins against the first.
find_library(GOMP_LIBRARY NAMES gomp libgomp.so.1 REQUIRED)
find_package(PNG REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)

# toml++ is used header-only: the flags of its pkg-config file select a prebuilt library that throws exceptions.
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()
