#include "core/pipeline/plan/scaled_sums.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/pipeline/step_builder.h"

namespace mdh {
namespace {

constexpr double kSamples[] = {-3, -1.25, 0, 0.5, 2, 5};
constexpr double kTolerance = 1e-4;  // relative; of what functions of fp32 give

// How a value depends on the maximum.
struct Dependence {
  enum class Kind : uint8_t {
    kNone,
    kOther,   // somehow: it is a function of the maximum and of value number `other`, or of the
              // maximum alone
    kScaled,  // it is a product with phi, or a sum of such products
  };
  Kind kind = Kind::kNone;
  int other = -1;
};
using Kind = Dependence::Kind;

bool IsZero(const ScalarInstruction& instruction) {
  return instruction.op == ScalarOp::kConstant && instruction.constant.as_double() == 0;
}

// Instruction number `root` as a function of instruction `x` and of parameter `m`.
std::optional<ScalarFunction> AsFunction(const ScalarFunction& f, int root, int x, int m) {
  ValueBuilder values;
  std::map<int, int> numbers;
  const ScalarType type_of_x = f.instructions()[x].type, type_of_m = f.parameters()[m].type;
  numbers[x] = values.Append({ScalarOp::kParameter, type_of_x, {}, 0});
  std::vector<bool> is_needed(root + 1, false);
  is_needed[root] = true;
  for (int n = root; n >= 0; --n) {
    if (!is_needed[n] || n == x) continue;
    for (const int operand : f.instructions()[n].operands) is_needed[operand] = true;
  }
  for (int n = 0; n <= root; ++n) {
    if (!is_needed[n] || n == x) continue;
    ScalarInstruction instruction = f.instructions()[n];
    if (instruction.op == ScalarOp::kParameter) {
      if (instruction.parameter != m) return std::nullopt;
      instruction.parameter = 1;
    }
    for (int& operand : instruction.operands) operand = numbers.at(operand);
    numbers[n] = values.Append(std::move(instruction));
  }
  Result<ScalarFunction> built = ScalarFunction::Create(
      "factor", {{"x", type_of_x}, {"m", type_of_m}}, {{"y", f.instructions()[root].type}},
      values.instructions(), {numbers.at(root)});
  if (!built.ok()) return std::nullopt;
  return *std::move(built);
}

// Whether phi(a, b) phi(b, c) = phi(a, c), phi(a, a) = 1, and phi(neutral, b) = 0.
bool ObeysLaw(const ScalarFunction& phi, double neutral) {
  const ScalarType type = phi.parameters()[0].type;
  if (!IsFloatingPoint(type) || phi.parameters()[1].type != type || phi.results()[0].type != type) {
    return false;
  }
  const auto at = [&](double a, double b) {
    return phi.Evaluate({ScalarValue::Real(type, a), ScalarValue::Real(type, b)})[0].as_double();
  };
  const auto is_near = [](double a, double b) {
    return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
  };
  for (const double a : kSamples) {
    if (at(a, a) != 1 || at(neutral, a) != 0) return false;
    for (const double b : kSamples) {
      for (const double c : kSamples) {
        if (!is_near(at(a, b) * at(b, c), at(a, c))) return false;
      }
    }
  }
  return true;
}

class ScaleAnalysis {
 public:
  ScaleAnalysis(const Pipeline& pipeline, const JointGroup& group)
      : pipeline_(pipeline), group_(group) {}

  Result<ScaledSums> Run() {
    for (int s = group_.first; s <= group_.last; ++s) {
      MDH_ASSIGN_OR_RETURN(const bool is_scaled,
                           StreamedOf(s) < 0 ? Result<bool>(false) : Analyse(s));
      sums_.is_scaled.push_back(is_scaled);
    }
    return std::move(sums_);
  }

 private:
  int StreamedOf(int s) const { return group_.streamed[s - group_.first]; }
  const Expression& ExpressionOf(int s) const { return pipeline_.steps()[s].expression; }
  std::string StepText(int s) const {
    return absl::StrCat("step ", s + 1, " (", ExpressionOf(s).name(), ")");
  }

  // Whether a step of the group reduces the streamed dimension for this buffer.
  bool IsCarried(int buffer) const {
    const int writer = pipeline_.writer(buffer);
    if (writer < group_.first || writer > group_.last || StreamedOf(writer) < 0) return false;
    return ExpressionOf(writer).is_reduction(StreamedOf(writer));
  }

