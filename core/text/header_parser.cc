// Parameters of definitions and their values.
#include "core/text/header_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "core/text/operator_names.h"

namespace mdh {
namespace {

constexpr size_t kMaxParameters = 1024;

// Reads over a default: up to a comma, bar or > outside of parentheses and braces. Errors:
// InvalidArgument if one of these is not closed.
Status SkipDefault(TokenStream* stream) {
  std::vector<Token> open;
  for (; stream->Peek().kind != Token::Kind::kEnd && !stream->Peek().Is(":="); stream->Next()) {
    const Token& token = stream->Peek();
    if (open.empty() && (token.Is(",") || token.Is("|") || token.Is(">"))) return absl::OkStatus();
    if (token.Is("(") || token.Is("{")) open.push_back(token);
    if ((token.Is(")") || token.Is("}")) && !open.empty()) open.pop_back();
  }
  if (open.empty()) return absl::OkStatus();
  return stream->ErrorAt(open.back(), "'", open.back().text, "' is not closed");
}

Status ParseParameters(TokenStream* stream, bool is_type, HeaderSyntax* header) {
  return ParseCommaSeparated(stream, [&]() -> Status {
    ParameterSyntax parameter{{}, is_type};
    MDH_ASSIGN_OR_RETURN(parameter.name,
                         stream->ExpectName(is_type ? "a type parameter" : "a size parameter"));
    if (header->parameters.size() == kMaxParameters) {
      return stream->ErrorAt(parameter.name, "more than ", kMaxParameters, " parameters");
    }
    for (const ParameterSyntax& other : header->parameters) {
      if (!other.name.Is(parameter.name.text)) continue;
      return stream->ErrorAt(parameter.name, "two parameters are called '", other.name.text, "'");
    }
    const bool hides = ScalarTypeFromName(std::string(parameter.name.text)).has_value() ||
                       FunctionNamed(parameter.name.text).has_value();
    if (is_type && hides) {
      return stream->ErrorAt(parameter.name, "'", parameter.name.text,
                             "' is the name of a type or function");
    }
    if (stream->Accept("=")) {
      parameter.default_begin = stream->position();
      MDH_RETURN_IF_ERROR(SkipDefault(stream));
      parameter.default_end = stream->position();
      if (parameter.default_begin == parameter.default_end) {
        return stream->Unexpected(is_type ? "a type" : "a size");
      }
    }
    header->parameters.push_back(parameter);
    return absl::OkStatus();
  });
}

Status BindType(const ParameterSyntax& parameter, const std::string* binding, TokenStream* stream,
                TypeNames* types) {
  const std::string name(parameter.name.text);
  if (binding == nullptr) {
    stream->Seek(parameter.default_begin);
    MDH_ASSIGN_OR_RETURN(TypePointer type, ParseType(stream, *types));
    types->emplace(name, std::move(type));
    return absl::OkStatus();
  }
  Result<TypePointer> type = TypeFromText(*binding);
  if (!type.ok()) {
    return stream->ErrorAt(parameter.name, "the value '", *binding, "' of parameter '", name,
                           "' is no type");
  }
  types->emplace(name, *std::move(type));
  return absl::OkStatus();
}

Status BindSize(const ParameterSyntax& parameter, const std::string* binding, TokenStream* stream,
                SizeValues* sizes) {
  const std::string name(parameter.name.text);
  int64_t size = 0;
  if (binding != nullptr) {
    if (!absl::SimpleAtoi(*binding, &size)) {
      return stream->ErrorAt(parameter.name, "the value '", *binding, "' of parameter '", name,
                             "' is no 64-bit integer");
    }
  } else {
    stream->Seek(parameter.default_begin);
    MDH_ASSIGN_OR_RETURN(size, ParseSize(stream, *sizes));
  }
  sizes->emplace(name, size);
  return absl::OkStatus();
}

Status CheckBindings(const HeaderSyntax& header, const Bindings& bindings,
                     const TokenStream& stream) {
  std::vector<absl::string_view> names;
  for (const ParameterSyntax& parameter : header.parameters) names.push_back(parameter.name.text);
  for (const auto& [name, value] : bindings) {
    if (std::ranges::count(names, name) > 0) continue;
    return stream.ErrorAt(header.name, "'", header.name.text, "' has no parameter '", name,
                          "'; its parameters are ",
                          names.empty() ? "none" : absl::StrJoin(names, ", "));
  }
  return absl::OkStatus();
}

}  // namespace

Result<HeaderSyntax> ParseHeaderSyntax(TokenStream* stream) {
  HeaderSyntax header;
  MDH_ASSIGN_OR_RETURN(header.name, stream->ExpectName("the name of a definition"));
  if (stream->Accept("<")) {
    if (!stream->Peek().Is("|")) {
      MDH_RETURN_IF_ERROR(ParseParameters(stream, /*is_type=*/true, &header));
    }
    if (stream->Accept("|")) {
      MDH_RETURN_IF_ERROR(ParseParameters(stream, /*is_type=*/false, &header));
    }
    MDH_RETURN_IF_ERROR(stream->Expect(">"));
  }
  MDH_RETURN_IF_ERROR(stream->Expect(":="));
  return header;
}

Status BindParameters(const HeaderSyntax& header, const Bindings& bindings, TokenStream* stream,
                      TypeNames* types, SizeValues* sizes) {
  MDH_RETURN_IF_ERROR(CheckBindings(header, bindings, *stream));
  const size_t position = stream->position();
  for (const ParameterSyntax& parameter : header.parameters) {
    const auto entry = bindings.find(std::string(parameter.name.text));
    const std::string* binding = entry == bindings.end() ? nullptr : &entry->second;
    const bool has_default = parameter.default_end > parameter.default_begin;
    if (binding == nullptr && !has_default) {
      return stream->ErrorAt(parameter.name, "parameter '", parameter.name.text, "' has no value");
    }
    MDH_RETURN_IF_ERROR(parameter.is_type ? BindType(parameter, binding, stream, types)
                                          : BindSize(parameter, binding, stream, sizes));
    if (binding == nullptr && stream->position() != parameter.default_end) {
      return stream->Unexpected("',' or '>'");
    }
  }
  stream->Seek(position);
  return absl::OkStatus();
}

}  // namespace mdh
