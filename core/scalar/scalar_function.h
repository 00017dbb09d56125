// Scalar functions: the f of md_hom and the binary functions of combine operators (paper, Section
// 2.2), as typed straight-line programs. No loops, no memory, no undefined behaviour.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/scalar/scalar_type.h"
#include "core/scalar/scalar_value.h"

namespace mdh {

// Semantics that hold on every target:
//   - integer arithmetic wraps; x / 0 and x % 0 are 0; the minimum divided by -1 wraps;
//   - min and max on floating point are minimum and maximum of IEEE 754-2019: NaN if one operand is
//     NaN, and -0 is less than 0;
//   - fmin and fmax are its minimumNumber and maximumNumber: the other operand if one is NaN;
//   - subnormal numbers are kept;
//   - conversions from floating point to integers truncate, saturate, and take NaN to 0;
//   - conversion to bool is `x != 0`; from bool gives 0 or 1;
//   - types that exist in memory only, as fp16 and bf16, are computed with in fp32 and rounded
//   after
//     every operation;
//   - a table is read at its nearest element: indices are clamped;
//   - && and || are strict (both sides are evaluated); there are no side effects.
// Operand types: both operands of a binary operation have the same type. Comparisons give bool.
// The numeric values are part of the wire format and of digests: append only.
enum class ScalarOp : uint8_t {
  kParameter = 1,  // the function's parameter number `immediate`
  kConstant = 2,   // `constant`
  kCast = 3,       // operand 0 converted to `type`
  kSelect = 4,     // operand 0 (bool) ? operand 1 : operand 2
  kTable = 5,      // element number operand 0 (an integer) of `table`
  // Unary.
  kNeg = 10,
  kNot = 11 /* bool */,
  kAbs = 12,
  kSqrt = 13,
  kRsqrt = 14,
  kExp = 15,
  kLog = 16,
  kLog2 = 17,
  kTanh = 18,
  kFloor = 19,
  kCeil = 20,
  kSin = 21,
  kCos = 22,
  kRound = 23,  // halfway cases to even
  kTrunc = 24,
  kErf = 25,
  kExp2 = 26,
  kLog1p = 27,  // log(1 + x), also of x near 0
  kExpm1 = 28,  // exp(x) - 1, also of x near 0
  kCbrt = 29,   // from kSqrt: fp only
  // Binary.
  kAdd = 40,
  kSub = 41,
  kMul = 42,
  kDiv = 43,
  kRem = 44 /* sign of the left operand; on fp C's fmod, exact */,
  kMin = 45,
  kMax = 46,
  kPow = 47 /* fp */,
  kBitAnd = 48,
  kBitOr = 49,
  kBitXor = 50 /* integers */,
  kFmin = 51,
  kFmax = 52 /* fp */,
  kAtan2 = 53,     // fp: the angle of the point (right operand, left operand), from -pi to pi
  kCopysign = 54,  // fp: the left operand with the sign of the right one
  kAnd = 60,
  kOr = 61 /* bool */,
  kEq = 70,
  kNe = 71,
  kLt = 72,
  kLe = 73,
  kGt = 74,
  kGe = 75,
};

struct ScalarOpInfo {
  ScalarOp op;
  absl::string_view name;  // name of the function in the text form, or the operator's spelling
  int operands;
  bool is_infix;
  int precedence;       // of infix operators, larger binds tighter; 0 otherwise
  bool is_commutative;  // also on NaN and -0
  int flops;            // counted operations on floating-point values (0 for cast, select, ...)
};
const ScalarOpInfo& Info(ScalarOp op);
absl::Span<const ScalarOpInfo> AllScalarOps();

// One operation. Operands are numbers of earlier instructions of the same function.
struct ScalarInstruction {
  ScalarOp op;
  ScalarType type;  // of the result
  std::vector<int> operands;
  int parameter = -1;                               // kParameter only
  ScalarValue constant = ScalarValue::Bool(false);  // kConstant only
  std::vector<ScalarValue> table = {};              // kTable only: values of `type`, at least one

  friend bool operator==(const ScalarInstruction&, const ScalarInstruction&) = default;
};

// A parameter or result. Those that stand for a field of a record are called "name.field".
struct TypedName {
  std::string name;
  ScalarType type;

  friend bool operator==(const TypedName&, const TypedName&) = default;
};

// f : parameters -> results. Immutable, built valid; equal instructions are shared (value
// numbering) and dead ones removed, so instruction lists are short and stable. Thread-safe.
class ScalarFunction {
 public:
  static constexpr size_t kMaxInstructions = 4096;
  static constexpr size_t kMaxTableValues = 65536;  // of all tables together

  // `result_instructions[r]` is the number of the instruction that computes result r.
  // Errors: InvalidArgument for a wrong operand count, operand number, operand or result type,
  // duplicate parameter or result names, an empty table, too many instructions or table values.
  static Result<ScalarFunction> Create(std::string name, std::vector<TypedName> parameters,
                                       std::vector<TypedName> results,
                                       std::vector<ScalarInstruction> instructions,
                                       std::vector<int> result_instructions);

  const std::string& name() const { return name_; }
  const std::vector<TypedName>& parameters() const { return parameters_; }
  const std::vector<TypedName>& results() const { return results_; }
  const std::vector<ScalarInstruction>& instructions() const { return instructions_; }
  const std::vector<int>& result_instructions() const { return result_instructions_; }

  // Values of the results for the given arguments (same number and types as parameters()).
  std::vector<ScalarValue> Evaluate(absl::Span<const ScalarValue> arguments) const;

  // As Evaluate, for many applications in a row: the value of instruction n is left in
  // (*values)[n], and the results are those that result_instructions() points to.
  void EvaluateInto(absl::Span<const ScalarValue> arguments,
                    std::vector<ScalarValue>* values) const;

  // The same function with all floating-point types replaced by fp64: the interpreter and the
  // checks of laws combine without rounding to narrower types.
  ScalarFunction Widened() const;

  // Floating-point operations of one application (paper's and BLAS's counting: * and + are one
  // each).
  int64_t FloatingPointOperations() const;

  // The same computation: names, the order of instructions and the operand order of commutative
  // operations are ignored. (CanonicalForm of core/scalar/scalar_canonical.h decides.)
  bool EquivalentTo(const ScalarFunction& other) const;

 private:
  ScalarFunction() = default;
  std::string name_;
  std::vector<TypedName> parameters_;
  std::vector<TypedName> results_;
  std::vector<ScalarInstruction> instructions_;
  std::vector<int> result_instructions_;
};

// The meaning of one operation on values; operands have the types that `op` asks for.
ScalarValue Apply(ScalarOp op, ScalarType result_type, absl::Span<const ScalarValue> operands);

// The type of `op` on operands of these types. Errors: InvalidArgument, naming operation and types.
Result<ScalarType> ResultType(ScalarOp op, absl::Span<const ScalarType> operands);

}  // namespace mdh
