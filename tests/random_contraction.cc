#include "tests/random_contraction.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/text/pipeline_parser.h"
#include "tests/random_type.h"
#include "tests/random_view.h"

namespace mdh {
namespace {

enum class DimensionRole { kM, kN, kK, kBatch };

struct RoledDimensions {
  std::vector<Dimension> dimensions;
  std::vector<DimensionRole> roles;

  std::vector<int> With(const std::vector<DimensionRole>& wanted) const {
    std::vector<int> found;
    for (size_t d = 0; d < roles.size(); ++d) {
      if (std::find(wanted.begin(), wanted.end(), roles[d]) != wanted.end()) {
        found.push_back(static_cast<int>(d));
      }
    }
    return found;
  }
};

RoledDimensions RandomRoles(Rng& rng, const RandomContractionOptions& options) {
  std::vector<DimensionRole> roles = {DimensionRole::kM, DimensionRole::kN, DimensionRole::kK};
  if (options.defect == ContractionDefect::kOneSide) roles.push_back(DimensionRole::kK);
  const int64_t more = Below(rng, 4);
  for (int64_t n = 0; n < more; ++n) {
    roles.push_back(AnyOf(rng, std::vector{DimensionRole::kM, DimensionRole::kN, DimensionRole::kK,
                                           DimensionRole::kK, DimensionRole::kBatch}));
  }
  Shuffle(rng, roles);
  const std::vector<int64_t> sizes = {2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 24, 32, 33};
  RoledDimensions found;
  int64_t points = 1;
  for (const DimensionRole role : roles) {
    const auto left = static_cast<int64_t>(roles.size() - found.roles.size() - 1);
    int64_t size = AnyOf(rng, sizes);
    // All have two points or more.
    while (size > 2 && points * size << left > options.max_points) size = (size + 1) / 2;
    points *= size;
    found.dimensions.push_back({absl::StrCat("i", found.dimensions.size() + 1), size});
    found.roles.push_back(role);
  }
  // One that nothing is made of.
  if (Below(rng, 6) == 0) {
    found.dimensions.push_back({absl::StrCat("i", found.dimensions.size() + 1), 1});
    found.roles.push_back(
        AnyOf(rng, std::vector{DimensionRole::kM, DimensionRole::kK, DimensionRole::kBatch}));
  }
  return found;
}

// An access that depends on all of these dimensions, from index 0 on.
IndexFunction AccessOf(Rng& rng, const RoledDimensions& roles, std::vector<int> dimensions) {
  Shuffle(rng, dimensions);
  IndexFunction access;
  for (const int d : dimensions) {
    // Two dimensions in one index, as in convolutions.
    const bool joins = !access.indices.empty() && Below(rng, 4) == 0;
    if (!joins) access.indices.push_back({std::vector<int64_t>(roles.dimensions.size(), 0), 0});
    AffineIndex& index = access.indices.back();
    const int64_t coefficient = AnyOf(rng, std::vector<int64_t>{1, 1, 1, 1, 1, 2, 3, -1});
    index.coefficients[d] = coefficient;
    if (coefficient < 0) index.constant += roles.dimensions[d].size - 1;
    if (Below(rng, 12) == 0) index.constant += 1;
  }
  return access;
}

// What operands are stored in, and what they are multiplied and combined in.
struct OperandTypes {
  ScalarType a, b, product, combined;
};

OperandTypes RandomOperandTypes(Rng& rng, ContractionDefect defect) {
  using enum ScalarType;
  if (defect == ContractionDefect::kRounded) {
    return AnyOf(rng, std::vector<OperandTypes>{{kFloat16, kFloat16, kFloat16, kFloat32},
                                                {kInt8, kInt8, kInt8, kInt32},
                                                {kBfloat16, kBfloat16, kBfloat16, kFloat64}});
  }
  return AnyOf(rng, std::vector<OperandTypes>{{kFloat32, kFloat32, kFloat32, kFloat32},
                                              {kFloat64, kFloat64, kFloat64, kFloat64},
                                              {kFloat16, kFloat16, kFloat32, kFloat32},
                                              {kBfloat16, kBfloat16, kFloat32, kFloat32},
                                              {kBfloat16, kBfloat16, kBfloat16, kBfloat16},
                                              {kFloat16, kFloat16, kFloat16, kFloat16},
                                              {kFloat16, kFloat16, kFloat32, kFloat16},
                                              {kFloat8E4m3, kFloat8E4m3, kFloat32, kFloat32},
                                              {kFloat8E5m2, kFloat8E4m3, kFloat32, kFloat32},
                                              {kInt8, kFloat16, kFloat32, kFloat32},
                                              {kInt8, kInt8, kInt32, kInt32},
                                              {kUint8, kInt8, kInt32, kInt32},
                                              {kInt8, kUint8, kInt32, kInt32},
                                              {kUint8, kUint8, kInt32, kInt32},
                                              {kUint8, kUint8, kUint32, kUint32},
                                              {kInt8, kInt8, kInt64, kInt32},
                                              {kInt8, kInt8, kInt8, kInt8}});
}

// f of a contraction, from its loads.
class ContractionFunction {
 public:
  ContractionFunction(Rng& rng, const RandomContractionOptions& options, ScalarType product)
      : rng_(rng), options_(options), product_(product) {}