  // Of what a step with the streamed dimension reads.
  Result<Dependence> OfBuffer(int s, int buffer) {
    const int writer = pipeline_.writer(buffer);
    if (writer < group_.first || writer > group_.last) return Dependence{};
    if (StreamedOf(writer) < 0) {
      return Obstacle(StepText(s), " reads what ", StepText(writer),
                      " writes behind the last chunk");
    }
    if (!IsCarried(buffer)) {
      return Dependence{sums_.is_scaled[writer - group_.first] ? Kind::kScaled : Kind::kNone};
    }
    const PointWiseKind kind = ExpressionOf(writer).reduction().kind();
    if (kind != PointWiseKind::kMax && kind != PointWiseKind::kMin) {
      return Obstacle(StepText(s), " reads all of what ", StepText(writer),
                      " reduces along the streamed dimension, which is no maximum");
    }
    if (sums_.reference >= 0 && sums_.reference != writer) {
      return Obstacle(StepText(s),
                      " reads a second maximum along the streamed "
                      "dimension");
    }
    sums_.reference = writer;
    return Dependence{Kind::kOther};
  }

  Result<bool> Analyse(int s) {
    const PipelineStep& step = pipeline_.steps()[s];
    const Expression& e = step.expression;
    std::vector<Dependence> parameters;
    for (int p = 0; p < std::ssize(e.function().parameters()); ++p) {
      Dependence& own = parameters.emplace_back();
      if (e.is_index(p)) continue;
      MDH_ASSIGN_OR_RETURN(own, OfBuffer(s, step.inputs[e.input_access(p).buffer]));
    }
    MDH_ASSIGN_OR_RETURN(std::vector<Dependence> results, ResultsOf(s, e.function(), parameters));
    const bool is_scaled = results[0].kind == Kind::kScaled;
    for (const Dependence& result : results) {
      if ((result.kind == Kind::kScaled) != is_scaled) {
        return Obstacle(StepText(s), " scales some of its results only");
      }
    }
    if (is_scaled && e.has_reduction() && e.reduction().kind() != PointWiseKind::kAdd) {
      return Obstacle(StepText(s), " does not add up what is scaled by a maximum");
    }
    // The store function of what is carried runs behind the last chunk.
    if (e.store() == nullptr || e.is_reduction(StreamedOf(s))) return is_scaled;
    for (int p = 0; p < std::ssize(e.store()->function.parameters()); ++p) {
      if (e.store_parameter(p) != Expression::StoreParameter::kAccess) {
        if (p >= std::ssize(results)) results.emplace_back();
        continue;
      }
      const int passed = e.passed_store_input(e.store_access(p).buffer);
      MDH_ASSIGN_OR_RETURN(results.emplace_back(), OfBuffer(s, step.inputs[passed]));
    }
    MDH_ASSIGN_OR_RETURN(results, ResultsOf(s, e.store()->function, results));
    if (std::ranges::any_of(results, [&](const Dependence& result) {
          return (result.kind == Kind::kScaled) != is_scaled;
        })) {
      return Obstacle(StepText(s), " scales in its store function");
    }
    return is_scaled;
  }

  Result<std::vector<Dependence>> ResultsOf(int s, const ScalarFunction& f,
                                            const std::vector<Dependence>& parameters) {
    std::vector<Dependence> values;
    for (int n = 0; n < std::ssize(f.instructions()); ++n) {
      const ScalarInstruction& instruction = f.instructions()[n];
      if (instruction.op == ScalarOp::kParameter) {
        values.push_back(parameters[instruction.parameter]);
        continue;
      }
      MDH_ASSIGN_OR_RETURN(values.emplace_back(), OfInstruction(s, f, n, parameters, values));
    }
    std::vector<Dependence> results;
    for (const int r : f.result_instructions()) {
      results.push_back(values[r]);
      if (values[r].kind == Kind::kOther) return Misused(s);
    }
    return results;
  }

  Result<Dependence> OfInstruction(int s, const ScalarFunction& f, int n,
                                   const std::vector<Dependence>& parameters,
                                   const std::vector<Dependence>& values) {
    const ScalarInstruction& instruction = f.instructions()[n];
    const auto has = [&](Kind kind) {
      return std::ranges::any_of(instruction.operands,
                                 [&](int operand) { return values[operand].kind == kind; });
    };
    if (has(Kind::kScaled)) {
      if (!IsLinear(f, instruction, values)) return Misused(s);
      return Dependence{Kind::kScaled};
    }
    if (!has(Kind::kOther)) return Dependence{};
    Dependence own{Kind::kOther};
    for (const int operand : instruction.operands) {
      const bool is_constant = f.instructions()[operand].op == ScalarOp::kConstant;
      const int other = values[operand].kind == Kind::kOther ? values[operand].other
                        : is_constant                        ? -1
                                                             : operand;
      if (other < 0) continue;
      if (own.other >= 0 && own.other != other) return Misused(s);
      own.other = other;
    }
    if (own.other < 0) return own;
    const auto m = std::ranges::find(parameters, Kind::kOther, &Dependence::kind);
    std::optional<ScalarFunction> phi =
        AsFunction(f, n, own.other, static_cast<int>(m - parameters.begin()));
    const auto& neutral = ExpressionOf(sums_.reference).reduction().identity();
    if (!phi || !neutral || !ObeysLaw(*phi, (*neutral)[0].as_double())) return own;
    if (sums_.factor && !sums_.factor->EquivalentTo(*phi)) return Misused(s);
    if (!IsReducedValue(s, f, own.other)) return Misused(s);
    sums_.factor = std::move(phi);
    return Dependence{Kind::kScaled};
  }

