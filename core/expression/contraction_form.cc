#include "core/expression/contraction_form.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/expression/dependences.h"
#include "core/scalar/free_names.h"

namespace mdh {
namespace {

// More factors than any computation has; all ways to make two groups of them are tried.
constexpr size_t kMostFactors = 12;

// The factors of f: what they depend on decides what they are for. All are of the products' type.
struct Factors {
  ScalarType type = ScalarType::kFloat32;
  std::vector<int> terms = {};     // that depend on reduced dimensions
  std::vector<int> kept = {};      // that do not
  std::vector<int> divisors = {};  // idem
  bool is_negated = false;
};

// Whether `wide` of a value is as good as the value itself where products are of type `wide`.
bool IsWidening(ScalarType wide, ScalarType narrow) {
  if (HoldsAllValues(wide, narrow)) return true;
  return IsInteger(wide) && IsInteger(narrow) && SizeBytes(wide) >= SizeBytes(narrow);
}

int Bits(ScalarType type) { return 8 * SizeBytes(type); }

class ContractionFinder {
 public:
  explicit ContractionFinder(const Expression& e)
      : e_(e),
        f_(e.function()),
        instructions_(f_.instructions()),
        uses_(DimensionsOfInstructions(e)),
        reduced_(ReducedDimensions(e)),
        kept_(ActiveDimensions(e) & ~reduced_) {}

  Result<ContractionForm> Find() const {
    MDH_RETURN_IF_ERROR(CheckOperators());
    MDH_ASSIGN_OR_RETURN(const Factors factors, FactorsOfF());
    MDH_ASSIGN_OR_RETURN(Sides sides, SidesOf(factors));
    if (IsTurned(UsesOf(factors, sides.a), UsesOf(factors, sides.b))) std::swap(sides.a, sides.b);
    const DimensionSet by_a = UsesOf(factors, sides.a), by_b = UsesOf(factors, sides.b);
    MDH_ASSIGN_OR_RETURN(ContractionOperand a, OperandOf("a", factors, sides.a));
    MDH_ASSIGN_OR_RETURN(ContractionOperand b, OperandOf("b", factors, sides.b));
    MDH_ASSIGN_OR_RETURN(std::optional<ScalarFunction> factor, FactorOf(factors));
    ContractionForm form{.a = std::move(a),
                         .b = std::move(b),
                         .factor = std::move(factor),
                         .product = factors.type,
                         .combined = f_.results()[0].type};
    form.m = Descending(Members(by_a & ~by_b & kept_), StridesOf(form.a));
    form.n = Descending(Members(by_b & ~by_a & kept_), StridesOf(form.b));
    const bool b_orders = IsReduced(form.b.contiguous) && !IsReduced(form.a.contiguous);
    form.k = Descending(Members(reduced_), StridesOf(b_orders ? form.b : form.a));
    form.batch = Descending(Members(kept_ & ~(by_a ^ by_b)), OutputStrides());
    return form;
  }

 private:
  // Numbers of factors, as bits.
  struct Sides {
    uint32_t a, b;
  };

  Status CheckOperators() const {
    if (e_.is_empty()) return InvalidArgument("a dimension is empty");
    if (e_.has_prefix_sum()) return InvalidArgument("there are prefix sums");
    if (reduced_ == 0) return InvalidArgument("no dimension of more than one point is reduced");
    if (f_.results().size() != 1) {
      return InvalidArgument("f has ", f_.results().size(), " results, not one");
    }
    if (e_.reduction().kind() == PointWiseKind::kAdd) return absl::OkStatus();
    return InvalidArgument("results are combined by ", e_.reduction().ToString(), ", not by +");
  }

  // ---- Factors ----

  // The instruction that is the product, before it is converted to the type in which it is
  // combined.
  Result<int> Product() const {
    const int result = f_.result_instructions()[0];
    const ScalarInstruction& cast = instructions_[result];
    if (cast.op != ScalarOp::kCast) return result;
    const int inner = cast.operands[0];
    const ScalarType from = instructions_[inner].type, to = cast.type;
    int product = inner;
    while (instructions_[product].op == ScalarOp::kNeg) {
      product = instructions_[product].operands[0];
    }
    if (instructions_[product].op != ScalarOp::kMul) return result;
    const bool are_integers = IsInteger(from) && IsInteger(to);
    const bool is_rounding =
        IsFloatingPoint(from) && IsFloatingPoint(to) && HoldsAllValues(from, to);
    if (is_rounding || (are_integers && Bits(from) >= Bits(to))) return inner;
    return InvalidArgument("products are ", are_integers ? "cut off" : "rounded", " to ",
                           Name(from), " before they are added up in ", Name(to));
  }

