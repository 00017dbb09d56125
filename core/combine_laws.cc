// Counterexamples to the laws of combine operators.
#include "core/combine_laws.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

std::vector<ScalarValue> Samples(ScalarType type) {
  if (type == ScalarType::kBool) return {ScalarValue::Bool(false), ScalarValue::Bool(true)};
  std::vector<ScalarValue> samples;
  for (int64_t number : {0, 1, 2, 3}) {
    samples.push_back(IsFloatingPoint(type) ? ScalarValue::Real(type, static_cast<double>(number))
                                            : ScalarValue::Integer(type, number));
  }
  if (IsFloatingPoint(type)) samples.push_back(ScalarValue::Real(type, 0.5));
  return samples;
}

bool Differ(const ScalarValue& a, const ScalarValue& b) {
  if (!IsFloatingPoint(a.type())) return !(a == b);
  const double x = a.as_double(), y = b.as_double();
  if (!std::isfinite(x) || !std::isfinite(y)) return false;
  constexpr double kTolerance = 1e-3;  // rounding is no counterexample
  return std::fabs(x - y) > kTolerance * std::max({1.0, std::fabs(x), std::fabs(y)});
}

class LawChecker {
 public:
  explicit LawChecker(const ScalarFunction& f) : f_(f), samples_(Samples(f.results()[0].type)) {}

  Status Commutative() const {
    for (const ScalarValue& a : samples_) {
      for (const ScalarValue& b : samples_) {
        if (Differ(Apply(a, b), Apply(b, a))) {
          return Violated("commutative", absl::StrCat(Call(a, b), " is ", Apply(a, b).ToString()),
                          absl::StrCat(Call(b, a), " is ", Apply(b, a).ToString()));
        }
      }
    }
    return absl::OkStatus();
  }

  Status Associative() const {
    for (const ScalarValue& a : samples_) {
      for (const ScalarValue& b : samples_) {
        for (const ScalarValue& c : samples_) {
          const ScalarValue left = Apply(Apply(a, b), c), right = Apply(a, Apply(b, c));
          if (!Differ(left, right)) continue;
          return Violated("associative",
                          absl::StrCat(f_.name(), "(", Call(a, b), ", ", c.ToString(), ") is ",
                                       left.ToString()),
                          absl::StrCat(f_.name(), "(", a.ToString(), ", ", Call(b, c), ") is ",
                                       right.ToString()));
        }
      }
    }
    return absl::OkStatus();
  }

  Status Neutral(const ScalarValue& identity) const {
    // Only 0 and 1: an operator may be meant for a part of its type, as addition modulo a number
    // is.
    for (size_t n = 0; n < 2; ++n) {
      const ScalarValue combined = Apply(identity, samples_[n]);
      if (!Differ(combined, samples_[n])) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(identity.ToString(), " is no identity of combine operator '", f_.name(),
                       "': ", Call(identity, samples_[n]), " is ", combined.ToString()));
    }
    return absl::OkStatus();
  }

 private:
  ScalarValue Apply(const ScalarValue& a, const ScalarValue& b) const {
    return f_.Evaluate({a, b})[0];
  }

  std::string Call(const ScalarValue& a, const ScalarValue& b) const {
    return absl::StrCat(f_.name(), "(", a.ToString(), ", ", b.ToString(), ")");
  }

  Status Violated(absl::string_view law, const std::string& one, const std::string& other) const {
    return absl::InvalidArgumentError(absl::StrCat("combine operator '", f_.name(), "' is not ",
                                                   law, ": ", one, ", but ", other));
  }

  const ScalarFunction& f_;
  std::vector<ScalarValue> samples_;
};

}  // namespace

Status CheckCombineLaws(const ScalarFunction& f, const std::optional<ScalarValue>& identity) {
  const LawChecker checker(f);
  MDH_RETURN_IF_ERROR(checker.Commutative());
  MDH_RETURN_IF_ERROR(checker.Associative());
  return identity.has_value() ? checker.Neutral(*identity) : absl::OkStatus();
}

}  // namespace mdh
