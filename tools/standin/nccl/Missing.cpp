// What is not implemented says so. NCCL has no code for that: an internal error
// comes nearest.
#include "tools/standin/api/Cuda.h"

#define FF_MISSING(name)                                                       \
  extern "C" __attribute__((visibility("default"))) int name() {               \
    ffStandinSay(#name " is not implemented by the stand-in");                 \
    return 3;                                                                  \
  }
#include "tools/standin/nccl/Missing.def"
