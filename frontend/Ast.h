//===- Ast.h - Syntax of the forward language -------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward language is a small subset of Python. Blocks are indented;
// everything but tensors is known at compile time, so `for` and `if` are
// executed while the program is imported.
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_AST_H
#define FF_FRONTEND_AST_H

#include "frontend/Toml.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <vector>

namespace ff::frontend {

enum class Operator {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  Mod,
  Pow,
  MatMul,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  In,
  And,
  Or,
  Not,
  Neg,
  Pos
};

/// The sign of an operator, for messages.
StringRef spelling(Operator op);

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Keyword {
  std::string name;
  SMLoc loc;
  ExprPtr value;
};

struct Expr {
  enum class Kind {
    Integer,
    Float,
    String,
    Boolean,
    None,
    Ellipsis,
    Name,        ///< `text`, dotted names as one: "net.0.proj"
    List,        ///< operands
    Tuple,       ///< operands
    Record,      ///< keywords: {x = value}; in a return
    Unary,       ///< op, operands[0]
    Binary,      ///< op, operands[0..1]
    Call,        ///< operands[0](operands[1...], keywords)
    Index,       ///< operands[0][operands[1...]]
    Slice,       ///< operands[0..2], each may be null
    Member,      ///< operands[0].text
    Conditional, ///< operands[0] if operands[1] else operands[2]
  };

  Kind kind;
  SMLoc loc;
  std::string text;
  int64_t integer = 0;
  double number = 0;
  Operator op = Operator::Add;
  std::vector<ExprPtr> operands;
  std::vector<Keyword> keywords;
};

struct Stmt {
  enum class Kind { Assign, AugAssign, Return, For, If, Expression };

  Stmt(Kind kind, SMLoc loc) : kind(kind), loc(loc) {}

  Kind kind;
  SMLoc loc;
  /// Names assigned to, or the loop variables.
  std::vector<std::pair<std::string, SMLoc>> targets;
  Operator op = Operator::Add; ///< of an AugAssign
  ExprPtr value;          ///< assigned, returned, looped over, or the condition
  std::vector<Stmt> body; ///< of a For, or of an If that holds
  std::vector<Stmt> orelse; ///< of an If that does not
};

/// Parses a forward string. False after an error.
bool parseForward(const Node &string, Diagnostics &diags,
                  std::vector<Stmt> &body);

/// Parses a string that holds one expression, such as a dim. Null after an
/// error.
ExprPtr parseExpression(const Node &string, Diagnostics &diags);

/// An input of a program or module: "x: [B, S, dim] i64".
struct InputDecl {
  std::string name;
  SMLoc loc;
  bool isTensor = false;     ///< else a compile-time value
  bool isOptional = false;   ///< it may be None, and is where it is not given
  std::vector<ExprPtr> dims; ///< an Ellipsis may come first
  std::string dtype;         ///< empty: the compute dtype
  SMLoc dtypeLoc;
};

/// Parses an input declaration. False after an error.
bool parseInput(const Node &string, Diagnostics &diags, InputDecl &input);

} // namespace ff::frontend

#endif // FF_FRONTEND_AST_H
