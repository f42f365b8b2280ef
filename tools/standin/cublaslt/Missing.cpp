// What is not implemented says so: CUBLAS_STATUS_NOT_SUPPORTED.
#include "tools/standin/api/Cuda.h"

#define FF_MISSING(name)                                                       \
  extern "C" __attribute__((visibility("default"))) int name() {               \
    ffStandinSay(#name " is not implemented by the stand-in");                 \
    return 15;                                                                 \
  }
#include "tools/standin/cublaslt/Missing.def"
