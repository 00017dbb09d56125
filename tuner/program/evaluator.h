// What evaluates configurations of a program, and how evaluations fail.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "mdh/v1/program.pb.h"

namespace mdh {

enum class FailureKind : uint8_t {
  kCompileError,
  kLaunchError,
  kTimeOut,
  kCrash,
  kWrongResult,
  kNoCost,
  // Nothing can be evaluated: there is no device, or the specification is wrong.
  kCannotRun,
};

// "compile error".
std::string_view Name(FailureKind kind);

// "compile error: <what>", in valid UTF-8 whatever bytes `what` has.
v1::EvaluateResponse FailedEvaluation(FailureKind kind, std::string_view what);
// A cost that is not finite is a failure.
v1::EvaluateResponse Evaluated(double cost);
bool IsOf(FailureKind kind, const v1::EvaluateResponse& response);

// The part of a compiler's or program's messages that says most: a few lines from the first that
// mentions an error, or else the last ones.
std::string Excerpt(std::string_view output);

class ProgramEvaluator {
 public:
  virtual ~ProgramEvaluator() = default;
  // Cost or failure of one configuration; waits for it. Errors: InvalidArgument if this is no
  // configuration of the program's parameters; Cancelled, of evaluators that can be interrupted;
  // FailedPrecondition if nothing can be evaluated any more.
  virtual Result<v1::EvaluateResponse> Evaluate(const v1::NamedConfiguration& configuration) = 0;
};

}  // namespace mdh
