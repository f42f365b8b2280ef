# Warnings are errors. Headers of dependencies are included as system headers.
add_compile_options(-Wall -Wextra -Werror -Wno-unused-parameter
                    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
                    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of GCC 12 in headers of the standard library and LLVM.
  add_compile_options(-Wno-maybe-uninitialized -Wno-dangling-pointer -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()
if(FF_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
add_link_options(-fuse-ld=lld)
