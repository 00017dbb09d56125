// Layout of records.
#include "core/expression/element_type.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/identifier.h"

namespace mdh {

Result<ElementType> ElementType::Record(std::vector<TypedName> fields) {
  if (fields.empty() || fields.size() > kMaxFields) {
    return InvalidArgument("a record has ", fields.size(), " fields; it must have 1 to ",
                           kMaxFields);
  }
  ElementType record(fields[0].type);
  record.fields_.clear();
  std::set<absl::string_view> names;
  int end = 0, largest = 1;
  for (const TypedName& field : fields) {
    if (!IsIdentifier(field.name)) {
      return InvalidArgument("'", field.name, "' is no name for a field of a record");
    }
    if (!names.insert(field.name).second) {
      return InvalidArgument("two fields of a record are called '", field.name, "'");
    }
    const int size = SizeBytes(field.type);
    const int offset = (end + size - 1) / size * size;
    record.fields_.push_back({field.name, field.type, offset});
    end = offset + size;
    largest = std::max(largest, size);
  }
  record.size_bytes_ = (end + largest - 1) / largest * largest;
  return record;
}

std::string ElementType::ToString() const {
  if (!is_record()) return std::string(Name(scalar()));
  return absl::StrCat("{",
                      absl::StrJoin(fields_, ", ",
                                    [](std::string* out, const Field& field) {
                                      absl::StrAppend(out, field.name, ": ", Name(field.type));
                                    }),
                      "}");
}

}  // namespace mdh
