// Places of errors, carried as payloads of statuses.
#include "core/expression/expression_place.h"

#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mdh {
namespace {
constexpr char kPayloadUrl[] = "mdh/expression_place";
}  // namespace

Status AtPlace(Status status, const ExpressionPlace& place) {
  status.SetPayload(kPayloadUrl,
                    absl::Cord(absl::StrCat(static_cast<int>(place.kind), " ", place.number, " ",
                                            place.access, " ", place.index)));
  return status;
}

std::optional<ExpressionPlace> PlaceOf(const Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
  if (!payload.has_value()) return std::nullopt;
  const std::string text(*payload);
  std::vector<int> numbers;
  for (absl::string_view part : absl::StrSplit(text, ' ')) {
    int number = 0;
    if (!absl::SimpleAtoi(part, &number)) return std::nullopt;
    numbers.push_back(number);
  }
  if (numbers.size() != 4) return std::nullopt;
  return ExpressionPlace{static_cast<ExpressionPlace::Kind>(numbers[0]), numbers[1], numbers[2],
                         numbers[3]};
}

}  // namespace mdh
