// Expressions between the wire and core, with the limits on what a client may send.
#pragma once

#include "core/expression.h"
#include "core/status.h"
#include "mdh/v1/expression.pb.h"

namespace mdh {

// Limits on expressions from clients, in either form.
struct ExpressionLimits {
  int64_t text_bytes = 65'536;
  int dimensions = 16;
  int buffers = 64;
  int accesses = 256;                       // of all buffers
  int instructions = 4'096;                 // of all functions
  int64_t buffer_bytes = int64_t{4} << 30;  // of all buffers together
};

// Errors: InvalidArgument or OutOfRange; the message names what is wrong. ResourceExhausted if the
// buffers are larger than the limit.
Result<Expression> FromProto(const v1::ExpressionSource& source, const ExpressionLimits& limits);
Result<Expression> FromProto(const v1::Expression& expression, const ExpressionLimits& limits);

// FromProto of the result gives the same expression.
v1::Expression ToProto(const Expression& expression);

}  // namespace mdh
