// Types of buffer elements: scalars, and records of scalars (paper, appendix A.2).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/scalar/scalar_function.h"
#include "core/scalar/scalar_type.h"

namespace mdh {

// A scalar type, or a record: named fields of scalar types, laid out as a C struct (every field
// aligned to its size, the whole padded to its largest field). Immutable, built valid.
class ElementType {
 public:
  static constexpr size_t kMaxFields = 256;

  struct Field {
    std::string name;  // empty for a scalar
    ScalarType type;
    int offset_bytes;

    friend bool operator==(const Field&, const Field&) = default;
  };

  ElementType(ScalarType scalar)  // NOLINT: a scalar type is an element type
      : fields_{{"", scalar, 0}}, size_bytes_(SizeBytes(scalar)) {}
  // Errors: InvalidArgument for no or too many fields, and for names that are no identifiers or
  // appear twice.
  static Result<ElementType> Record(std::vector<TypedName> fields);

  bool is_record() const { return !fields_[0].name.empty(); }
  // The scalar type; of a record, that of its first field.
  ScalarType scalar() const { return fields_[0].type; }
  const std::vector<Field>& fields() const { return fields_; }
  int size_bytes() const { return size_bytes_; }

  // "fp32", "{x: fp32, n: int32}": as in the text form.
  std::string ToString() const;

  friend bool operator==(const ElementType&, const ElementType&) = default;

 private:
  std::vector<Field> fields_;
  int size_bytes_;
};

}  // namespace mdh