  static bool IsLinear(const ScalarFunction& f, const ScalarInstruction& instruction,
                       const std::vector<Dependence>& values) {
    const std::vector<int>& operands = instruction.operands;
    const auto kind = [&](int n) { return values[operands[n]].kind; };
    const auto is_term = [&](int n) {
      return kind(n) == Kind::kScaled || IsZero(f.instructions()[operands[n]]);
    };
    switch (instruction.op) {
      case ScalarOp::kNeg:
        return true;
      case ScalarOp::kCast:
        return IsFloatingPoint(instruction.type);
      case ScalarOp::kMul:
        return kind(0) == Kind::kNone || kind(1) == Kind::kNone;
      case ScalarOp::kDiv:
        return kind(1) == Kind::kNone;
      case ScalarOp::kAdd:
      case ScalarOp::kSub:
        return is_term(0) && is_term(1);
      case ScalarOp::kSelect:
        return kind(0) == Kind::kNone && is_term(1) && is_term(2);
      default:
        return false;
    }
  }

  Status Misused(int s) const {
    return Obstacle(StepText(s),
                    " uses a maximum along the streamed dimension in "
                    "another way than as a factor that can be changed "
                    "for another maximum, as exp(x - m) can");
  }

  // Whether instruction `u` of f of step s is what the reference finds the maximum of.
  bool IsReducedValue(int s, const ScalarFunction& f, int u) const {
    const ScalarFunction& reduced = ExpressionOf(sums_.reference).function();
    return IsSame(s, f, u, reduced, reduced.result_instructions()[0]);
  }

  bool IsSame(int s, const ScalarFunction& f, int u, const ScalarFunction& g, int v) const {
    const ScalarInstruction &a = f.instructions()[u], &b = g.instructions()[v];
    if (a.op != b.op || a.type != b.type || a.constant != b.constant || a.table != b.table ||
        a.operands.size() != b.operands.size()) {
      return false;
    }
    if (a.op == ScalarOp::kParameter) return IsSameParameter(s, a.parameter, b.parameter);
    for (size_t n = 0; n < a.operands.size(); ++n) {
      if (!IsSame(s, f, a.operands[n], g, b.operands[n])) return false;
    }
    return true;
  }

  bool IsSameParameter(int s, int p, int q) const {
    const int r = sums_.reference;
    const Expression &e = ExpressionOf(s), &of_r = ExpressionOf(r);
    if (e.is_index(p) || of_r.is_index(q)) {
      return e.is_index(p) && of_r.is_index(q) && CommonNumber(s, e.index_dimension(p)) >= 0 &&
             CommonNumber(s, e.index_dimension(p)) == CommonNumber(r, of_r.index_dimension(q));
    }
    const Expression::AccessRef a = e.input_access(p), b = of_r.input_access(q);
    if (pipeline_.steps()[s].inputs[a.buffer] != pipeline_.steps()[r].inputs[b.buffer] ||
        a.field != b.field || e.inputs()[a.buffer].boundary != of_r.inputs()[b.buffer].boundary) {
      return false;
    }
    const auto &x = e.inputs()[a.buffer].accesses[a.access].indices,
               &y = of_r.inputs()[b.buffer].accesses[b.access].indices;
    for (size_t place = 0; place < x.size(); ++place) {
      const auto own = CommonCoefficients(s, x[place]), other = CommonCoefficients(r, y[place]);
      if (!own || !other || *own != *other || x[place].constant != y[place].constant) return false;
    }
    return x.size() == y.size();
  }

  // Which common dimension a dimension of the step is, the streamed one behind all others; -1:
  // none.
  int CommonNumber(int s, int d) const {
    const std::vector<int>& own = group_.dimensions[s - group_.first];
    if (d == StreamedOf(s)) return static_cast<int>(own.size());
    const auto found = std::ranges::find(own, d);
    return found == own.end() ? -1 : static_cast<int>(found - own.begin());
  }
  // By common dimensions; nullopt: it uses others.
  std::optional<std::map<int, int64_t>> CommonCoefficients(int s, const AffineIndex& index) const {
    std::map<int, int64_t> coefficients;
    for (int d = 0; d < std::ssize(index.coefficients); ++d) {
      if (index.coefficients[d] == 0) continue;
      if (CommonNumber(s, d) < 0) return std::nullopt;
      coefficients[CommonNumber(s, d)] = index.coefficients[d];
    }
    return coefficients;
  }

  const Pipeline& pipeline_;
  const JointGroup& group_;
  ScaledSums sums_;
};

}  // namespace

Result<ScaledSums> ScaledSumsOf(const Pipeline& pipeline, const JointGroup& group) {
  return ScaleAnalysis(pipeline, group).Run();
}

}  // namespace mdh
