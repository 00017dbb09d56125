// Counterexamples to the laws of combine operators.
#include "core/expression/combine_laws.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/identifier.h"

namespace mdh {
namespace {

constexpr size_t kMostSamples = 12;
// Instructions that one check may evaluate.
constexpr int64_t kMostSteps = 2'000'000;

ScalarValue RoundedNumber(ScalarType type, double value) {
  if (type == ScalarType::kBool) return ScalarValue::Bool(value > 0);
  if (IsFloatingPoint(type)) return ScalarValue::Real(type, value);
  return ScalarValue::Integer(type,
                              static_cast<int64_t>(IsSigned(type) ? value : std::fabs(value)));
}

bool IsFinite(const ResultTuple& tuple) {
  return std::ranges::all_of(tuple, [](const ScalarValue& value) {
    return !IsFloatingPoint(value.type()) || std::isfinite(value.as_double());
  });
}

ResultTuple Widened(ResultTuple tuple) {
  for (ScalarValue& value : tuple) {
    if (IsFloatingPoint(value.type())) {
      value = ScalarValue::Real(ScalarType::kFloat64, value.as_double());
    }
  }
  return tuple;
}

bool Differ(const ScalarValue& a, const ScalarValue& b) {
  if (!IsFloatingPoint(a.type())) return !(a == b);
  const double x = a.as_double(), y = b.as_double();
  constexpr double kTolerance = 1e-6;  // rounding is no counterexample
  return std::fabs(x - y) > kTolerance * std::max({1.0, std::fabs(x), std::fabs(y)});
}

bool Differ(const ResultTuple& a, const ResultTuple& b) {
  if (!IsFinite(a) || !IsFinite(b)) return false;
  for (size_t r = 0; r < a.size(); ++r) {
    if (Differ(a[r], b[r])) return true;
  }
  return false;
}

bool IsNan(const ScalarValue& value) {
  return IsFloatingPoint(value.type()) && std::isnan(value.as_double());
}

bool HasNan(const ResultTuple& tuple) { return std::ranges::any_of(tuple, IsNan); }

// As Differ, of values that may be nan; infinities prove nothing.
bool DifferInNan(const ResultTuple& a, const ResultTuple& b) {
  for (size_t r = 0; r < a.size(); ++r) {
    if (IsNan(a[r]) != IsNan(b[r])) return true;
    if (IsFinite({a[r], b[r]}) && Differ(a[r], b[r])) return true;
  }
  return false;
}

std::string TupleText(const ResultTuple& tuple) {
  const std::string values = absl::StrJoin(
      tuple, ", ",
      [](std::string* out, const ScalarValue& value) { absl::StrAppend(out, value.ToString()); });
  return tuple.size() == 1 ? values : absl::StrCat("(", values, ")");
}

// A combine operator on tuples, with fp64 for narrower types.
class Operation {
 public:
  explicit Operation(const ScalarFunction& f) : f_(f.Widened()) {}

  ResultTuple operator()(const ResultTuple& a, const ResultTuple& b) const {
    ResultTuple arguments = a;
    arguments.insert(arguments.end(), b.begin(), b.end());
    return f_.Evaluate(arguments);
  }
  // "f(a, b)", or "(a + b)" for operators.
  std::string Call(const std::string& a, const std::string& b) const {
    const std::string& name = f_.name();
    if (IsIdentifier(name)) return absl::StrCat(name, "(", a, ", ", b, ")");
    return absl::StrCat("(", a, " ", name, " ", b, ")");
  }
  std::string Call(const ResultTuple& a, const ResultTuple& b) const {
    return Call(TupleText(a), TupleText(b));
  }
  const std::string& name() const { return f_.name(); }
  // Values that one application computes or copies.
  int64_t steps() const {
    return static_cast<int64_t>(f_.instructions().size() + f_.parameters().size() +
                                f_.results().size());
  }

