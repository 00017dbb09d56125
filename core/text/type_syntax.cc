// Parsing types.
#include "core/text/type_syntax.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/identifier.h"

namespace mdh {
namespace {

Status ParseField(TokenStream* stream, const TypeNames& types, std::vector<TypedName>* fields) {
  MDH_ASSIGN_OR_RETURN(const Token name, stream->ExpectName("the name of a field"));
  if (!IsIdentifier(name.text)) return stream->ErrorAt(name, "'", name.text, "' cannot be a name");
  if (fields->size() == ElementType::kMaxFields) {
    return stream->ErrorAt(name, "a record of more than ", ElementType::kMaxFields, " fields");
  }
  for (const TypedName& other : *fields) {
    if (!name.Is(other.name)) continue;
    return stream->ErrorAt(name, "two fields of a record are called '", name.text, "'");
  }
  MDH_RETURN_IF_ERROR(stream->Expect(":"));
  const Token at = stream->Peek();
  if (at.Is("{")) return stream->ErrorAt(at, "a field of a record cannot be a record");
  MDH_ASSIGN_OR_RETURN(const TypePointer type, ParseType(stream, types));
  if (type->is_record()) {
    return stream->ErrorAt(at, "a field of a record cannot be a record, which '", at.text, "' is");
  }
  fields->push_back({std::string(name.text), type->scalar()});
  return absl::OkStatus();
}

}  // namespace

const TypePointer& ScalarTypePointer(ScalarType type) {
  static const auto* const pointers = [] {
    auto* all = new std::map<ScalarType, TypePointer>();
    for (const ScalarTypeInfo& info : AllScalarTypes()) {
      all->emplace(info.type, std::make_shared<const ElementType>(info.type));
    }
    return all;
  }();
  return pointers->at(type);
}

TypePointer TypeNamed(absl::string_view name, const TypeNames& types) {
  const auto entry = types.find(std::string(name));
  if (entry != types.end()) return entry->second;
  const std::optional<ScalarType> scalar = ScalarTypeFromName(std::string(name));
  return scalar.has_value() ? ScalarTypePointer(*scalar) : nullptr;
}

Result<TypePointer> ParseType(TokenStream* stream, const TypeNames& types) {
  const Token start = stream->Peek();
  if (!stream->Accept("{")) {
    MDH_ASSIGN_OR_RETURN(const Token token, stream->ExpectName("a type"));
    TypePointer type = TypeNamed(token.text, types);
    if (type != nullptr) return type;
    return stream->ErrorAt(token, "unknown type '", token.text, "'");
  }
  std::vector<TypedName> fields;
  MDH_RETURN_IF_ERROR(
      ParseCommaSeparated(stream, [&] { return ParseField(stream, types, &fields); }));
  MDH_RETURN_IF_ERROR(stream->Expect("}"));
  Result<ElementType> record = ElementType::Record(std::move(fields));
  if (!record.ok()) return stream->ErrorAt(start, record.status().message());
  return std::make_shared<const ElementType>(*std::move(record));
}

Result<TypePointer> TypeFromText(absl::string_view text) {
  const Source source("<type>", text);
  MDH_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  TokenStream stream(source, std::move(tokens));
  MDH_ASSIGN_OR_RETURN(TypePointer type, ParseType(&stream, {}));
  if (stream.Peek().kind != Token::Kind::kEnd) return stream.Unexpected("the end of the type");
  return type;
}

std::string TypeText(const ElementType& type) {
  constexpr size_t kShown = 3;
  if (!type.is_record() || type.fields().size() <= kShown) return type.ToString();
  std::string text = "{";
  for (size_t n = 0; n < kShown; ++n) {
    absl::StrAppend(&text, type.fields()[n].name, ": ", Name(type.fields()[n].type), ", ");
  }
  return text + "...}";
}

}  // namespace mdh
