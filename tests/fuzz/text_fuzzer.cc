// Any bytes as an expression's text: it is refused, or it is printed and read again as it was.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/expression/canonical.h"
#include "core/text/parser.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

void Require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

void Check(std::string_view text) {
  const Result<DefinitionHeader> header = ParseHeader(text);
  const Result<Expression> expression = ParseExpression(text);
  if (!expression.ok()) return;
  Require(header.ok(), "the header is refused: " + header.status().ToString());
  const std::string printed = ToText(*expression);
  const Result<Expression> again = ParseExpression(printed);
  Require(again.ok(), "the printed text is refused: " + again.status().ToString() + printed);
  Require(Digest(*again) == Digest(*expression), "it means something else:\n" + printed);
  Require(ToText(*again) == printed, "printed again it differs:\n" + printed);
}

}  // namespace
}  // namespace mdh

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mdh::Check(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
