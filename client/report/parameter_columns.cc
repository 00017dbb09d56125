#include "client/report/parameter_columns.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace mdh {
namespace {

using Strings = std::vector<std::string>;

// The name of number `n`, or the number itself, counted from 1.
std::string NameOf(const Strings& names, size_t n) {
  return n < names.size() ? names[n] : absl::StrCat(n + 1);
}

// "1,0,2" -> "j,i,k".
std::string OrderText(const std::string& order, const Strings& dimensions) {
  Strings names = absl::StrSplit(order, ',');
  for (std::string& name : names) {
    size_t d = 0;
    if (absl::SimpleAtoi(name, &d) && d < dimensions.size()) name = dimensions[d];
  }
  return absl::StrJoin(names, ",");
}

class Columns {
 public:
  explicit Columns(size_t trials) : trials_(trials) {}

  void Set(size_t trial, const std::string& name, const std::string& value) {
    const auto [place, is_new] = places_.try_emplace(name, columns_.size());
    if (is_new) {
      columns_.push_back({name, {}, std::vector<int>(trials_, -1)});
      numbers_.emplace_back();
    }
    ParameterColumn& column = columns_[place->second];
    const auto [number, is_new_value] =
        numbers_[place->second].try_emplace(value, static_cast<int>(column.values.size()));
    if (is_new_value) column.values.push_back(value);
    column.cells[trial] = number->second;
  }

  std::vector<ParameterColumn> TakeVarying() && {
    std::erase_if(columns_, [](const ParameterColumn& column) {
      return column.values.size() == 1 && std::ranges::find(column.cells, -1) == column.cells.end();
    });
    return std::move(columns_);
  }

 private:
  const size_t trials_;
  std::vector<ParameterColumn> columns_;
  std::map<std::string, size_t> places_;             // of columns, by name
  std::vector<std::map<std::string, int>> numbers_;  // of values, per column
};

void SetTiles(size_t trial, const std::string& text, const ParameterNames& names,
              Columns& columns) {
  const Strings layers = absl::StrSplit(text, '|');
  for (size_t l = 0; l < layers.size(); ++l) {
    const Strings extents = absl::StrSplit(layers[l], ',');
    for (size_t d = 0; d < extents.size(); ++d) {
      columns.Set(trial,
                  absl::StrCat("tile ", NameOf(names.layers, l), " ", NameOf(names.dimensions, d)),
                  extents[d]);
    }
  }
}

void SetField(size_t trial, const std::string& key, const std::string& value,
              const ParameterNames& names, Columns& columns) {
  if (key == "tile") {
    SetTiles(trial, value, names, columns);
    return;
  }
  const Strings items = absl::StrSplit(value, '|');
  const bool is_order = key.ends_with("order");
  const bool is_by_layer = is_order && items.size() == names.layers.size();
  const bool is_by_input = key == "inputs" && items.size() == names.inputs.size();
  if (!is_by_layer && !is_by_input) {
    columns.Set(trial, key, value);
    return;
  }
  for (size_t n = 0; n < items.size(); ++n) {
    const std::string& item = items[n];
    columns.Set(trial, absl::StrCat(key, " ", is_by_layer ? names.layers[n] : names.inputs[n]),
                is_order ? OrderText(item, names.dimensions) : item);
  }
}

}  // namespace

std::vector<ParameterColumn> SplitParameters(const std::vector<std::string>& texts,
                                             const ParameterNames& names) {
  Columns columns(texts.size());
  for (size_t trial = 0; trial < texts.size(); ++trial) {
    for (absl::string_view field : absl::StrSplit(texts[trial], "; ", absl::SkipEmpty())) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(field, absl::MaxSplits('=', 1));
      SetField(trial, parts.first, parts.second, names, columns);
    }
  }
  return std::move(columns).TakeVarying();
}

}  // namespace mdh
