#include "core/teml/teml.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "core/base/identifier.h"
#include "core/base/source.h"
#include "core/base/text_view.h"
#include "core/text/computation_text.h"

namespace mdh {
namespace {

// What is behind blanks and comments.
absl::string_view BehindBlanks(absl::string_view text) {
  while (!text.empty()) {
    if (absl::ascii_isspace(text[0])) {
      text.remove_prefix(1);
    } else if (text[0] == '#' || absl::StartsWith(text, "//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else {
      break;
    }
  }
  return text;
}

}  // namespace

std::string NameOfTemlFile(std::string_view path) {
  const size_t folder = path.rfind('/');
  std::string_view name = folder == std::string_view::npos ? path : path.substr(folder + 1);
  name = name.substr(0, name.find('.'));
  return IsIdentifier(View(name)) ? std::string(name) : "teml";
}

Result<Pipeline> ParseTemlPipeline(std::string_view text, const Bindings& bindings,
                                   std::string_view source_name) {
  MDH_ASSIGN_OR_RETURN(const TemlProgram program, ParseTemlProgram(text, bindings, source_name));
  Result<Pipeline> pipeline = ToPipeline(program, NameOfTemlFile(source_name));
  if (pipeline.ok()) return pipeline;
  const Source source(View(source_name), View(text));
  return source.ErrorAt(OffsetInProgram(pipeline.status()), pipeline.status().message());
}

bool LooksLikeTeml(std::string_view text) {
  absl::string_view rest = BehindBlanks(Source("", View(text)).text());
  const size_t length =
      std::ranges::find_if_not(rest, [](char c) { return absl::ascii_isalnum(c) || c == '_'; }) -
      rest.begin();
  const absl::string_view name = rest.substr(0, length);
  rest = BehindBlanks(rest.substr(length));
  if (rest.empty() || !IsIdentifier(name)) return false;
  return rest[0] == '=' || (rest[0] == '(' && (name == "init" || name == "codegen"));
}

bool IsTeml(std::string_view text, std::string_view source_name) {
  return absl::EndsWith(View(source_name), ".teml") || LooksLikeTeml(text);
}

Result<Computation> ParseTextOfAnyKind(std::string_view text, const Bindings& bindings,
                                       std::string_view source_name) {
  if (!IsTeml(text, source_name)) return ParseComputation(text, bindings, source_name);
  MDH_ASSIGN_OR_RETURN(Pipeline pipeline, ParseTemlPipeline(text, bindings, source_name));
  return ToComputation(std::move(pipeline));
}

}  // namespace mdh