  Result<Factors> FactorsOfF() const {
    MDH_ASSIGN_OR_RETURN(const int product, Product());
    Factors factors{.type = instructions_[product].type};
    std::vector<int> open = {product};
    while (!open.empty()) {
      const int n = open.back();
      open.pop_back();
      const ScalarInstruction& instruction = instructions_[n];
      const std::vector<int>& operands = instruction.operands;
      if ((uses_[n] & reduced_) == 0) {
        factors.kept.push_back(n);
      } else if (instruction.op == ScalarOp::kMul) {
        open.insert(open.end(), operands.rbegin(), operands.rend());
      } else if (instruction.op == ScalarOp::kNeg) {
        factors.is_negated = !factors.is_negated;
        open.push_back(operands[0]);
      } else if (instruction.op == ScalarOp::kDiv && IsFloatingPoint(instruction.type) &&
                 (uses_[operands[1]] & reduced_) == 0) {
        factors.divisors.push_back(operands[1]);
        open.push_back(operands[0]);
      } else {
        factors.terms.push_back(n);
      }
      if (factors.terms.size() + open.size() > kMostFactors) {
        return InvalidArgument("f is a product of more than ", kMostFactors, " factors");
      }
    }
    if (factors.terms.size() >= 2) return factors;
    if (factors.terms.empty()) return InvalidArgument("f depends on no reduced dimension");
    int term = factors.terms[0];
    while (instructions_[term].op == ScalarOp::kCast || instructions_[term].op == ScalarOp::kNeg) {
      term = instructions_[term].operands[0];
    }
    const ScalarOp op = instructions_[term].op;
    if (op == ScalarOp::kAdd || op == ScalarOp::kSub) {
      return InvalidArgument("f is a sum, and sums of products are not taken apart");
    }
    return InvalidArgument("f is no product of two values that depend on reduced dimensions");
  }

  // ---- Sides ----

  DimensionSet UsesOf(const Factors& factors, uint32_t side) const {
    DimensionSet uses = 0;
    for (const int n : Members(side)) uses |= uses_[factors.terms[n]];
    return uses;
  }

  Result<Sides> SidesOf(const Factors& factors) const {
    const uint32_t all = (uint32_t{1} << factors.terms.size()) - 1;
    std::optional<Sides> best;
    std::pair<int64_t, int64_t> least;               // points of batches, and of both operands
    std::optional<DimensionSet> fewest_of_one_side;  // that no operand may have alone
    // The first factor is one of a.
    for (uint32_t b = 2; b <= all; b += 2) {
      const uint32_t a = all & ~b;
      const DimensionSet by_a = UsesOf(factors, a), by_b = UsesOf(factors, b);
      if ((by_a & ~by_b & kept_) == 0 || (by_b & ~by_a & kept_) == 0) continue;
      const DimensionSet of_one_side = reduced_ & ~(by_a & by_b);
      if (of_one_side != 0) {
        if (!fewest_of_one_side.has_value() ||
            std::popcount(of_one_side) < std::popcount(*fewest_of_one_side)) {
          fewest_of_one_side = of_one_side;
        }
        continue;
      }
      const std::pair<int64_t, int64_t> points = {
          PointsAlong(e_, Members(by_a & by_b & kept_)),
          PointsAlong(e_, Members(by_a)) + PointsAlong(e_, Members(by_b))};
      if (best.has_value() && points >= least) continue;
      best = {a, b};
      least = points;
    }
    if (best.has_value()) return *best;
    if (fewest_of_one_side.has_value()) {
      return InvalidArgument("not both operands depend on ", NamesOf(*fewest_of_one_side),
                             ", which ", std::popcount(*fewest_of_one_side) == 1 ? "is" : "are",
                             " reduced");
    }
    return InvalidArgument("at most one operand has a kept dimension of its own");
  }

  std::string NamesOf(DimensionSet set) const {
    return absl::StrJoin(Members(set), ", ", [&](std::string* out, int d) {
      absl::StrAppend(out, e_.dimensions()[d].name);
    });
  }

  std::vector<int64_t> OutputStrides() const { return e_.outputs()[0].Linearized(0).coefficients; }

  // Whether a rather than b has the dimension with the least stride of the output.
  bool IsTurned(DimensionSet a, DimensionSet b) const {
    const std::vector<int> kept = Descending(Members((a ^ b) & kept_), OutputStrides());
    return IsIn(a, kept.back());
  }

  // Dimensions by strides, those without one as they are, first.
  static std::vector<int> Descending(std::vector<int> dimensions,
                                     const std::vector<int64_t>& strides) {
    std::ranges::stable_sort(dimensions, [&](int d, int other) {
      return std::abs(strides[d]) > std::abs(strides[other]);
    });
    return dimensions;
  }