 private:
  ScalarFunction f_;
};

class LawChecker {
 public:
  LawChecker(const ScalarFunction& f, const std::vector<ResultTuple>& samples) : f_(f) {
    for (const ResultTuple& sample : samples) samples_.push_back(Widened(sample));
    // As many as can be combined in threes within the steps.
    const double threes = static_cast<double>(kMostSteps) / static_cast<double>(4 * f_.steps());
    const auto most = static_cast<size_t>(std::max(4.0, std::cbrt(threes)));
    if (samples_.size() > most) samples_.resize(most);
  }

  Status Commutative() const {
    for (const ResultTuple& a : samples_) {
      for (const ResultTuple& b : samples_) {
        const ResultTuple one = f_(a, b), other = f_(b, a);
        if (!Differ(one, other)) continue;
        return Violated("commutative", absl::StrCat(f_.Call(a, b), " is ", TupleText(one)),
                        absl::StrCat(f_.Call(b, a), " is ", TupleText(other)));
      }
    }
    return absl::OkStatus();
  }

  Status Associative() const {
    for (const ResultTuple& a : samples_) {
      for (const ResultTuple& b : samples_) {
        for (const ResultTuple& c : samples_) {
          const ResultTuple left = f_(f_(a, b), c), right = f_(a, f_(b, c));
          if (!Differ(left, right)) continue;
          return Violated(
              "associative",
              absl::StrCat(f_.Call(f_.Call(a, b), TupleText(c)), " is ", TupleText(left)),
              absl::StrCat(f_.Call(TupleText(a), f_.Call(b, c)), " is ", TupleText(right)));
        }
      }
    }
    return absl::OkStatus();
  }

  // The same, of values that may be nan.
  bool HoldForNan(const std::optional<std::vector<ScalarValue>>& identity,
                  Commutativity commutativity) const {
    for (const ResultTuple& a : samples_) {
      if (identity.has_value() && (DifferInNan(f_(Widened(*identity), a), a) ||
                                   DifferInNan(f_(a, Widened(*identity)), a))) {
        return false;
      }
      for (const ResultTuple& b : samples_) {
        const ResultTuple both = f_(a, b);
        if (commutativity == Commutativity::kNeeded && DifferInNan(both, f_(b, a))) return false;
        for (const ResultTuple& c : samples_) {
          if (DifferInNan(f_(both, c), f_(a, f_(b, c)))) return false;
        }
      }
    }
    return true;
  }

  Status Neutral(const ResultTuple& identity) const {
    // Empty parts are combined with each other, too.
    const ResultTuple both = f_(identity, identity);
    for (size_t r = 0; r < both.size(); ++r) {
      if (!IsNan(both[r]) || IsNan(identity[r])) continue;
      return InvalidArgument(TupleText(identity), " is no identity of combine operator '",
                             f_.name(), "': ", f_.Call(identity, identity), " is ",
                             TupleText(both));
    }
    for (const ResultTuple& sample : samples_) {
      for (const bool is_left : {true, false}) {
        const ResultTuple& a = is_left ? identity : sample;
        const ResultTuple& b = is_left ? sample : identity;
        const ResultTuple combined = f_(a, b);
        const bool is_nan = !IsFinite(combined);
        if (!is_nan && !Differ(combined, sample)) continue;
        return InvalidArgument(TupleText(identity), " is no identity of combine operator '",
                               f_.name(), "': ", f_.Call(a, b), " is ", TupleText(combined));
      }
    }
    return absl::OkStatus();
  }

 private:
  Status Violated(absl::string_view law, const std::string& one, const std::string& other) const {
    return InvalidArgument("combine operator '", f_.name(), "' is not ", law, ": ", one, ", but ",
                           other);
  }

