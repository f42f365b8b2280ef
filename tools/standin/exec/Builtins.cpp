// Functions that a GPU's system provides to kernels: vprintf and __assertfail.
#include "tools/standin/exec/Builtins.h"
#include "tools/standin/api/Cuda.h"

#include <cstring>

namespace standin::exec {

namespace {
std::string text(Warp &w, int lane, uint64_t addr) {
  std::string s;
  for (char c; (c = (char)*access(w, lane, addr, 1, ptx::Space::None,
                                  Access::Read, false, nullptr));
       ++addr)
    s += c;
  return s;
}
template <class T> T take(Warp &w, int lane, uint64_t &at) {
  at = (at + sizeof(T) - 1) / sizeof(T) * sizeof(T);
  T v;
  memcpy(&v,
         access(w, lane, at, sizeof(T), ptx::Space::None, Access::Read, false,
                nullptr),
         sizeof(T));
  at += sizeof(T);
  return v;
}
uint64_t argument(Warp &w, const Op &o, unsigned lane, unsigned i) {
  const Frame *f = w.cur.frame;
  uint64_t v;
  memcpy(&v,
         f->params.data() + (uint64_t)lane * f->fn->paramBytes +
             f->fn->extra[o.x + i],
         8);
  return v;
}

// extra[x]: where the format and the address of the values lie among the
// caller's parameters; then the result's place.
void vprintf(Warp &w, const Op &o, uint32_t m) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!(m >> lane & 1))
      continue;
    std::string format = text(w, (int)lane, argument(w, o, lane, 0)), out;
    uint64_t at = argument(w, o, lane, 1);
    char buffer[256];
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        out += format[i];
        continue;
      }
      size_t end = format.find_first_of("diouxXcsfFeEgGaAp%", i + 1);
      if (end == std::string::npos)
        break;
      std::string spec = format.substr(i, end - i + 1);
      char kind = spec.back();
      bool wide = spec.find('l') != std::string::npos ||
                  spec.find('z') != std::string::npos;
      buffer[0] = 0;
      if (kind == '%')
        strcpy(buffer, "%");
      else if (kind == 's')
        out += text(w, (int)lane, take<uint64_t>(w, (int)lane, at));
      else if (strchr("fFeEgGaA", kind))
        snprintf(buffer, sizeof buffer, spec.c_str(),
                 take<double>(w, (int)lane, at));
      else if (wide || kind == 'p')
        snprintf(buffer, sizeof buffer, spec.c_str(),
                 take<uint64_t>(w, (int)lane, at));
      else
        snprintf(buffer, sizeof buffer, spec.c_str(),
                 take<uint32_t>(w, (int)lane, at));
      out += buffer;
      i = end;
    }
    fputs(out.c_str(), stdout); // as the driver does: the kernel's words alone
    int32_t count = (int32_t)out.size();
    Frame *f = w.cur.frame;
    if (uint32_t result = f->fn->extra[o.x + 2]; result != none)
      memcpy(f->params.data() + (uint64_t)lane * f->fn->paramBytes + result,
             &count, 4);
  }
  fflush(stdout);
}

void assertFail(Warp &w, const Op &o, uint32_t m) {
  int lane = __builtin_ctz(m);
  uint32_t line = (uint32_t)argument(w, o, (unsigned)lane, 2);
  w.fault(cuda::ASSERT, lane,
          text(w, lane, argument(w, o, (unsigned)lane, 1)) + ":" +
              std::to_string(line) + ": " +
              text(w, lane, argument(w, o, (unsigned)lane, 3)) +
              ": assertion `" +
              text(w, lane, argument(w, o, (unsigned)lane, 0)) + "` failed");
}
} // namespace

Handler builtin(const std::string &name) {
  return name == "vprintf"        ? vprintf
         : name == "__assertfail" ? assertFail
                                  : (Handler) nullptr;
}

} // namespace standin::exec
