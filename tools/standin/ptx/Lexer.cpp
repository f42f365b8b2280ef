#include "tools/standin/ptx/Ptx.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace standin::ptx {

unsigned bytesOf(Type type) {
  switch (type) {
  case Type::B8:
  case Type::U8:
  case Type::S8:
    return 1;
  case Type::B16:
  case Type::U16:
  case Type::S16:
  case Type::F16:
  case Type::BF16:
    return 2;
  case Type::B64:
  case Type::U64:
  case Type::S64:
  case Type::F64:
    return 8;
  case Type::B128:
    return 16;
  case Type::None:
    return 0;
  default:
    return 4;
  }
}

bool isFloat(Type type) { return type >= Type::F16; }
bool isSigned(Type type) { return type >= Type::S8 && type <= Type::S64; }

Type typeOf(const std::string &s) {
  static const std::map<std::string, Type> types = {
      {"pred", Type::Pred}, {"b8", Type::B8},       {"b16", Type::B16},
      {"b32", Type::B32},   {"b64", Type::B64},     {"b128", Type::B128},
      {"u8", Type::U8},     {"u16", Type::U16},     {"u32", Type::U32},
      {"u64", Type::U64},   {"s8", Type::S8},       {"s16", Type::S16},
      {"s32", Type::S32},   {"s64", Type::S64},     {"f16", Type::F16},
      {"bf16", Type::BF16}, {"f16x2", Type::F16X2}, {"bf16x2", Type::BF16X2},
      {"tf32", Type::TF32}, {"f32", Type::F32},     {"f64", Type::F64}};
  auto it = types.find(s);
  return it == types.end() ? Type::None : it->second;
}

namespace {
bool identStart(char c) {
  return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%';
}
bool identRest(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '$';
}

// 0f3F800000 and 0d3FF0000000000000 are bits; 1.5, 1e3 are decimal.
Token number(const char *&p, int line) {
  Token t;
  t.line = line;
  const char *begin = p;
  if (*p == '0' && (p[1] == 'f' || p[1] == 'F' || p[1] == 'd' || p[1] == 'D')) {
    int digits = (p[1] == 'f' || p[1] == 'F') ? 8 : 16;
    int have = 0;
    while (isxdigit((unsigned char)p[2 + have]))
      ++have;
    if (have == digits) {
      t.kind = Token::Float;
      t.floatBytes = digits / 2;
      t.value = strtoull(std::string(p + 2, digits).c_str(), nullptr, 16);
      if (digits == 8) {
        uint32_t bits = (uint32_t)t.value;
        float f;
        memcpy(&f, &bits, 4);
        t.number = f;
      } else {
        memcpy(&t.number, &t.value, 8);
      }
      p += 2 + digits;
      t.text.assign(begin, p);
      return t;
    }
  }
  char *end = nullptr;
  t.kind = Token::Int;
  if (*p == '0' && (p[1] == 'b' || p[1] == 'B'))
    t.value = strtoull(p + 2, &end, 2);
  else
    t.value = strtoull(p, &end, 0); // decimal, 0x, and octal with a leading 0
  const char *q = p;
  while (isdigit((unsigned char)*q))
    ++q;
  if ((*q == '.' && isdigit((unsigned char)q[1])) ||
      ((*q == 'e' || *q == 'E') && p[1] != 'x')) {
    t.kind = Token::Float;
    t.number = strtod(p, &end);
  }
  p = end;
  if (*p == 'U' && t.kind == Token::Int)
    ++p;
  t.text.assign(begin, p);
  return t;
}
} // namespace

std::vector<Token> lex(const std::string &text) {
  std::vector<Token> tokens;
  int line = 1;
  const char *p = text.c_str();
  while (*p) {
    if (*p == '\n') {
      ++line, ++p;
    } else if (isspace((unsigned char)*p)) {
      ++p;
    } else if (p[0] == '/' && p[1] == '/') {
      while (*p && *p != '\n')
        ++p;
    } else if (p[0] == '/' && p[1] == '*') {
      for (p += 2; *p && !(p[0] == '*' && p[1] == '/'); ++p)
        line += *p == '\n';
      p += *p ? 2 : 0;
    } else if (*p == '"') {
      Token t;
      t.kind = Token::String, t.line = line;
      for (++p; *p && *p != '"'; ++p)
        t.text += *p;
      p += *p ? 1 : 0;
      tokens.push_back(t);
    } else if (identStart(*p)) {
      Token t;
      t.kind = Token::Ident, t.line = line;
      t.text += *p++;
      while (identRest(*p))
        t.text += *p++;
      tokens.push_back(t);
    } else if (isdigit((unsigned char)*p)) {
      tokens.push_back(number(p, line));
    } else {
      Token t;
      t.kind = Token::Punct, t.line = line;
      // ".shared::cta" and "._" are taken apart by the parser; "::" is one
      // token.
      if (p[0] == ':' && p[1] == ':')
        t.text = "::", p += 2;
      else
        t.text = *p++;
      tokens.push_back(t);
    }
  }
  Token end;
  end.line = line;
  tokens.push_back(end);
  return tokens;
}

} // namespace standin::ptx
