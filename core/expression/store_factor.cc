#include "core/expression/store_factor.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/scalar/free_names.h"
#include "core/scalar/value_builder.h"

namespace mdh {
namespace {

int Product(int a, int b, ValueBuilder* builder) {
  return builder->Append({ScalarOp::kMul, builder->type(a), {a, b}});
}

// A * B, in the type that is combined.
Result<ScalarFunction> ProductOfOperands(const ScalarFunction& f, const ContractionForm& form) {
  ValueBuilder builder;
  std::vector<int> arguments;
  for (size_t p = 0; p < f.parameters().size(); ++p) {
    arguments.push_back(
        builder.Append({ScalarOp::kParameter, f.parameters()[p].type, {}, static_cast<int>(p)}));
  }
  const auto operand = [&](const ContractionOperand& of) {
    return builder.Converted(builder.Apply(of.function, arguments)[0], form.product);
  };
  const int a = operand(form.a), b = operand(form.b);
  const int product = builder.Converted(Product(a, b, &builder), form.combined);
  return ScalarFunction::Create(f.name(), f.parameters(), f.results(), builder.instructions(),
                                {product});
}

// The store function to be: what it reads, and its values by what they are.
class StoreBuilder {
 public:
  explicit StoreBuilder(const Expression& expression) : e_(expression) {
    if (e_.store() != nullptr) {
      inputs_ = e_.store()->inputs;
      index_dimensions_ = e_.store()->index_dimensions;
    }
  }

  Result<StoreFunction> Build(const ScalarFunction& factor, ScalarType product) {
    CollectReads(factor);
    const std::vector<TypedName>& results = e_.function().results();
    parameters_ = {{FreeName("sum"), results[0].type}};
    const int sum = builder_.Append({ScalarOp::kParameter, results[0].type, {}, 0});
    AddParameters();
    std::vector<int> arguments;
    for (int p = 0; p < static_cast<int>(factor.parameters().size()); ++p) {
      arguments.push_back(ArgumentOfFactor(p));
    }
    const int scaled =
        Product(builder_.Converted(sum, product), builder_.Apply(factor, arguments)[0], &builder_);
    const std::vector<int> stored = Stored(builder_.Converted(scaled, results[0].type));
    MDH_ASSIGN_OR_RETURN(
        ScalarFunction function,
        ScalarFunction::Create("store", parameters_, NamedBeside(parameters_, e_.stored()),
                               builder_.instructions(), stored));
    return StoreFunction{std::move(function), std::move(inputs_), std::move(index_dimensions_)};
  }

 private:
  struct Read {
    int input, access, field;
    friend bool operator==(const Read&, const Read&) = default;
  };

  // Of an access of inp_view, which stands among the inputs of the store function afterwards.
  Read ReadOf(const Expression::AccessRef& ref) {
    const Buffer& read = e_.inputs()[ref.buffer];
    auto input = std::ranges::find(inputs_, read.name, &Buffer::name);
    if (input == inputs_.end()) {
      inputs_.push_back(read);
      input = inputs_.end() - 1;
      input->accesses.clear();
    }
    IndexFunction index = read.accesses[ref.access];
    for (AffineIndex& one : index.indices) {
      for (int d = 0; d < e_.rank(); ++d) {
        if (e_.is_reduction(d)) one.coefficients[d] = 0;  // which has one point
      }
    }
    auto access = std::ranges::find(input->accesses, index);
    if (access == input->accesses.end()) {
      input->accesses.push_back(index);
      access = input->accesses.end() - 1;
    }
    return {static_cast<int>(input - inputs_.begin()),
            static_cast<int>(access - input->accesses.begin()), ref.field};
  }

  void CollectReads(const ScalarFunction& factor) {
    reads_.assign(factor.parameters().size(), {-1, 0, 0});
    for (const ScalarInstruction& instruction : factor.instructions()) {
      if (instruction.op != ScalarOp::kParameter) continue;
      const int p = instruction.parameter;
      if (!e_.is_index(p)) {
        reads_[p] = ReadOf(e_.input_access(p));
      } else {
        index_dimensions_.push_back(e_.index_dimension(p));
      }
    }
    std::ranges::sort(index_dimensions_);
    index_dimensions_.erase(std::unique(index_dimensions_.begin(), index_dimensions_.end()),
                            index_dimensions_.end());
  }

