#include "server/store/postgres/postgres_rows.h"

#include "absl/strings/numbers.h"

namespace mdh {

PgValue PgValue::Texts(absl::Span<const std::string> texts) {
  std::string array = "{";
  for (const std::string& text : texts) {
    if (array.size() > 1) array += ',';
    array += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') array += '\\';
      array += c;
    }
    array += '"';
  }
  PgValue value(array + "}");
  value.is_binary_ = false;  // as arrays are written
  return value;
}

int64_t PgRow::Integer(int column) const {
  return IsNull(column) ? 0 : IntegerFromNetwork(View(column));
}

int64_t PgRows::changed() const {
  int64_t count = 0;
  const bool is_number = absl::SimpleAtoi(libpq_->cmdTuples(result_.get()), &count);
  return is_number ? count : 0;
}

int64_t IntegerFromNetwork(std::string_view bytes) {
  uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<uint8_t>(c);
  // The sign of a shorter one.
  switch (bytes.size()) {
    case 2:
      return static_cast<int16_t>(value);
    case 4:
      return static_cast<int32_t>(value);
    default:
      return static_cast<int64_t>(value);
  }
}

}  // namespace mdh
