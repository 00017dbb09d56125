#include "core/text/computation_text.h"

#include <utility>

#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "core/text/printer.h"

namespace mdh {

std::string ToText(const ComputationView& computation) {
  return computation.pipeline() != nullptr ? ToText(*computation.pipeline())
                                           : ToText(*computation.expression());
}

Result<Computation> ParseComputation(std::string_view text, const Bindings& bindings,
                                     std::string_view source_name) {
  if (!HoldsPipeline(text)) return ParseExpression(text, bindings, source_name);
  MDH_ASSIGN_OR_RETURN(Pipeline pipeline, ParsePipeline(text, bindings, source_name));
  return ToComputation(std::move(pipeline));
}

Result<Computation> ParsePrinted(std::string_view text) {
  if (!HoldsPipeline(text)) return ParseExpression(text);
  return ParsePipeline(text);
}

}  // namespace mdh