  std::string FreeName(std::string name) const {
    const auto is_taken = [&] {
      const auto has_name = [&](const auto& named) { return named.name == name; };
      return std::ranges::any_of(parameters_, has_name) ||
             std::ranges::any_of(e_.dimensions(), has_name) ||
             std::ranges::any_of(e_.stored(), has_name);
    };
    while (is_taken()) name += "_";
    return name;
  }

  int AddParameter(std::string name, ScalarType type) {
    parameters_.push_back({std::move(name), type});
    return builder_.Append(
        {ScalarOp::kParameter, type, {}, static_cast<int>(parameters_.size()) - 1});
  }

  void AddParameters() {
    for (int b = 0; b < static_cast<int>(inputs_.size()); ++b) {
      for (int a = 0; a < static_cast<int>(inputs_[b].accesses.size()); ++a) {
        const std::string name = FreeName(absl::StrCat("x", read_values_.size() + 1));
        const ElementType& type = inputs_[b].type;
        for (int f = 0; f < static_cast<int>(type.fields().size()); ++f) {
          const ElementType::Field& field = type.fields()[f];
          const std::string of_field =
              type.is_record() ? absl::StrCat(name, ".", field.name) : name;
          read_values_.push_back({{b, a, f}, AddParameter(of_field, field.type)});
        }
      }
    }
    for (const int d : index_dimensions_) {
      index_values_.push_back(AddParameter(e_.dimensions()[d].name, ScalarType::kInt64));
    }
  }

  int ValueOf(const Read& read) const {
    const auto value =
        std::ranges::find_if(read_values_, [&](const auto& known) { return known.first == read; });
    return value->second;
  }

  int IndexOf(int dimension) const {
    const auto d = std::ranges::find(index_dimensions_, dimension);
    return index_values_[d - index_dimensions_.begin()];
  }

  // -1: the factor does not read it.
  int ArgumentOfFactor(int p) const {
    if (!e_.is_index(p)) return reads_[p].input < 0 ? -1 : ValueOf(reads_[p]);
    const int d = e_.index_dimension(p);
    const bool is_read = std::ranges::binary_search(index_dimensions_, d);
    return is_read ? IndexOf(d) : -1;
  }

  std::vector<int> Stored(int sum) {
    if (e_.store() == nullptr) return {sum};
    const ScalarFunction& store = e_.store()->function;
    std::vector<int> arguments;
    for (int p = 0; p < static_cast<int>(store.parameters().size()); ++p) {
      switch (e_.store_parameter(p)) {
        case Expression::StoreParameter::kResult:
          arguments.push_back(sum);
          break;
        case Expression::StoreParameter::kAccess: {
          const Expression::AccessRef ref = e_.store_access(p);
          arguments.push_back(ValueOf({ref.buffer, ref.access, ref.field}));
          break;
        }
        case Expression::StoreParameter::kIndex:
          arguments.push_back(IndexOf(e_.store_index_dimension(p)));
          break;
      }
    }
    return builder_.Apply(store, arguments);
  }

  const Expression& e_;
  std::vector<Buffer> inputs_;
  std::vector<int> index_dimensions_;
  std::vector<Read> reads_;  // per parameter of the factor
  ValueBuilder builder_;
  std::vector<TypedName> parameters_;
  std::vector<std::pair<Read, int>> read_values_;
  std::vector<int> index_values_;  // per index dimension
};

}  // namespace

Result<Expression> WithFactorStored(const Expression& expression, const ContractionForm& form) {
  if (!form.factor.has_value()) return expression;
  ExpressionSpec spec = expression.spec();
  MDH_ASSIGN_OR_RETURN(spec.store, StoreBuilder(expression).Build(*form.factor, form.product));
  MDH_ASSIGN_OR_RETURN(spec.function, ProductOfOperands(expression.function(), form));
  return Expression::Create(std::move(spec));
}

}  // namespace mdh
