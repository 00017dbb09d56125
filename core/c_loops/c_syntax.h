// The part of C that annotated loops are made of, as a tree of our own: what clang's parser found,
// with operators, types and constants at hand.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/expression/element_type.h"
#include "core/scalar/scalar_type.h"
#include "core/scalar/scalar_value.h"

namespace mdh {

struct CField {
  std::string name;
  ScalarType type;
};

struct CType {
  enum class Kind {
    kScalar,   // bool, integers, floating point; enumerations are their integers
    kRecord,   // a struct of scalars
    kPointer,  // to `element`
    kArray,    // of `element`
    kOther,    // void, and what expressions cannot have: long double, unions, ...
  };
  Kind kind = Kind::kOther;
  ScalarType scalar = ScalarType::kInt32;  // kScalar
  bool is_const = false;                   // of the type or of what it points to or consists of
  std::string spelling;                    // for messages
  std::vector<CField> fields = {};         // kRecord
  std::shared_ptr<CType> element = {};     // kPointer, kArray
  int64_t extent = -1;                     // kArray; -1: not written or no constant

  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_record() const { return kind == Kind::kRecord; }
  // One per field; one for a scalar.
  std::vector<ScalarType> ScalarTypes() const;
};

struct CNode {
  enum class Kind {
    // Expressions.
    kLiteral,      // value
    kReference,    // to the declaration `declaration`, called `text`
    kSubscript,    // base, index
    kDereference,  // *base
    kMember,       // record.text
    kUnary,        // text: - + ! ~ ++ --
    kBinary,       // text: the operator
    kAssign,       // text: = += -= ...; left, right
    kConditional,  // condition, then, else
    kConvert,      // to `type`, implicit or not
    kCall,         // of the function called `text` at `declaration`; arguments
    kList,         // { a, b }
    // Statements.
    kCompound,
    kDeclarations,  // of kDeclaration
    kDeclaration,   // text, declaration; the initial value if there is one
    kFor,           // start, condition, step, body; nothing if one is missing
    kIf,            // condition, then, [else]
    kReturn,        // [value]
    kEmpty,
    kOther,  // text: what it is, for a message
  };
  Kind kind = Kind::kOther;
  CType type;
  size_t begin = 0;  // offsets in the text
  size_t end = 0;
  std::string text;
  // Of a declaration and of all references to it: unique in the file; empty for what comes from
  // other files.
  std::string declaration;
  std::optional<ScalarValue> value;  // kLiteral
  std::optional<int64_t> constant;   // of every integer expression that clang can compute
  std::vector<CNode> children;
};

// What a reference refers to.
struct CVariable {
  enum class Kind { kParameter, kLocal, kGlobal };
  Kind kind = Kind::kLocal;
  CType type;
  size_t offset = 0;
  std::vector<CNode> extents;  // of arrays, outermost first; empty nodes where none is written
  std::shared_ptr<CNode> initial_value;  // null if there is none
};

struct CFunction {
  std::string name;
  std::string declaration;
  CType result;
  size_t offset = 0;
  std::vector<CNode> parameters;  // of kind kDeclaration
  CNode body;                     // kCompound
};

}  // namespace mdh
