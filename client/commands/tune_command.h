// What other commands have tuned.
#pragma once

#include "client/client.h"
#include "client/commands/call/command.h"
#include "client/commands/call/expression_arguments.h"
#include "client/commands/call/schedule_arguments.h"
#include "core/expression/expression.h"

namespace mdh {

// What to tune, and where it was read.
struct TunedExpression {
  const Expression& expression;
  const ExpressionArguments& arguments;
  const ScheduleArguments& schedule;
};

// Creates a job, shows its progress to its end, and prints its record. Ctrl-C cancels it.
Status TuneExpression(const GlobalOptions& options, Client& client, const TunedExpression& tuned,
                      const TuneOptions& tune);

}  // namespace mdh
