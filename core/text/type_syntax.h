// Types of the text form: scalar types, records and type parameters.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/base/status.h"
#include "core/expression/element_type.h"
#include "core/text/token_stream.h"

namespace mdh {

// Shared: a record type may be large and used in many places.
using TypePointer = std::shared_ptr<const ElementType>;
using TypeNames = std::map<std::string, TypePointer, std::less<>>;

// The one of a scalar type. Never null.
const TypePointer& ScalarTypePointer(ScalarType type);

// The type of that name: a type parameter or a scalar type; null if there is none.
TypePointer TypeNamed(absl::string_view name, const TypeNames& types);

// NAME, or { NAME: NAME, ... }. Errors: InvalidArgument with position.
Result<TypePointer> ParseType(TokenStream* stream, const TypeNames& types);

// A type as a text of its own. Errors: InvalidArgument.
Result<TypePointer> TypeFromText(absl::string_view text);

// For messages: as ElementType::ToString, without the fields behind the third.
std::string TypeText(const ElementType& type);

}  // namespace mdh
