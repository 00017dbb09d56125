// The range of a tuning parameter (ATF): the values that it may take, whatever the others are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "tuner/space/formula/value.h"

namespace mdh {

// A finite, non-empty, ordered set of distinct values of one type. Values are addressed by
// position, 0..size()-1, and stored in configurations as codes: bools and integers are their own
// code, a real or a string has its position, a permutation its lexicographic rank among those of
// its items. Immutable, cheap to copy, thread-safe.
class Range {
 public:
  // At most so many values; intervals are not materialised.
  static constexpr int64_t kMaxSize = 4294967295;
  static constexpr int kMaxPermutationItems = 12;  // 12! fits kMaxSize

  // first, first + step, ..., up to and including `last`. Errors: InvalidArgument for step <= 0, an
  // empty interval, or more than kMaxSize values.
  static Result<Range> Interval(int64_t first, int64_t last, int64_t step = 1);
  // The generator's values for the elements of the interval (ATF), e.g. n -> 2^n; at most 2^20.
  // Errors: also InvalidArgument if two elements have the same value; what the generator returns.
  static Result<Range> Generated(int64_t first, int64_t last, int64_t step,
                                 const std::function<Result<int64_t>(int64_t)>& generator);
  // Errors: InvalidArgument if empty, repeated, of different types, permutations, or not finite.
  static Result<Range> Of(std::vector<Value> values);
  static Result<Range> Integers(std::vector<int64_t> values);
  static Range Bool();  // false, true
  // All permutations of distinct items. Errors: InvalidArgument if there are none, too many or
  // repeated items.
  static Result<Range> Permutations(std::vector<std::string> items);

  ValueType type() const;
  uint32_t size() const;
  // Code of the value at a position < size().
  int64_t CodeAt(uint32_t position) const;
  // nullopt if the code is none of the range's.
  std::optional<uint32_t> PositionOf(int64_t code) const;
  // Value of a code of this range.
  Value ValueOf(int64_t code) const;
  // Errors: InvalidArgument if the value is of another type or not in the range.
  Result<int64_t> CodeOf(const Value& value) const;
  // Whether codes grow with positions; then [CodeAt(0), CodeAt(size() - 1)] bounds them.
  bool is_increasing() const;
  // Whatever the order.
  int64_t smallest_code() const;
  // Distance between neighbouring codes of an interval, 0 of any other range.
  int64_t step() const;
  // Items of a permutation in their given order; empty for other types.
  const std::vector<std::string>& items() const;
  // "1..1000", "0..10 step 2", "{1, 2, 4}", "permutations of i, j, k".
  std::string ToText() const;

 private:
  struct Data;
  explicit Range(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

// Rank of a permutation among those of `items`, in lexicographic order; nullopt if it is none of
// them.
std::optional<int64_t> RankOfPermutation(const std::vector<std::string>& permutation,
                                         const std::vector<std::string>& items);

// A C identifier of at most 128 characters that is none of the words of formulas: and, or, not, if,
// else, in, True, False, true, false.
bool IsParameterName(std::string_view name);

// A tuning parameter (ATF). Names are IsParameterName.
struct TuningParameter {
  std::string name;
  Range range;
};

}  // namespace mdh
