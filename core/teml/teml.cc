#include "core/teml/teml.h"

#include <utility>

#include "core/base/identifier.h"
#include "core/base/text_view.h"
#include "core/text/source.h"
#include "core/text/token_stream.h"

namespace mdh {
namespace {

// "mttkrp" of "client/expressions/teml/mttkrp.teml".
std::string NameOfFile(std::string_view path) {
  const size_t folder = path.rfind('/');
  std::string_view name = folder == std::string_view::npos ? path : path.substr(folder + 1);
  name = name.substr(0, name.find('.'));
  return IsIdentifier(View(name)) ? std::string(name) : "teml";
}

}  // namespace

Result<Computation> ParseTemlComputation(std::string_view text, const Bindings& bindings,
                                         std::string_view source_name) {
  MDH_ASSIGN_OR_RETURN(const TemlProgram program, ParseTemlProgram(text, bindings, source_name));
  Result<Pipeline> pipeline = ToPipeline(program, NameOfFile(source_name));
  if (pipeline.ok()) return ToComputation(*std::move(pipeline));
  const Source source(View(source_name), View(text));
  return source.ErrorAt(program.assignments.back()->token.offset, pipeline.status().message());
}

bool LooksLikeTeml(std::string_view text) {
  const Source source("", View(text));
  const Result<std::vector<Token>> tokens = Tokenize(source);
  if (!tokens.ok()) return false;
  const TokenStream stream(source, *tokens);
  const Token& first = stream.Peek();
  if (first.kind != Token::Kind::kName) return false;
  if (first.Is("init") || first.Is("codegen")) return stream.Peek(1).Is("(");
  return stream.Peek(1).Is("=");
}

}  // namespace mdh
