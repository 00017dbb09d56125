// What the head of a definition declares.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/source.h"
#include "core/base/text_view.h"
#include "core/text/header_parser.h"
#include "core/text/token_stream.h"

namespace mdh {

// A parameter of a definition and its default.
struct ParameterDeclaration {
  std::string name;
  bool is_type;               // before the bar; else a size
  std::string default_value;  // empty: none
};
struct DefinitionHeader {
  std::string name;
  std::vector<ParameterDeclaration> parameters;
};

// Of the definition that the text begins with, which is not instantiated.
inline Result<DefinitionHeader> ParseHeader(std::string_view text,
                                            std::string_view source_name = "<text>") {
  const Source source(View(source_name), View(text));
  MDH_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  TokenStream stream(source, std::move(tokens));
  MDH_ASSIGN_OR_RETURN(const HeaderSyntax syntax, ParseHeaderSyntax(&stream));
  DefinitionHeader header{std::string(syntax.name.text), {}};
  for (const ParameterSyntax& parameter : syntax.parameters) {
    std::string value;
    if (parameter.default_end > parameter.default_begin) {
      stream.Seek(parameter.default_begin);
      const size_t begin = stream.Peek().offset;
      stream.Seek(parameter.default_end - 1);
      const size_t end = stream.Peek().offset + stream.Peek().text.size();
      value = std::string(source.text().substr(begin, end - begin));
    }
    header.parameters.push_back(
        {std::string(parameter.name.text), parameter.is_type, std::move(value)});
  }
  return header;
}

}  // namespace mdh
