// Expressions between the wire and core, with the limits on what a client may send.
#pragma once

#include <cstdint>

#include "core/base/status.h"
#include "core/expression/expression.h"
#include "mdh/v1/expression.pb.h"

namespace mdh {

// Limits on expressions from elsewhere, in either form; those of core hold as well.
struct ExpressionLimits {
  int64_t text_bytes = 65'536;
  int64_t dimensions = 16;
  int64_t buffers = 64;
  int64_t accesses = 256;                   // of all buffers
  int64_t values = 4'096;                   // parameters and results of f: fields of all accesses
  int64_t instructions = 4'096;             // of all functions
  int64_t table_values = 65'536;            // of all tables
  int64_t buffer_bytes = int64_t{4} << 30;  // of all buffers together

  // For expressions of the user's own: only the limits of core.
  static ExpressionLimits None();
};

// A pipeline that is no expression (ReadComputation takes it) is an error that says so.
// Takes time and memory in proportion to the size of the message, but for the checks of
// Expression::Create, which have bounds of their own. Errors: InvalidArgument or OutOfRange; the
// message names what is wrong. ResourceExhausted if the buffers are larger than the limit.
Result<Expression> FromProto(const v1::ExpressionSource& source, const ExpressionLimits& limits);
Result<Expression> FromProto(const v1::Expression& expression, const ExpressionLimits& limits);

// With all extents. FromProto of the result gives the same expression.
v1::Expression ToProto(const Expression& expression);

}  // namespace mdh
