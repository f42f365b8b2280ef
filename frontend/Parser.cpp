//===- Parser.cpp - Statements and declarations of the forward language -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Parser.h"

#include "llvm/ADT/StringSwitch.h"

using namespace ff::frontend;

static std::string describeToken(const Token &token) {
  switch (token.kind) {
  case Token::Kind::Newline:
    return "the end of the line";
  case Token::Kind::Indent:
    return "an indented line";
  case Token::Kind::Dedent:
    return "the end of the indented lines";
  case Token::Kind::End:
    return "the end of the text";
  default:
    return "'" + token.text + "'";
  }
}

bool Parser::unexpected(const Twine &wanted) {
  if (peek().kind == Token::Kind::Indent)
    diags.error(peek().loc, "unexpected indentation");
  else
    diags.error(peek().loc,
                "expected " + wanted + ", found " + describeToken(peek()));
  return false;
}

bool Parser::expect(StringRef sign) {
  return accept(sign) || unexpected("'" + sign + "'");
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

bool Parser::parseBody(std::vector<Stmt> &body) {
  while (peek().kind != Token::Kind::End)
    if (!parseStatement(body))
      return false;
  return true;
}

bool Parser::parseBlock(std::vector<Stmt> &body) {
  if (!expect(":"))
    return false;
  if (peek().kind != Token::Kind::Newline) // `if c: x = 1`
    return parseSimple(body);
  take();
  if (peek().kind != Token::Kind::Indent)
    return unexpected("an indented line");
  take();
  while (peek().kind != Token::Kind::Dedent)
    if (!parseStatement(body))
      return false;
  take();
  return true;
}

bool Parser::parseStatement(std::vector<Stmt> &body) {
  const Token &token = peek();
  if (token.isName("for"))
    return parseFor(body);
  if (token.isName("if"))
    return parseIf(body);
  for (StringRef word : {"while", "def", "class", "import", "from", "with",
                         "try", "lambda", "elif", "else", "pass"}) {
    if (!token.isName(word))
      continue;
    if (word == "pass") {
      take();
      return endStatement();
    }
    auto report = diags.error(token.loc, "'" + word + "' is not expected here");
    if (word != "elif" && word != "else")
      report.note("the statements are assignments, 'return', 'for', 'if'");
    return false;
  }
  return parseSimple(body);
}

bool Parser::parseFor(std::vector<Stmt> &body) {
  Stmt stmt(Stmt::Kind::For, take().loc);
  do {
    if (peek().kind != Token::Kind::Name)
      return unexpected("a name for the loop variable");
    Token name = take();
    stmt.targets.push_back({name.text, name.loc});
  } while (accept(","));
  if (!peek().isName("in"))
    return unexpected("'in'");
  take();
  stmt.value = parseTupleOr();
  if (!stmt.value || !parseBlock(stmt.body))
    return false;
  body.push_back(std::move(stmt));
  return true;
}

bool Parser::parseIf(std::vector<Stmt> &body) {
  Stmt stmt(Stmt::Kind::If, take().loc);
  stmt.value = parseExpr();
  if (!stmt.value || !parseBlock(stmt.body))
    return false;
  if (peek().isName("elif")) {
    if (!parseIf(stmt.orelse))
      return false;
  } else if (peek().isName("else")) {
    take();
    if (!parseBlock(stmt.orelse))
      return false;
  }
  body.push_back(std::move(stmt));
  return true;
}

bool Parser::endStatement() {
  if (peek().kind == Token::Kind::End)
    return true;
  if (peek().kind != Token::Kind::Newline)
    return unexpected("the end of the line");
  take();
  return true;
}

bool Parser::parseReturn(std::vector<Stmt> &body) {
  Stmt stmt(Stmt::Kind::Return, take().loc);
  if (peek().kind != Token::Kind::Newline) {
    stmt.value = peek().is("{") ? parseRecord() : parseTupleOr();
    if (!stmt.value)
      return false;
  }
  body.push_back(std::move(stmt));
  return endStatement();
}

bool Parser::parseTargets(ExprPtr targets, Stmt &stmt) {
  std::vector<ExprPtr> list;
  if (targets->kind == Expr::Kind::Tuple)
    list = std::move(targets->operands);
  else
    list.push_back(std::move(targets));
  for (ExprPtr &target : list) {
    if (target->kind != Expr::Kind::Name ||
        StringRef(target->text).contains('.')) {
      diags.error(target->loc, "only a plain name can be assigned to");
      return false;
    }
    stmt.targets.push_back({target->text, target->loc});
  }
  return true;
}

bool Parser::parseSimple(std::vector<Stmt> &body) {
  if (peek().isName("return"))
    return parseReturn(body);
  SMLoc loc = peek().loc;
  ExprPtr first = parseTupleOr();
  if (!first)
    return false;
  Stmt stmt(Stmt::Kind::Expression, loc);
  if (accept("=")) {
    stmt.kind = Stmt::Kind::Assign;
    stmt.value = parseTupleOr();
    if (!stmt.value || !parseTargets(std::move(first), stmt))
      return false;
  } else if (peek().kind == Token::Kind::Sign && peek().text.size() > 1 &&
             peek().text.back() == '=' && !peek().is("==") &&
             !peek().is("!=") && !peek().is("<=") && !peek().is(">=")) {
    std::string sign = take().text;
    stmt.kind = Stmt::Kind::AugAssign;
    stmt.op = llvm::StringSwitch<Operator>(sign)
                  .Case("+=", Operator::Add)
                  .Case("-=", Operator::Sub)
                  .Case("*=", Operator::Mul)
                  .Case("/=", Operator::Div)
                  .Case("//=", Operator::FloorDiv)
                  .Case("%=", Operator::Mod)
                  .Case("@=", Operator::MatMul)
                  .Default(Operator::Pow);
    stmt.value = parseTupleOr();
    if (!stmt.value || !parseTargets(std::move(first), stmt))
      return false;
  } else {
    stmt.value = std::move(first);
  }
  body.push_back(std::move(stmt));
  return endStatement();
}

bool Parser::parseInput(InputDecl &input) {
  if (peek().kind != Token::Kind::Name || StringRef(peek().text).contains('.'))
    return unexpected("the name of an input");
  Token name = take();
  input.name = name.text;
  input.loc = name.loc;
  if (accept(":")) {
    input.isTensor = true;
    if (!expect("[") || !parseList("]", input.dims))
      return false;
    if (peek().kind == Token::Kind::Name) {
      Token dtype = take();
      input.dtype = dtype.text;
      input.dtypeLoc = dtype.loc;
    }
  }
  if (accept("=")) {
    if (!peek().isName("None"))
      return unexpected("'None'");
    take();
    input.isOptional = true;
  }
  return peek().kind == Token::Kind::Newline ||
         unexpected("the end of the declaration");
}

bool ff::frontend::parseForward(const Node &string, Diagnostics &diags,
                                std::vector<Stmt> &body) {
  std::vector<Token> tokens;
  if (!tokenize(string, diags, tokens))
    return false;
  return Parser(diags, std::move(tokens)).parseBody(body);
}

ExprPtr ff::frontend::parseExpression(const Node &string, Diagnostics &diags) {
  std::vector<Token> tokens;
  if (!tokenize(string, diags, tokens))
    return nullptr;
  return Parser(diags, std::move(tokens)).parseWholeExpression();
}

bool ff::frontend::parseInput(const Node &string, Diagnostics &diags,
                              InputDecl &input) {
  std::vector<Token> tokens;
  if (!tokenize(string, diags, tokens))
    return false;
  return Parser(diags, std::move(tokens)).parseInput(input);
}
