//===- Parser.cpp - Syntax of the forward language --------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Ast.h"
#include "frontend/Lexer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace ff::frontend;

StringRef ff::frontend::spelling(Operator op) {
  static constexpr llvm::StringLiteral names[] = {
      "+", "-",  "*", "/",  "//", "%",   "**", "@",   "==", "!=",
      "<", "<=", ">", ">=", "and", "or", "not", "-", "+"};
  return names[static_cast<size_t>(op)];
}

namespace {
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
  static ExprPtr makeBinary(Operator op, SMLoc loc, ExprPtr lhs, ExprPtr rhs) {
    ExprPtr expr = make(Expr::Kind::Binary, loc);
    expr->op = op;
    expr->operands.push_back(std::move(lhs));
    expr->operands.push_back(std::move(rhs));
    return expr;
  }

  Diagnostics &diags;
  std::vector<Token> tokens;
  size_t at = 0;
  unsigned nesting = 0;
};

/// Deeper expressions than this are a mistake, and recursion must end.
constexpr unsigned kMaxNesting = 200;
} // namespace

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
    if (target->kind != Expr::Kind::Name || StringRef(target->text).contains('.')) {
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

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

ExprPtr Parser::parseTupleOr() {
  SMLoc loc = peek().loc;
  ExprPtr first = parseExpr();
  if (!first || !peek().is(","))
    return first;
  ExprPtr tuple = make(Expr::Kind::Tuple, loc);
  tuple->operands.push_back(std::move(first));
  while (accept(",")) {
    if (peek().kind == Token::Kind::Newline || peek().is("="))
      break;
    ExprPtr next = parseExpr();
    if (!next)
      return nullptr;
    tuple->operands.push_back(std::move(next));
  }
  return tuple;
}

ExprPtr Parser::parseExpr() {
  if (++nesting > kMaxNesting) {
    diags.error(peek().loc, "this expression is nested too deeply");
    return nullptr;
  }
  ExprPtr value = parseOr();
  --nesting;
  if (!value || !peek().isName("if"))
    return value;
  ExprPtr result = make(Expr::Kind::Conditional, take().loc);
  ExprPtr condition = parseOr();
  if (!condition)
    return nullptr;
  if (!peek().isName("else")) {
    unexpected("'else'");
    return nullptr;
  }
  take();
  ExprPtr otherwise = parseExpr();
  if (!otherwise)
    return nullptr;
  result->operands.push_back(std::move(value));
  result->operands.push_back(std::move(condition));
  result->operands.push_back(std::move(otherwise));
  return result;
}

ExprPtr Parser::parseOr() {
  ExprPtr lhs = parseAnd();
  while (lhs && peek().isName("or")) {
    SMLoc loc = take().loc;
    ExprPtr rhs = parseAnd();
    lhs = rhs ? makeBinary(Operator::Or, loc, std::move(lhs), std::move(rhs)) : nullptr;
  }
  return lhs;
}

ExprPtr Parser::parseAnd() {
  ExprPtr lhs = parseNot();
  while (lhs && peek().isName("and")) {
    SMLoc loc = take().loc;
    ExprPtr rhs = parseNot();
    lhs = rhs ? makeBinary(Operator::And, loc, std::move(lhs), std::move(rhs)) : nullptr;
  }
  return lhs;
}

ExprPtr Parser::parseNot() {
  if (!peek().isName("not"))
    return parseComparison();
  ExprPtr expr = make(Expr::Kind::Unary, take().loc);
  expr->op = Operator::Not;
  ExprPtr operand = parseNot();
  if (!operand)
    return nullptr;
  expr->operands.push_back(std::move(operand));
  return expr;
}

ExprPtr Parser::parseComparison() {
  static const std::pair<llvm::StringLiteral, Operator> signs[] = {
      {"==", Operator::Eq}, {"!=", Operator::Ne}, {"<", Operator::Lt},
      {"<=", Operator::Le}, {">", Operator::Gt},  {">=", Operator::Ge}};
  ExprPtr lhs = parseBinary(0);
  if (!lhs)
    return nullptr;
  for (auto &[sign, op] : signs) {
    if (!peek().is(sign))
      continue;
    SMLoc loc = take().loc;
    ExprPtr rhs = parseBinary(0);
    if (!rhs)
      return nullptr;
    return makeBinary(op, loc, std::move(lhs), std::move(rhs));
  }
  return lhs;
}

/// Level 0: + -; level 1: * / // % @.
ExprPtr Parser::parseBinary(unsigned level) {
  static const std::pair<llvm::StringLiteral, Operator> sums[] = {
      {"+", Operator::Add}, {"-", Operator::Sub}};
  static const std::pair<llvm::StringLiteral, Operator> products[] = {
      {"*", Operator::Mul},       {"/", Operator::Div}, {"//", Operator::FloorDiv},
      {"%", Operator::Mod},       {"@", Operator::MatMul}};
  llvm::ArrayRef<std::pair<llvm::StringLiteral, Operator>> signs = sums;
  if (level == 1)
    signs = products;
  auto parseNext = [&] { return level == 0 ? parseBinary(1) : parseUnary(); };
  ExprPtr lhs = parseNext();
  while (lhs) {
    auto it = llvm::find_if(signs, [&](auto &s) { return peek().is(s.first); });
    if (it == signs.end())
      break;
    SMLoc loc = take().loc;
    ExprPtr rhs = parseNext();
    lhs = rhs ? makeBinary(it->second, loc, std::move(lhs), std::move(rhs))
              : nullptr;
  }
  return lhs;
}

ExprPtr Parser::parseUnary() {
  if (!peek().is("-") && !peek().is("+"))
    return parsePower();
  Token sign = take();
  ExprPtr operand = parseUnary();
  if (!operand || sign.text == "+")
    return operand;
  ExprPtr expr = make(Expr::Kind::Unary, sign.loc);
  expr->op = Operator::Neg;
  expr->operands.push_back(std::move(operand));
  return expr;
}

ExprPtr Parser::parsePower() {
  ExprPtr base = parsePostfix();
  if (!base || !peek().is("**"))
    return base;
  SMLoc loc = take().loc;
  ExprPtr exponent = parseUnary();
  if (!exponent)
    return nullptr;
  return makeBinary(Operator::Pow, loc, std::move(base), std::move(exponent));
}

ExprPtr Parser::parsePostfix() {
  ExprPtr expr = parseAtom();
  while (expr) {
    bool isCall = peek().is("("), isIndex = peek().is("[");
    if (!isCall && !isIndex && !peek().is("."))
      break;
    SMLoc loc = expr->loc;
    Token sign = take();
    ExprPtr outer = make(isCall    ? Expr::Kind::Call
                         : isIndex ? Expr::Kind::Index
                                   : Expr::Kind::Member,
                         loc);
    outer->operands.push_back(std::move(expr));
    if (sign.is(".")) {
      if (peek().kind != Token::Kind::Name) {
        unexpected("a name");
        return nullptr;
      }
      outer->text = take().text;
    } else if (isCall ? !parseArguments(*outer) : !parseIndices(*outer)) {
      return nullptr;
    }
    expr = std::move(outer);
  }
  return expr;
}

bool Parser::parseArguments(Expr &call) {
  while (!accept(")")) {
    if (peek().kind == Token::Kind::Name && peek(1).is("=")) {
      Token name = take();
      take();
      ExprPtr value = parseExpr();
      if (!value)
        return false;
      call.keywords.push_back({name.text, name.loc, std::move(value)});
    } else {
      if (!call.keywords.empty()) {
        diags.error(peek().loc,
                    "a positional argument follows a keyword argument");
        return false;
      }
      ExprPtr value = parseExpr();
      if (!value)
        return false;
      call.operands.push_back(std::move(value));
    }
    if (!peek().is(")") && !expect(","))
      return false;
  }
  return true;
}

ExprPtr Parser::parseIndex() {
  SMLoc loc = peek().loc;
  auto parseBound = [&](ExprPtr &bound) {
    if (peek().is(":") || peek().is(",") || peek().is("]"))
      return true;
    bound = parseExpr();
    return bound != nullptr;
  };
  ExprPtr start;
  if (!parseBound(start))
    return nullptr;
  if (!peek().is(":")) {
    if (!start)
      unexpected("an index");
    return start;
  }
  take();
  ExprPtr slice = make(Expr::Kind::Slice, loc), stop, step;
  if (!parseBound(stop) || (accept(":") && !parseBound(step)))
    return nullptr;
  slice->operands.push_back(std::move(start));
  slice->operands.push_back(std::move(stop));
  slice->operands.push_back(std::move(step));
  return slice;
}

bool Parser::parseIndices(Expr &index) {
  do {
    ExprPtr item = parseIndex();
    if (!item)
      return false;
    index.operands.push_back(std::move(item));
  } while (accept(",") && !peek().is("]"));
  return expect("]");
}

bool Parser::parseList(StringRef close, std::vector<ExprPtr> &items) {
  while (!accept(close)) {
    ExprPtr item = parseExpr();
    if (!item)
      return false;
    items.push_back(std::move(item));
    if (!peek().is(close) && !expect(","))
      return false;
  }
  return true;
}

ExprPtr Parser::parseRecord() {
  ExprPtr record = make(Expr::Kind::Record, take().loc);
  while (!accept("}")) {
    if (peek().kind != Token::Kind::Name) {
      unexpected("a name for the output");
      return nullptr;
    }
    Token name = take();
    if (!accept("=") && !accept(":")) {
      unexpected("'='");
      return nullptr;
    }
    ExprPtr value = parseExpr();
    if (!value)
      return nullptr;
    record->keywords.push_back({name.text, name.loc, std::move(value)});
    if (!peek().is("}") && !expect(","))
      return nullptr;
  }
  return record;
}

ExprPtr Parser::parseAtom() {
  const Token token = peek();
  if (token.is("(")) {
    take();
    ExprPtr inner = parseTupleOr();
    return inner && expect(")") ? std::move(inner) : nullptr;
  }
  if (token.is("[")) {
    take();
    ExprPtr list = make(Expr::Kind::List, token.loc);
    return parseList("]", list->operands) ? std::move(list) : nullptr;
  }
  if (token.is("...")) {
    take();
    return make(Expr::Kind::Ellipsis, token.loc);
  }
  Expr::Kind kind = Expr::Kind::Name;
  switch (token.kind) {
  case Token::Kind::Integer:
    kind = Expr::Kind::Integer;
    break;
  case Token::Kind::Float:
    kind = Expr::Kind::Float;
    break;
  case Token::Kind::String:
    kind = Expr::Kind::String;
    break;
  case Token::Kind::Name:
    break;
  default:
    unexpected("an expression");
    return nullptr;
  }
  take();
  ExprPtr expr = make(kind, token.loc);
  expr->text = token.text;
  if (kind == Expr::Kind::Integer &&
      StringRef(token.text).getAsInteger(10, expr->integer)) {
    diags.error(token.loc, "'" + token.text + "' does not fit in 64 bits");
    return nullptr;
  }
  if (kind == Expr::Kind::Float)
    expr->number = std::strtod(token.text.c_str(), nullptr);
  if (token.isName("None"))
    expr->kind = Expr::Kind::None;
  if (token.isName("True") || token.isName("true") || token.isName("False") ||
      token.isName("false")) {
    expr->kind = Expr::Kind::Boolean;
    expr->integer = token.text[0] == 'T' || token.text[0] == 't';
  }
  return expr;
}

ExprPtr Parser::parseWholeExpression() {
  ExprPtr expr = parseExpr();
  if (!expr)
    return nullptr;
  if (peek().kind == Token::Kind::Newline)
    take();
  if (peek().kind == Token::Kind::End)
    return expr;
  unexpected("the end of the expression");
  return nullptr;
}

bool Parser::parseInput(InputDecl &input) {
  if (peek().kind != Token::Kind::Name ||
      StringRef(peek().text).contains('.'))
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