  const Operation f_;
  std::vector<ResultTuple> samples_;
};

}  // namespace

std::vector<ResultTuple> SampleResults(const ScalarFunction& f) {
  std::vector<ResultTuple> samples;
  std::mt19937_64 rng(1);
  const size_t tries = f.instructions().size() > 1000 ? 8 : 40;
  for (size_t n = 0; n < tries && samples.size() < kMostSamples; ++n) {
    std::vector<ScalarValue> arguments;
    for (const TypedName& parameter : f.parameters()) {
      // First the same small number for all, then different whole ones, then quarters.
      const auto random = static_cast<double>(rng() % 17);
      const double value = n < 4 ? static_cast<double>(n) : n < 8 ? random - 8 : random / 4 - 2;
      arguments.push_back(RoundedNumber(parameter.type, value));
    }
    ResultTuple tuple = f.Evaluate(arguments);
    if (IsFinite(tuple) && std::ranges::find(samples, tuple) == samples.end()) {
      samples.push_back(std::move(tuple));
    }
  }
  return samples;
}

Status CheckCombineLaws(const ScalarFunction& combine,
                        const std::optional<std::vector<ScalarValue>>& identity,
                        Commutativity commutativity, const std::vector<ResultTuple>& samples) {
  const LawChecker checker(combine, samples);
  if (commutativity == Commutativity::kNeeded) MDH_RETURN_IF_ERROR(checker.Commutative());
  MDH_RETURN_IF_ERROR(checker.Associative());
  return identity.has_value() ? checker.Neutral(Widened(*identity)) : absl::OkStatus();
}

namespace {

// Whether it compares, or takes one of several values: then nan may be lost on one way and not on
// another one. Arithmetic alone hands nan on.
bool Chooses(const ScalarFunction& combine) {
  return std::ranges::any_of(combine.instructions(), [](const ScalarInstruction& instruction) {
    switch (instruction.op) {
      case ScalarOp::kParameter:
      case ScalarOp::kConstant:
      case ScalarOp::kNeg:
      case ScalarOp::kAdd:
      case ScalarOp::kSub:
      case ScalarOp::kMul:
        return false;
      case ScalarOp::kCast:
        return !IsFloatingPoint(instruction.type);
      default:
        return true;
    }
  });
}

}  // namespace

bool LawsHoldForNan(const ScalarFunction& f, const ScalarFunction& combine,
                    const std::optional<std::vector<ScalarValue>>& identity,
                    Commutativity commutativity) {
  if (!Chooses(combine)) return true;
  constexpr size_t kEach = 5;  // with and without nan
  std::vector<ResultTuple> samples;
  std::mt19937_64 rng(1);
  for (size_t n = 0; n < 40 && samples.size() < kEach; ++n) {
    std::vector<ScalarValue> arguments;
    for (const TypedName& parameter : f.parameters()) {
      const auto random = static_cast<double>(rng() % 17);
      const bool is_nan = IsFloatingPoint(parameter.type) && (n == 0 || rng() % 2 == 0);
      arguments.push_back(is_nan ? ScalarValue::Real(parameter.type, std::nan(""))
                                 : RoundedNumber(parameter.type, random - 8));
    }
    ResultTuple tuple = f.Evaluate(arguments);
    if (HasNan(tuple)) samples.push_back(std::move(tuple));
  }
  if (samples.empty()) return true;
  // In front, as only few may be tried: one that is nan in as much as can be, then finite ones.
  std::vector<ResultTuple> finite = SampleResults(f);
  if (finite.size() > kEach) finite.resize(kEach);
  samples.insert(samples.begin() + 1, finite.begin(), finite.end());
  return LawChecker(combine, samples).HoldForNan(identity, commutativity);
}

std::optional<std::string> InterchangeCounterexample(const ScalarFunction& f,
                                                     const ScalarFunction& g,
                                                     const std::vector<ResultTuple>& samples) {
  const Operation first(f), second(g);
  std::mt19937_64 rng(1);
  const int64_t tries = std::min<int64_t>(samples.empty() ? 0 : 400,
                                          kMostSteps / (3 * (first.steps() + second.steps())));
  for (int64_t n = 0; n < tries; ++n) {
    const auto pick = [&] { return Widened(samples[rng() % samples.size()]); };
    const ResultTuple a = pick(), b = pick(), c = pick(), d = pick();
    const ResultTuple one = second(first(a, b), first(c, d));
    const ResultTuple other = first(second(a, c), second(b, d));
    if (!Differ(one, other)) continue;
    return absl::StrCat(second.Call(first.Call(a, b), first.Call(c, d)), " is ", TupleText(one),
                        ", but ", first.Call(second.Call(a, c), second.Call(b, d)), " is ",
                        TupleText(other));
  }
  return std::nullopt;
}

}  // namespace mdh
