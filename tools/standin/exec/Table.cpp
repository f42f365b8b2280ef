// The table of handlers of one instruction set; HandlersPick.cpp chooses.
#include "tools/standin/exec/Lanes.h"

namespace standin::exec::FF_STANDIN_ISA {

extern const Handlers table;
const Handlers table = {integer, compare, floating, half,   convert, load,
                        store,   atomic,  warp,     matrix, misc};

} // namespace standin::exec::FF_STANDIN_ISA