  // ---- Operands ----

  bool IsReduced(int d) const { return d >= 0 && IsIn(reduced_, d); }

  AffineIndex OffsetOf(int parameter) const {
    const Expression::AccessRef ref = e_.input_access(parameter);
    return e_.inputs()[ref.buffer].Linearized(ref.access, ref.field);
  }

  // Of every dimension that of the first access that has one.
  std::vector<int64_t> StridesOf(const ContractionOperand& operand) const {
    std::vector<int64_t> strides(e_.rank());
    for (const int p : operand.parameters) {
      if (e_.is_index(p)) continue;
      const AffineIndex offset = OffsetOf(p);
      for (int d = 0; d < e_.rank(); ++d) {
        if (strides[d] == 0) strides[d] = offset.coefficients[d];
      }
    }
    return strides;
  }

  // The longest of those that are (q and s of an image's q + s).
  int ContiguousOf(int parameter) const {
    const AffineIndex offset = OffsetOf(parameter);
    int longest = -1;
    for (const int d : Members(kept_ | reduced_)) {
      if (offset.coefficients[d] != 1) continue;
      if (longest < 0 || e_.dimensions()[d].size > e_.dimensions()[longest].size) longest = d;
    }
    return longest;
  }

  Result<ContractionOperand> OperandOf(const char* name, const Factors& factors,
                                       uint32_t side) const {
    std::vector<int> terms;
    for (const int n : Members(side)) terms.push_back(factors.terms[n]);
    if (terms.size() == 1) {
      int* n = terms.data();
      while (instructions_[*n].op == ScalarOp::kCast) {
        const int inner = instructions_[*n].operands[0];
        if (!IsWidening(instructions_[*n].type, instructions_[inner].type)) break;
        *n = inner;
      }
    }
    const ScalarType type = instructions_[terms[0]].type;
    MDH_ASSIGN_OR_RETURN(ScalarFunction function, ProductOf(name, type, terms, {}, false));
    ContractionOperand operand{.function = std::move(function)};
    for (const ScalarInstruction& instruction : operand.function.instructions()) {
      if (instruction.op == ScalarOp::kParameter)
        operand.parameters.push_back(instruction.parameter);
    }
    std::ranges::sort(operand.parameters);
    const ScalarInstruction& value =
        operand.function.instructions()[operand.function.result_instructions()[0]];
    if (value.op == ScalarOp::kParameter && !e_.is_index(value.parameter)) {
      operand.loaded = value.parameter;
      operand.contiguous = ContiguousOf(value.parameter);
    }
    return operand;
  }

  Result<std::optional<ScalarFunction>> FactorOf(const Factors& factors) const {
    if (factors.kept.empty() && factors.divisors.empty() && !factors.is_negated) {
      return std::nullopt;
    }
    return ProductOf("factor", factors.type, factors.kept, factors.divisors, factors.is_negated);
  }

  // The product of these instructions, divided by others, as a function.
  Result<ScalarFunction> ProductOf(const char* name, ScalarType type, std::vector<int> factors,
                                   const std::vector<int>& divisors, bool is_negated) const {
    std::vector<ScalarInstruction> all = instructions_;
    const auto append = [&](ScalarInstruction instruction) {
      all.push_back(std::move(instruction));
      return static_cast<int>(all.size()) - 1;
    };
    if (factors.empty()) {
      const int64_t one = is_negated ? -1 : 1;
      is_negated = false;
      const ScalarValue value = IsInteger(type) ? ScalarValue::Integer(type, one)
                                                : ScalarValue::Real(type, static_cast<double>(one));
      factors.push_back(append({ScalarOp::kConstant, type, {}, -1, value}));
    }
    int product = factors[0];
    for (size_t n = 1; n < factors.size(); ++n) {
      product = append({ScalarOp::kMul, type, {product, factors[n]}});
    }
    for (const int divisor : divisors) product = append({ScalarOp::kDiv, type, {product, divisor}});
    if (is_negated) product = append({ScalarOp::kNeg, type, {product}});
    return ScalarFunction::Create(name, f_.parameters(),
                                  NamedBeside(f_.parameters(), {{name, type}}), std::move(all),
                                  {product});
  }

