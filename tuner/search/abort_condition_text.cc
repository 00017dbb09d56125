// The text form of abort conditions.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "tuner/search/abort_condition.h"
#include "tuner/search/abort_condition_node.h"

namespace mdh {
namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxLength = 10000;

struct Unit {
  absl::string_view name;
  int64_t nanoseconds;
};
// Longest first.
constexpr Unit kUnits[] = {{"h", 3600'000'000'000}, {"min", 60'000'000'000}, {"s", 1'000'000'000},
                           {"ms", 1'000'000},       {"us", 1'000},           {"ns", 1}};

constexpr absl::string_view kConditions =
    "duration(TIME), evaluations(N), valid_evaluations(N), fraction(F), cost(C), speedup(FACTOR, "
    "TIME or N)";

std::string NumberText(double number) {
  char text[40];
  return std::string(text, std::to_chars(text, text + sizeof(text), number).ptr);
}

std::string DurationText(int64_t nanoseconds) {
  for (const Unit& unit : kUnits) {
    if (nanoseconds % unit.nanoseconds == 0) {
      return absl::StrCat(nanoseconds / unit.nanoseconds, unit.name);
    }
  }
  return absl::StrCat(nanoseconds, "ns");
}

// A number as it was written, with its unit.
struct Number {
  size_t at;
  double value;
  std::optional<int64_t> whole;
  absl::string_view unit;
};

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  Result<AbortCondition> Parse() {
    MDH_ASSIGN_OR_RETURN(AbortCondition condition, Or(0));
    SkipSpace();
    if (next_ < text_.size()) return Expected("'and', 'or' or the end");
    return condition;
  }

 private:
  Result<AbortCondition> Or(int depth) {
    size_t start = Start();
    MDH_ASSIGN_OR_RETURN(AbortCondition all, And(depth));
    std::vector<AbortCondition> alternatives = {all};
    while (Word("or") || Symbol("||")) {
      start = Start();
      MDH_ASSIGN_OR_RETURN(AbortCondition next, And(depth));
      MDH_RETURN_IF_ERROR(CheckAlternatives(alternatives, next, start));
      alternatives.push_back(next);
      all = std::move(all) || std::move(next);
    }
    return all;
  }

  Result<AbortCondition> And(int depth) {
    MDH_ASSIGN_OR_RETURN(AbortCondition all, Term(depth));
    while (Word("and") || Symbol("&&")) {
      MDH_ASSIGN_OR_RETURN(AbortCondition next, Term(depth));
      all = std::move(all) && std::move(next);
    }
    return all;
  }

  // An alternative that another one always precedes is a mistake: it would never have a say.
  Status CheckAlternatives(const std::vector<AbortCondition>& before, const AbortCondition& next,
                           size_t at) const {
    for (const AbortCondition& other : before) {
      const bool next_is_useless = next.Implies(other);
      if (!next_is_useless && !other.Implies(next)) continue;
      const AbortCondition& useless = next_is_useless ? next : other;
      const AbortCondition& first = next_is_useless ? other : next;
      return Error(at, "'", useless.ToText(), "' never decides, because '", first.ToText(),
                   "' holds no later");
    }
    return absl::OkStatus();
  }

  Result<AbortCondition> Term(int depth) {
    if (!Symbol("(")) return Call();
    if (depth >= kMaxDepth) return Error(next_, "parentheses are nested too deeply");
    MDH_ASSIGN_OR_RETURN(AbortCondition inner, Or(depth + 1));
    if (!Symbol(")")) return Expected("'and', 'or' or ')'");
    return inner;
  }

  Result<AbortCondition> Call() {
    const size_t at = Start();
    const absl::string_view name = TakeName();
    if (name.empty()) return Expected(absl::StrCat("a condition: ", kConditions));
    using One = Result<AbortCondition> (Parser::*)(const Number&) const;
    static const std::map<absl::string_view, One> kOfOne = {
        {"duration", &Parser::Duration},
        {"evaluations", &Parser::Evaluations},
        {"valid_evaluations", &Parser::ValidEvaluations},
        {"fraction", &Parser::Fraction},
        {"cost", &Parser::Cost}};
    const auto one = kOfOne.find(name);
    if (one == kOfOne.end() && name != "speedup") {
      return Error(at, "unknown condition '", name, "'; there are ", kConditions);
    }
    if (!Symbol("(")) return Expected(absl::StrCat("'(' after ", name));
    MDH_ASSIGN_OR_RETURN(const Number first, TakeNumber());
    Number second = {};
    if (name == "speedup") {
      if (!Symbol(",")) return Expected("',' and a time or a number of evaluations");
      MDH_ASSIGN_OR_RETURN(second, TakeNumber());
    }
    if (!Symbol(")")) return Expected("')'");
    return name == "speedup" ? Speedup(first, second) : (this->*one->second)(first);
  }

  Result<AbortCondition> Duration(const Number& number) const {
    MDH_ASSIGN_OR_RETURN(const int64_t nanoseconds, Nanoseconds(number));
    return AbortCondition::Duration(nanoseconds);
  }
  Result<AbortCondition> Evaluations(const Number& number) const {
    MDH_ASSIGN_OR_RETURN(const int64_t count, CountOf(number));
    return AbortCondition::Evaluations(count);
  }
  Result<AbortCondition> ValidEvaluations(const Number& number) const {
    MDH_ASSIGN_OR_RETURN(const int64_t count, CountOf(number));
    return AbortCondition::ValidEvaluations(count);
  }
  Result<AbortCondition> Fraction(const Number& number) const {
    MDH_RETURN_IF_ERROR(CheckNoUnit(number));
    if (number.value > 1) {
      return Error(number.at, "a fraction of the space is at most 1: this never holds");
    }
    MDH_RETURN_IF_ERROR(CheckPositive(number));
    return AbortCondition::Fraction(number.value);
  }
  Result<AbortCondition> Cost(const Number& number) const {
    MDH_RETURN_IF_ERROR(CheckNoUnit(number));
    return AbortCondition::CostReached(number.value);
  }
  Result<AbortCondition> Speedup(const Number& factor, const Number& window) const {
    MDH_RETURN_IF_ERROR(CheckNoUnit(factor));
    if (factor.value <= 1) {
      return Error(factor.at,
                   "a speed-up has a factor greater than 1: with others the condition "
                   "would never hold");
    }
    if (window.unit.empty()) {
      MDH_ASSIGN_OR_RETURN(const int64_t count, CountOf(window));
      return AbortCondition::SpeedupOverEvaluations(factor.value, count);
    }
    MDH_ASSIGN_OR_RETURN(const int64_t nanoseconds, Nanoseconds(window));
    return AbortCondition::SpeedupOverDuration(factor.value, nanoseconds);
  }

  Status CheckNoUnit(const Number& number) const {
    if (number.unit.empty()) return absl::OkStatus();
    return Error(number.at, "a number without '", number.unit, "' is expected");
  }

  Status CheckPositive(const Number& number) const {
    if (number.value < 0) return Error(number.at, "must not be negative");
    if (number.value == 0) {
      return Error(number.at, "0 holds before the search starts; give more than 0");
    }
    return absl::OkStatus();
  }

  Result<int64_t> CountOf(const Number& number) const {
    MDH_RETURN_IF_ERROR(CheckNoUnit(number));
    MDH_RETURN_IF_ERROR(CheckPositive(number));
    if (!number.whole) return Error(number.at, "a whole number below 2^63 is expected");
    return *number.whole;
  }

  Result<int64_t> Nanoseconds(const Number& number) const {
    MDH_RETURN_IF_ERROR(CheckPositive(number));
    for (const Unit& unit : kUnits) {
      if (unit.name != number.unit) continue;
      const double scale = static_cast<double>(unit.nanoseconds);
      if (number.value * scale >= 0x1p63)
        return Error(number.at, "a time below 292 years is expected");
      if (number.whole) return *number.whole * unit.nanoseconds;
      return std::max<int64_t>(1, std::llround(number.value * scale));
    }
    return Error(number.at, "a time is a number with ns, us, ms, s, min or h");
  }

  Result<Number> TakeNumber() {
    Number number = {.at = Start(), .value = 0, .whole = std::nullopt, .unit = {}};
    const char* const begin = text_.data() + next_;
    const char* const end = text_.data() + text_.size();
    const std::from_chars_result real = std::from_chars(begin, end, number.value);
    if (real.ec == std::errc::result_out_of_range || !std::isfinite(number.value)) {
      return Error(number.at, "the number is too large or too small");
    }
    if (real.ec != std::errc()) return Expected("a number");
    int64_t whole = 0;
    const std::from_chars_result integer = std::from_chars(begin, end, whole);
    if (integer.ec == std::errc() && integer.ptr == real.ptr) {
      number.whole = whole;
    } else if (std::abs(number.value) < 0x1p53 && number.value == std::floor(number.value)) {
      number.whole = static_cast<int64_t>(number.value);
    }
    next_ += static_cast<size_t>(real.ptr - begin);
    SkipSpace();
    number.unit = TakeName();
    return number;
  }

  absl::string_view TakeName() {
    const size_t start = next_;
    while (next_ < text_.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(text_[next_])) || text_[next_] == '_')) {
      ++next_;
    }
    return text_.substr(start, next_ - start);
  }

  bool Word(absl::string_view word) {
    SkipSpace();
    const size_t start = next_;
    if (TakeName() == word) return true;
    next_ = start;
    return false;
  }

  bool Symbol(absl::string_view symbol) {
    SkipSpace();
    if (text_.substr(next_, symbol.size()) != symbol) return false;
    next_ += symbol.size();
    return true;
  }

  size_t Start() {
    SkipSpace();
    return next_;
  }

  void SkipSpace() {
    while (next_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[next_]))) {
      ++next_;
    }
  }

  Status Expected(absl::string_view what) {
    SkipSpace();
    const std::string found = next_ < text_.size() ? absl::StrCat("'", text_.substr(next_, 1), "'")
                                                   : std::string("the end");
    return Error(next_, "expected ", what, ", found ", found);
  }

  template <typename... Parts>
  static Status Error(size_t at, const Parts&... message) {
    return InvalidArgument("abort condition, column ", at + 1, ": ", message...);
  }

  absl::string_view text_;
  size_t next_ = 0;
};

}  // namespace

