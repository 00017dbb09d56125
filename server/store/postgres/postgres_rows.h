// Values of parameters, statements, and the rows that they give.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "server/store/postgres/libpq.h"

namespace mdh {

// Of a parameter.
class PgValue {
 public:
  template <typename Number, std::enable_if_t<std::is_integral_v<Number>, int> = 0>
  PgValue(Number number) : data_(absl::StrCat(number)) {}
  PgValue(bool truth) : data_(truth ? "t" : "f") {}
  // Of type text, which has no zero bytes: the server refuses them.
  PgValue(std::string_view text) : data_(std::string(text)), is_binary_(true) {}
  PgValue(const std::string& text) : PgValue(std::string_view(text)) {}
  PgValue(const char* text) : PgValue(std::string_view(text)) {}
  PgValue(std::nullopt_t) {}
  // Of type bytea.
  static PgValue Bytes(std::string_view bytes) { return PgValue(bytes); }
  static PgValue Bytes(const google::protobuf::MessageLite& message) {
    return PgValue(message.SerializeAsString());
  }
  // NULL if it is empty.
  static PgValue TextOrNull(std::string_view text) {
    return text.empty() ? PgValue(std::nullopt) : PgValue(text);
  }
  // Of type text[].
  static PgValue Texts(absl::Span<const std::string> texts);

  const std::optional<std::string>& data() const { return data_; }
  bool is_binary() const { return is_binary_; }

 private:
  std::optional<std::string> data_;
  bool is_binary_ = false;
};

struct PgStatement {
  const char* sql = nullptr;  // $1 is the first of the values
  std::vector<PgValue> values = {};
};

// One row; views are valid as long as its rows.
class PgRow {
 public:
  PgRow(const Libpq& libpq, const pg_result* result, int row)
      : libpq_(libpq), result_(result), row_(row) {}

  bool IsNull(int column) const { return libpq_.getisnull(result_, row_, column) != 0; }
  // Of a column of type smallint, int, bigint or boolean; 0 if it is NULL.
  int64_t Integer(int column) const;
  // Of a column of type text or bytea.
  std::string_view View(int column) const {
    return {libpq_.getvalue(result_, row_, column),
            static_cast<size_t>(libpq_.getlength(result_, row_, column))};
  }
  std::string Bytes(int column) const { return std::string(View(column)); }

 private:
  const Libpq& libpq_;
  const pg_result* result_;
  int row_;
};

// What a statement gave.
class PgRows {
 public:
  PgRows(const Libpq& libpq, pg_result* result) : libpq_(&libpq), result_(result, libpq.clear) {}

  int size() const { return libpq_->ntuples(result_.get()); }
  bool empty() const { return size() == 0; }
  PgRow operator[](int row) const { return PgRow(*libpq_, result_.get(), row); }
  // Rows that the statement changed.
  int64_t changed() const;

 private:
  const Libpq* libpq_;
  std::unique_ptr<pg_result, void (*)(pg_result*)> result_;
};

// The integer that the bytes are in network order; of 1, 2, 4 or 8 bytes.
int64_t IntegerFromNetwork(std::string_view bytes);

}  // namespace mdh
