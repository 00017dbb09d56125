// The syntax of texts with several definitions, and of the pipeline among them.
#pragma once

#include <vector>

#include "core/base/status.h"
#include "core/text/header_parser.h"
#include "core/text/token_stream.h"
#include "core/text/type_syntax.h"

namespace mdh {

// A definition of the text.
struct TextItem {
  HeaderSyntax header;
  bool is_pipeline;
  // Positions in the stream: of the header, behind it, and behind the whole.
  size_t begin, body, end;
};

// All definitions. Bodies are not looked into: an item ends where the next header begins. Errors:
// InvalidArgument with position for headers that are none, and for names that appear twice.
Result<std::vector<TextItem>> FindItems(TokenStream* stream);

// A value for a parameter of what is called; without a name, the next one of its kind.
struct ArgumentSyntax {
  Token token;  // the name, or where the value begins
  bool is_named;
  TypePointer type;  // null: a size
  int64_t size;
};

// (results) = name<types | sizes>(arguments)
struct CallSyntax {
  Token name;
  std::vector<ArgumentSyntax> parameters;
  std::vector<Token> results, arguments;  // names of buffers
};

struct PipelineSyntax {
  Token name;
  std::vector<Token> inputs, outputs;
  std::vector<CallSyntax> calls;  // at least one
};

// Reads pipeline(inputs) -> outputs { calls }, with the values of its parameters. Errors:
// InvalidArgument or OutOfRange with position.
Result<PipelineSyntax> ParsePipelineSyntax(const Token& name, const TypeNames& types,
                                           const SizeValues& sizes, TokenStream* stream);

}  // namespace mdh