  int Load(ScalarType type, const std::string& name) {
    parameters_.push_back({name, type});
    const int number = static_cast<int>(parameters_.size()) - 1;
    return Append({ScalarOp::kParameter, type, {}, number});
  }

  // What is loaded, or something of it that is as small, in the type of the products.
  int Operand(int loaded) {
    const bool before = Below(rng_, 2) == 0;
    if (before) loaded = Computed(loaded);
    const int converted = Converted(loaded, product_);
    return before ? converted : Computed(converted);
  }

  int Product(int a, int b) {
    if (Below(rng_, 2) == 0) std::swap(a, b);
    return Append({ScalarOp::kMul, product_, {a, b}});
  }
  int Sum(int a, int b) { return Append({ScalarOp::kAdd, product_, {a, b}}); }
  int Negated(int n) { return Append({ScalarOp::kNeg, product_, {n}}); }
  int Twice(int n) {
    const int two = Constant(2);
    return Product(n, two);
  }
  int Converted(int n, ScalarType type) {
    return type_of(n) == type ? n : Append({ScalarOp::kCast, type, {n}});
  }

  Result<ScalarFunction> Finish(const std::vector<int>& values) {
    std::vector<TypedName> results;
    for (const int n : values) {
      results.push_back({absl::StrCat("y", results.size() + 1), type_of(n)});
    }
    return ScalarFunction::Create("f", parameters_, results, instructions_, values);
  }

 private:
  ScalarType type_of(int n) const { return instructions_[n].type; }
  int Append(ScalarInstruction instruction) {
    instructions_.push_back(std::move(instruction));
    return static_cast<int>(instructions_.size()) - 1;
  }
  int Constant(int64_t value) {
    return Append({ScalarOp::kConstant, product_, {}, -1, NumberOf(product_, value)});
  }

  int Computed(int n) {
    if (!options_.computed_operands || Below(rng_, 4) != 0) return n;
    const ScalarType type = type_of(n);
    const int zero = Append({ScalarOp::kConstant, type, {}, -1, NumberOf(type, 0)});
    return Append({ScalarOp::kMax, type, {n, zero}});
  }

