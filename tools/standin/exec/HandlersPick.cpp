#include "tools/standin/exec/Machine.h"

#include <cstdlib>

namespace standin::exec {

namespace baseline {
extern const Handlers table;
}
#ifdef FF_STANDIN_HAVE_V3
namespace v3 {
extern const Handlers table;
}
#endif

const Handlers &handlers() {
#ifdef FF_STANDIN_HAVE_V3
  static const bool fast = __builtin_cpu_supports("avx2") &&
                           __builtin_cpu_supports("fma") &&
                           !getenv("FF_STANDIN_BASELINE");
  if (fast)
    return v3::table;
#endif
  return baseline::table;
}

} // namespace standin::exec
