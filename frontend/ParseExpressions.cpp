//===- ParseExpressions.cpp - Expressions of the forward language -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Parser.h"

#include "llvm/ADT/STLExtras.h"

using namespace ff::frontend;

/// Deeper expressions than this are a mistake, and recursion must end.
static constexpr unsigned kMaxNesting = 200;
/// Likewise: a chain of operators is as deep as it is long.
static constexpr unsigned kMaxOperators = 1000;

StringRef ff::frontend::spelling(Operator op) {
  static constexpr llvm::StringLiteral names[] = {
      "+", "-",  "*", "/",  "//", "%",   "**", "@",   "==", "!=",
      "<", "<=", ">", ">=", "in", "and", "or", "not", "-",  "+"};
  return names[static_cast<size_t>(op)];
}

bool Parser::enter() {
  if (++nesting <= kMaxNesting)
    return true;
  diags.error(peek().loc, "this expression is nested too deeply");
  return false;
}

bool Parser::countOperator(SMLoc loc) {
  if (++operators <= kMaxOperators)
    return true;
  diags
      .error(loc, "this expression has more than " + Twine(kMaxOperators) +
                      " operators")
      .note("assign parts of it to variables");
  return false;
}

ExprPtr Parser::makeBinary(Operator op, SMLoc loc, ExprPtr lhs, ExprPtr rhs) {
  if (!countOperator(loc))
    return nullptr;
  ExprPtr expr = make(Expr::Kind::Binary, loc);
  expr->op = op;
  expr->operands.push_back(std::move(lhs));
  expr->operands.push_back(std::move(rhs));
  return expr;
}

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
  if (nesting == 0)
    operators = 0;
  if (!enter())
    return nullptr;
  ExprPtr value = parseOr();
  if (!value || !peek().isName("if")) {
    --nesting;
    return value;
  }
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
  --nesting;
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
    lhs = rhs ? makeBinary(Operator::Or, loc, std::move(lhs), std::move(rhs))
              : nullptr;
  }
  return lhs;
}

ExprPtr Parser::parseAnd() {
  ExprPtr lhs = parseNot();
  while (lhs && peek().isName("and")) {
    SMLoc loc = take().loc;
    ExprPtr rhs = parseNot();
    lhs = rhs ? makeBinary(Operator::And, loc, std::move(lhs), std::move(rhs))
              : nullptr;
  }
  return lhs;
}

ExprPtr Parser::parseNot() {
  if (!peek().isName("not"))
    return parseComparison();
  ExprPtr expr = make(Expr::Kind::Unary, take().loc);
  expr->op = Operator::Not;
  if (!enter())
    return nullptr;
  ExprPtr operand = parseNot();
  --nesting;
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
  if (peek().isName("in")) {
    SMLoc loc = take().loc;
    ExprPtr rhs = parseBinary(0);
    if (!rhs)
      return nullptr;
    return makeBinary(Operator::In, loc, std::move(lhs), std::move(rhs));
  }
  return lhs;
}

/// Level 0: + -; level 1: * / // % @.
ExprPtr Parser::parseBinary(unsigned level) {
  static const std::pair<llvm::StringLiteral, Operator> sums[] = {
      {"+", Operator::Add}, {"-", Operator::Sub}};
  static const std::pair<llvm::StringLiteral, Operator> products[] = {
      {"*", Operator::Mul},
      {"/", Operator::Div},
      {"//", Operator::FloorDiv},
      {"%", Operator::Mod},
      {"@", Operator::MatMul}};
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
  if (!enter())
    return nullptr;
  ExprPtr operand = parseUnary();
  --nesting;
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
  if (!enter())
    return nullptr;
  ExprPtr exponent = parseUnary();
  --nesting;
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
    if (!countOperator(sign.loc))
      return nullptr;
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