  Rng& rng_;
  const RandomContractionOptions& options_;
  const ScalarType product_;
  std::vector<TypedName> parameters_;
  std::vector<ScalarInstruction> instructions_;
};

Result<Expression> TryContraction(Rng& rng, const RandomContractionOptions& options) {
  using Defect = ContractionDefect;
  RoledDimensions roles = RandomRoles(rng, options);
  // Of one buffer, as Gram matrices.
  const std::vector<int> ms = roles.With({DimensionRole::kM}), ns = roles.With({DimensionRole::kN});
  const bool is_square =
      options.defect == Defect::kNone && ms.size() == ns.size() && Below(rng, 6) == 0;
  for (size_t n = 0; n < ns.size() && is_square; ++n) {
    int64_t& m_size = roles.dimensions[ms[n]].size;
    int64_t& n_size = roles.dimensions[ns[n]].size;
    m_size = n_size = std::min(m_size, n_size);
  }
  const OperandTypes types = RandomOperandTypes(rng, options.defect);
  const bool is_narrow = Info(types.product).computed != types.product;
  ContractionFunction f(rng, options, types.product);
  std::vector<Buffer> inputs;
  const auto load = [&](const std::string& name, ScalarType type, std::vector<int> dimensions) {
    Buffer buffer{name, type, {}, {AccessOf(rng, roles, std::move(dimensions))}};
    inputs.push_back(std::move(buffer));
    return f.Load(type, name);
  };
  std::vector<int> of_b = roles.With({DimensionRole::kN, DimensionRole::kK, DimensionRole::kBatch});
  if (options.defect == Defect::kNoN) of_b = roles.With({DimensionRole::kK, DimensionRole::kBatch});
  if (options.defect == Defect::kOneSide) {
    of_b.erase(std::find(of_b.begin(), of_b.end(), roles.With({DimensionRole::kK})[0]));
  }
  const int a = f.Operand(load(
      "x", types.a, roles.With({DimensionRole::kM, DimensionRole::kK, DimensionRole::kBatch})));
  const std::vector<int> ks = roles.With({DimensionRole::kK});
  // B of two buffers, each with a part of the reduced dimensions.
  const bool splits =
      !is_square && options.defect == Defect::kNone && ks.size() >= 2 && Below(rng, 3) == 0;
  int b;
  if (splits) {
    std::vector<int> first = roles.With({DimensionRole::kN, DimensionRole::kBatch}), second = first;
    for (size_t n = 0; n < ks.size(); ++n) (n == 0 ? first : second).push_back(ks[n]);
    const int left = f.Operand(load("y", types.b, first));
    b = f.Product(left, f.Operand(load("z", types.b, second)));
  } else if (is_square) {
    IndexFunction access = inputs[0].accesses[0];
    for (AffineIndex& index : access.indices) {
      for (size_t n = 0; n < ns.size(); ++n) {
        std::swap(index.coefficients[ms[n]], index.coefficients[ns[n]]);
      }
    }
    inputs[0].accesses.push_back(std::move(access));
    b = f.Operand(f.Load(types.a, "y"));
  } else {
    b = f.Operand(load("y", types.b, of_b));
  }
  const bool has_factor = options.factors && !(splits && is_narrow) && Below(rng, 4) == 0;
  int value;
  if (options.defect == Defect::kSum) {
    value = f.Sum(a, b);
  } else if (has_factor) {
    const std::vector<int> kept =
        roles.With({DimensionRole::kM, DimensionRole::kN, DimensionRole::kBatch});
    const int factor = f.Converted(load("w", types.a, kept), types.product);
    value = Below(rng, 2) == 0 ? f.Product(f.Product(a, factor), b)
                               : f.Product(factor, f.Product(a, b));
  } else {
    value = f.Product(a, b);
  }
  if (options.factors && !is_narrow && Below(rng, 6) == 0) value = f.Negated(value);
  if (options.factors && !is_narrow && options.defect != Defect::kRounded && Below(rng, 6) == 0) {
    value = f.Twice(value);
  }
  value = f.Converted(value, types.combined);
  std::vector<int> values = {value};
  if (options.defect == Defect::kTwoResults) values.push_back(f.Converted(a, types.combined));
  const PointWiseKind kind =
      options.defect == Defect::kMaximum ? PointWiseKind::kMax : PointWiseKind::kAdd;
  MDH_ASSIGN_OR_RETURN(
      const CombineOperator reduction,
      CombineOperator::PointWise(kind, std::vector<ScalarType>(values.size(), types.combined)));
  MDH_ASSIGN_OR_RETURN(ScalarFunction function, f.Finish(values));
  ExpressionSpec spec{.name = "contraction",
                      .dimensions = roles.dimensions,
                      .inputs = std::move(inputs),
                      .outputs = {},
                      .function = std::move(function),
                      .combine_operators = {}};
  for (const DimensionRole role : roles.roles) {
    spec.combine_operators.push_back(role == DimensionRole::kK ? reduction
                                                               : CombineOperator::Concat());
  }
  for (size_t r = 0; r < values.size(); ++r) {
    Buffer output{absl::StrCat("out", r + 1), types.combined, {}, {}};
    GiveAccesses(rng, spec.dimensions, spec.combine_operators, 1, Reach::kMostly, &output);
    spec.outputs.push_back(std::move(output));
  }
  MDH_ASSIGN_OR_RETURN(const Expression expression, Expression::Create(spec));
  RandomExpressionOptions views;
  views.boundaries = options.boundaries;
  views.layouts = options.layouts;
  RefineInputs(rng, views, expression.inputs(), &spec.inputs);
  RefineOutputs(rng, views, expression.outputs(), Reach::kMostly, &spec.outputs);
  return Expression::Create(std::move(spec));
}

std::string ProductText(Rng& rng, const RandomProductOptions& options) {
  constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 11, 13, 17};
  const int rank = 2 + static_cast<int>(Below(rng, 4));
  std::vector<std::string> names, sizes, combine, kept;
  int64_t points = 1;
  for (int d = 0; d < rank; ++d) {
    int64_t size = kSizes[Below(rng, std::size(kSizes))];
    while (points * size > options.most_points) size = (size + 1) / 2;
    points *= size;
    names.push_back(absl::StrCat("i", d));
    sizes.push_back(absl::StrCat(size));
    const bool is_kept = Below(rng, 2) == 0;
    combine.push_back(is_kept ? "++" : "+");
    if (is_kept) kept.push_back(names.back());
  }
  const auto random_index = [&] {
    std::vector<std::string> index;
    for (const std::string& name : names) {
      if (Below(rng, 2) == 0) index.push_back(name);
    }
    if (Below(rng, 4) == 0)
      index.push_back(absl::StrCat(AnyOf(rng, names), "+", AnyOf(rng, names)));
    return absl::StrCat("(", absl::StrJoin(index, ", "), ")");
  };
  const std::string dimensions = absl::StrCat("(", absl::StrJoin(names, ","), ") -> ");
  std::vector<std::string> inputs, types, parameters, factors;
  const int64_t count = 3 + Below(rng, options.most_factors - 2);
  for (int64_t f = 0; f < count; ++f) {
    const std::string name = absl::StrCat("x", f);
    std::string access = random_index();
    // The next factor is of the same buffer: its dimensions in another order.
    const bool is_twice = access.find(',') != std::string::npos && Below(rng, 3) == 0;
    parameters.push_back(name);
    if (is_twice && f + 1 < count) {
      const std::string inside = access.substr(1, access.size() - 2);
      std::vector<std::string> index = absl::StrSplit(inside, ", ");
      std::swap(index.front(), index.back());
      absl::StrAppend(&access, ", (", absl::StrJoin(index, ", "), ")");
      parameters.push_back(absl::StrCat("x", ++f));
    }
    inputs.push_back(absl::StrCat(name, ": ", dimensions, access));
    types.emplace_back(options.type);
  }
  for (const std::string& name : parameters) {
    factors.push_back(Below(rng, 4) == 0 ? absl::StrCat("(", name, " - 3)") : name);
  }
  return absl::StrCat("s := out_view<", options.type, ">( y: ", dimensions, "(",
                      absl::StrJoin(kept, ", "), ") ) o md_hom<", absl::StrJoin(sizes, ","),
                      ">( f, (", absl::StrJoin(combine, ","), ") ) o inp_view<",
                      absl::StrJoin(types, ","), ">( ", absl::StrJoin(inputs, ", "), " ) where f(",
                      absl::StrJoin(parameters, ", "), ") -> y { y = 3 * ",
                      absl::StrJoin(factors, " * "), " }");
}

}  // namespace

Expression RandomContraction(Rng& rng, const RandomContractionOptions& options) {
  for (;;) {
    Result<Expression> expression = TryContraction(rng, options);
    if (expression.ok()) return *std::move(expression);
  }
}

Pipeline RandomProduct(Rng& rng, const RandomProductOptions& options) {
  const std::string text = ProductText(rng, options);
  Result<Pipeline> pipeline = ParsePipeline(text);
  if (pipeline.ok()) return *std::move(pipeline);
  std::fprintf(stderr, "%s\n%s\n", text.c_str(), std::string(pipeline.status().message()).c_str());
  std::abort();
}

}  // namespace mdh
