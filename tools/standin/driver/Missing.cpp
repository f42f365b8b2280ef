// What is not implemented says so: no entry point pretends.
#include "tools/standin/driver/Driver.h"

#define FF_MISSING(name)                                                       \
  FF_CUDA name() {                                                             \
    return standin::driver::refuse(standin::cuda::NOT_SUPPORTED, #name         \
                                   " is not implemented by the stand-in");     \
  }
#include "tools/standin/driver/Missing.def"