  const Expression& e_;
  const ScalarFunction& f_;
  const std::vector<ScalarInstruction>& instructions_;
  const std::vector<DimensionSet> uses_;  // per instruction
  const DimensionSet reduced_, kept_;
};

}  // namespace

Result<ContractionForm> FindContractionForm(const Expression& expression) {
  return ContractionFinder(expression).Find();
}

bool IsSquareOfOne(const Expression& e, const ContractionForm& form, int parameter_a,
                   int parameter_b) {
  const Expression::AccessRef a = e.input_access(parameter_a), b = e.input_access(parameter_b);
  if (a.buffer != b.buffer || a.field != b.field || form.m.size() != form.n.size()) return false;
  const Buffer& buffer = e.inputs()[a.buffer];
  for (size_t x = 0; x < buffer.extents.size(); ++x) {
    // That of B, as it were with dimensions along m.
    AffineIndex swapped = buffer.accesses[b.access].indices[x];
    for (size_t d = 0; d < form.m.size(); ++d) {
      if (e.dimensions()[form.m[d]].size != e.dimensions()[form.n[d]].size) return false;
      std::swap(swapped.coefficients[form.m[d]], swapped.coefficients[form.n[d]]);
    }
    if (!(swapped == buffer.accesses[a.access].indices[x])) return false;
  }
  return true;
}

SplitIndex Split(const Expression& expression, const AffineIndex& index) {
  SplitIndex split{index, index};
  split.reduced.constant = 0;
  for (int d = 0; d < expression.rank(); ++d) {
    (expression.is_reduction(d) ? split.kept : split.reduced).coefficients[d] = 0;
  }
  return split;
}

int NeighboursAlong(const Expression& e, const AffineIndex& offset, int d, int most) {
  if (offset.coefficients[d] != 1) return 1;
  const auto fits = [&](int64_t width) {
    if (e.dimensions()[d].size % width != 0 || offset.constant % width != 0) return false;
    for (int x = 0; x < e.rank(); ++x) {
      if (x != d && e.dimensions()[x].size > 1 && offset.coefficients[x] % width != 0) return false;
    }
    return true;
  };
  int width = most;
  while (!fits(width)) width /= 2;
  return width;
}

bool HasAllValues(ScalarType type, const ScalarFunction& function) {
  const std::vector<ScalarInstruction>& instructions = function.instructions();
  std::vector<bool> has(instructions.size());
  for (size_t n = 0; n < instructions.size(); ++n) {
    const ScalarInstruction& i = instructions[n];
    has[n] = HoldsAllValues(type, i.type);
    const auto all_from = [&](size_t first) {
      return std::all_of(i.operands.begin() + static_cast<int64_t>(first), i.operands.end(),
                         [&](int operand) { return has[operand]; });
    };
    if (has[n] || !IsFloatingPoint(i.type)) continue;
    switch (i.op) {
      case ScalarOp::kConstant: {
        const double value = i.constant.as_double();
        has[n] = !ScalarValue::IsTooLarge(type, value) &&
                 ScalarValue::Real(type, value).as_double() == value;
        break;
      }
      case ScalarOp::kCast:
      case ScalarOp::kNeg:
      case ScalarOp::kAbs:
      case ScalarOp::kMin:
      case ScalarOp::kMax:
      case ScalarOp::kFmin:
      case ScalarOp::kFmax:
        has[n] = all_from(0);
        break;
      case ScalarOp::kSelect:
        has[n] = all_from(1);
        break;
      default:
        break;
    }
  }
  const std::vector<int>& results = function.result_instructions();
  return std::ranges::all_of(results, [&](int result) { return has[result]; });
}

std::string ToText(const Expression& expression, const ContractionForm& form) {
  const auto names = [&](const std::vector<int>& dimensions) {
    return absl::StrJoin(dimensions, ",", [&](std::string* out, int d) {
      absl::StrAppend(out, expression.dimensions()[d].name);
    });
  };
  std::string text;
  if (!form.batch.empty()) {
    absl::StrAppend(&text, "batch ", names(form.batch), " of ", PointsAlong(expression, form.batch),
                    "; ");
  }
  for (const auto& [name, dimensions] :
       {std::pair("m ", &form.m), std::pair("n ", &form.n), std::pair("k ", &form.k)}) {
    absl::StrAppend(&text, name, names(*dimensions), " of ", PointsAlong(expression, *dimensions),
                    "; ");
  }
  const auto operand = [&](const char* name, const ContractionOperand& of) {
    absl::StrAppend(&text, name, Name(of.type()), of.loaded < 0 ? ", computed" : "");
    if (of.contiguous >= 0) absl::StrAppend(&text, " along ", names({of.contiguous}));
  };
  operand("A ", form.a);
  operand("; B ", form.b);
  if (form.factor.has_value()) absl::StrAppend(&text, "; factor");
  absl::StrAppend(&text, "; sums in ", Name(form.combined));
  return text;
}

}  // namespace mdh
