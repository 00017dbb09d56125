// Any bytes as a text of expressions and pipelines: it is refused, or it is printed and read again
// as it was.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/expression/canonical.h"
#include "core/pipeline/pipeline_canonical.h"
#include "core/text/parser.h"
#include "core/text/pipeline_parser.h"
#include "core/text/pipeline_printer.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

void Require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

template <typename Computation, typename Parse>
void CheckPrinted(const Result<Computation>& computation, const Parse& parse) {
  if (!computation.ok()) return;
  const std::string printed = ToText(*computation);
  const Result<Computation> again = parse(printed);
  Require(again.ok(), "the printed text is refused: " + again.status().ToString() + printed);
  Require(Digest(*again) == Digest(*computation), "it means something else:\n" + printed);
  Require(ToText(*again) == printed, "printed again it differs:\n" + printed);
}

void Check(std::string_view text) {
  CheckPrinted(ParseExpression(text),
               [](std::string_view printed) { return ParseExpression(printed); });
  CheckPrinted(ParsePipeline(text),
               [](std::string_view printed) { return ParsePipeline(printed); });
}

}  // namespace
}  // namespace mdh

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mdh::Check(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
