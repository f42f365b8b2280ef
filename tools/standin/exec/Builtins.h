#ifndef FF_STANDIN_EXEC_BUILTINS_H
#define FF_STANDIN_EXEC_BUILTINS_H

#include "tools/standin/exec/Machine.h"

namespace standin::exec {

// The handler of a function that the system provides; null for others.
Handler builtin(const std::string &name);

} // namespace standin::exec

#endif
