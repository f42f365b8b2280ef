//===- Parser.h - Parser of the forward language ----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_PARSER_H
#define FF_FRONTEND_PARSER_H

#include "frontend/Ast.h"
#include "frontend/Lexer.h"

namespace ff::frontend {

/// A recursive-descent parser; methods return null or false after an error,
/// which they have reported.
class Parser {
public:
  Parser(Diagnostics &diags, std::vector<Token> tokens)
      : diags(diags), tokens(std::move(tokens)) {}

  bool parseBody(std::vector<Stmt> &body);
  ExprPtr parseWholeExpression();
  bool parseInput(InputDecl &input);

private:
  bool parseStatement(std::vector<Stmt> &body);
  bool parseBlock(std::vector<Stmt> &body);
  bool parseFor(std::vector<Stmt> &body);
  bool parseIf(std::vector<Stmt> &body);
  bool parseReturn(std::vector<Stmt> &body);
  bool parseSimple(std::vector<Stmt> &body);
  bool parseTargets(ExprPtr targets, Stmt &stmt);
  bool endStatement();

  ExprPtr parseExpr();
  ExprPtr parseTupleOr();
  ExprPtr parseOr();
  ExprPtr parseAnd();
  ExprPtr parseNot();
  ExprPtr parseComparison();
  ExprPtr parseBinary(unsigned level);
  ExprPtr parseUnary();
  ExprPtr parsePower();
  ExprPtr parsePostfix();
  ExprPtr parseAtom();
  ExprPtr parseRecord();
  bool parseArguments(Expr &call);
  bool parseIndices(Expr &index);
  ExprPtr parseIndex();
  bool parseList(StringRef close, std::vector<ExprPtr> &items);

  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(at + ahead, tokens.size() - 1)];
  }
  Token take() { return tokens[std::min(at++, tokens.size() - 1)]; }
  bool accept(StringRef sign) {
    if (!peek().is(sign))
      return false;
    ++at;
    return true;
  }
  bool expect(StringRef sign);
  bool unexpected(const Twine &wanted);
  static ExprPtr make(Expr::Kind kind, SMLoc loc) {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->loc = loc;
    return expr;
  }
  ExprPtr makeBinary(Operator op, SMLoc loc, ExprPtr lhs, ExprPtr rhs);
  /// Counts an operator of the expression. False after an error.
  bool countOperator(SMLoc loc);
  /// Counts a level of nesting, which --nesting ends. False after an error.
  bool enter();

  Diagnostics &diags;
  std::vector<Token> tokens;
  size_t at = 0;
  unsigned nesting = 0;
  unsigned operators = 0; ///< of the outermost expression so far
};

} // namespace ff::frontend

#endif // FF_FRONTEND_PARSER_H
