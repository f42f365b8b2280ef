//===- Lexer.h - Tokens of the forward language -----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_LEXER_H
#define FF_FRONTEND_LEXER_H

#include "frontend/Toml.h"

namespace ff::frontend {

struct Token {
  enum class Kind {
    Name, ///< also dotted: "net.0.proj"
    Integer,
    Float,
    String,
    Sign, ///< operators and brackets, by `text`
    Newline,
    Indent,
    Dedent,
    End,
  };

  Kind kind;
  SMLoc loc;
  std::string text;

  bool is(StringRef sign) const { return kind == Kind::Sign && text == sign; }
  bool isName(StringRef word) const {
    return kind == Kind::Name && text == word;
  }
};

/// Splits a string of TOML into tokens. False after an error.
bool tokenize(const Node &string, Diagnostics &diags,
              std::vector<Token> &tokens);

} // namespace ff::frontend

#endif // FF_FRONTEND_LEXER_H