Result<AbortCondition> AbortCondition::Parse(std::string_view text) {
  if (text.size() > kMaxLength) {
    return InvalidArgument("abort condition, column ", kMaxLength + 1, ": the text is longer than ",
                           kMaxLength, " characters");
  }
  return Parser(absl::string_view(text.data(), text.size())).Parse();
}

std::string AbortCondition::ToText() const { return node_->ToText(); }

std::string AbortCondition::Node::ToText() const {
  switch (kind) {
    case Kind::kDuration:
      return absl::StrCat("duration(", DurationText(count), ")");
    case Kind::kEvaluations:
      return absl::StrCat("evaluations(", count, ")");
    case Kind::kValidEvaluations:
      return absl::StrCat("valid_evaluations(", count, ")");
    case Kind::kFraction:
      return absl::StrCat("fraction(", NumberText(number), ")");
    case Kind::kCost:
      return absl::StrCat("cost(", NumberText(number), ")");
    case Kind::kSpeedupOverDuration:
      return absl::StrCat("speedup(", NumberText(number), ", ", DurationText(count), ")");
    case Kind::kSpeedupOverEvaluations:
      return absl::StrCat("speedup(", NumberText(number), ", ", count, ")");
    case Kind::kAnd:
    case Kind::kOr:
      break;
  }
  const auto operand = [this](std::string* out, const AbortCondition& condition) {
    const bool parenthesise = kind == Kind::kAnd && Of(condition).kind == Kind::kOr;
    const std::string text = condition.ToText();
    absl::StrAppend(out, parenthesise ? absl::StrCat("(", text, ")") : text);
  };
  return absl::StrJoin(operands, kind == Kind::kAnd ? " and " : " or ", operand);
}

}  // namespace mdh
