// Parsing the parts of a text that are no definitions of md_homs.
#include "core/text/pipeline_syntax.h"

#include <utility>

#include "core/pipeline/pipeline.h"

namespace mdh {
namespace {

// From the position of a ":=" back to the name of its header: NAME or NAME < ... >. Not beyond
// `first`.
size_t HeaderBegin(size_t position, size_t first, TokenStream* stream) {
  const auto token = [&](size_t at) -> const Token& {
    stream->Seek(at);
    return stream->Peek();
  };
  size_t at = position;
  if (at > first && token(at - 1).Is(">")) {
    do {
      --at;
    } while (at > first && !token(at).Is("<"));
  }
  if (at > first && token(at - 1).kind == Token::Kind::kName) return at - 1;
  return position;
}

class PipelineSyntaxParser {
 public:
  PipelineSyntaxParser(const TypeNames& types, const SizeValues& sizes, TokenStream* stream)
      : types_(types), sizes_(sizes), stream_(*stream) {}

  Result<PipelineSyntax> Parse(const Token& name) {
    PipelineSyntax pipeline{name, {}, {}, {}};
    MDH_RETURN_IF_ERROR(stream_.Expect("pipeline"));
    MDH_ASSIGN_OR_RETURN(pipeline.inputs, Names("the name of an input"));
    MDH_RETURN_IF_ERROR(stream_.Expect("->"));
    MDH_ASSIGN_OR_RETURN(pipeline.outputs, NameOrNames("the name of an output"));
    MDH_RETURN_IF_ERROR(stream_.Expect("{"));
    do {
      if (pipeline.calls.size() == Pipeline::kMaxSteps) {
        return stream_.ErrorAt(stream_.Peek(), "more than ", Pipeline::kMaxSteps, " steps");
      }
      MDH_ASSIGN_OR_RETURN(CallSyntax call, Call());
      pipeline.calls.push_back(std::move(call));
    } while (stream_.Accept(";") && !stream_.Peek().Is("}"));
    if (!stream_.Accept("}")) return stream_.Unexpected("';' or '}'");
    return pipeline;
  }

 private:
  // (a, b), perhaps ()
  Result<std::vector<Token>> Names(absl::string_view what) {
    std::vector<Token> names;
    MDH_RETURN_IF_ERROR(stream_.Expect("("));
    if (stream_.Accept(")")) return names;
    MDH_RETURN_IF_ERROR(ParseCommaSeparated(&stream_, [&]() -> Status {
      if (names.size() == Pipeline::kMaxBuffers) {
        return stream_.ErrorAt(stream_.Peek(), "more than ", Pipeline::kMaxBuffers, " buffers");
      }
      MDH_ASSIGN_OR_RETURN(const Token name, stream_.ExpectName(what));
      names.push_back(name);
      return absl::OkStatus();
    }));
    MDH_RETURN_IF_ERROR(stream_.Expect(")"));
    return names;
  }

  // a, or (a, b)
  Result<std::vector<Token>> NameOrNames(absl::string_view what) {
    if (!stream_.Peek().Is("(")) {
      MDH_ASSIGN_OR_RETURN(const Token name, stream_.ExpectName(what));
      return std::vector<Token>{name};
    }
    if (!stream_.Peek(1).Is(")")) return Names(what);
    stream_.Next();
    return stream_.Unexpected(what);
  }

  Result<CallSyntax> Call() {
    CallSyntax call;
    MDH_ASSIGN_OR_RETURN(call.results, NameOrNames("the name of a result"));
    MDH_RETURN_IF_ERROR(stream_.Expect("="));
    MDH_ASSIGN_OR_RETURN(call.name, stream_.ExpectName("the name of a definition"));
    if (stream_.Accept("<")) {
      if (!stream_.Peek().Is("|")) MDH_RETURN_IF_ERROR(Arguments(/*are_types=*/true, &call));
      if (stream_.Accept("|")) MDH_RETURN_IF_ERROR(Arguments(/*are_types=*/false, &call));
      MDH_RETURN_IF_ERROR(stream_.Expect(">"));
    }
    MDH_ASSIGN_OR_RETURN(call.arguments, Names("the name of a buffer"));
    return call;
  }

  Status Arguments(bool are_types, CallSyntax* call) {
    return ParseCommaSeparated(&stream_, [&]() -> Status {
      ArgumentSyntax argument{stream_.Peek(), false, nullptr, 0};
      if (stream_.Peek().kind == Token::Kind::kName && stream_.Peek(1).Is("=")) {
        argument.is_named = true;
        stream_.Next();
        stream_.Next();
      }
      if (are_types) {
        MDH_ASSIGN_OR_RETURN(argument.type, ParseType(&stream_, types_));
      } else {
        MDH_ASSIGN_OR_RETURN(argument.size, ParseSize(&stream_, sizes_));
      }
      call->parameters.push_back(std::move(argument));
      return absl::OkStatus();
    });
  }

  const TypeNames& types_;
  const SizeValues& sizes_;
  TokenStream& stream_;
};

}  // namespace

Result<std::vector<TextItem>> FindItems(TokenStream* stream) {
  std::vector<TextItem> items;
  std::map<std::string, size_t, std::less<>> names;
  do {
    TextItem item{{}, false, stream->position(), 0, 0};
    MDH_ASSIGN_OR_RETURN(item.header, ParseHeaderSyntax(stream));
    const std::string name(item.header.name.text);
    if (!names.emplace(name, items.size()).second) {
      return stream->ErrorAt(item.header.name, "two definitions are called '", name, "'");
    }
    item.body = stream->position();
    item.is_pipeline = stream->Peek().Is("pipeline");
    while (stream->Peek().kind != Token::Kind::kEnd && !stream->Peek().Is(":=")) stream->Next();
    item.end = stream->position();
    if (stream->Peek().kind != Token::Kind::kEnd) {
      item.end = HeaderBegin(item.end, item.body, stream);
    }
    stream->Seek(item.end);
    items.push_back(std::move(item));
  } while (stream->Peek().kind != Token::Kind::kEnd);
  return items;
}

Result<PipelineSyntax> ParsePipelineSyntax(const Token& name, const TypeNames& types,
                                           const SizeValues& sizes, TokenStream* stream) {
  return PipelineSyntaxParser(types, sizes, stream).Parse(name);
}

}  // namespace mdh
