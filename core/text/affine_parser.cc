// Recursive descent over sizes and affine indices, which are evaluated on the way.
#include "core/text/affine_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

class AffineParser {
 public:
  AffineParser(TokenStream* stream, const AffineNames& names) : stream_(*stream), names_(names) {}

  Result<AffineIndex> Sum() {
    MDH_ASSIGN_OR_RETURN(AffineIndex sum, Product());
    while (stream_.Peek().Is("+") || stream_.Peek().Is("-")) {
      const Token op = stream_.Next();
      MDH_ASSIGN_OR_RETURN(AffineIndex term, Product());
      if (op.Is("-")) MDH_RETURN_IF_ERROR(Scale(op, -1, &term));
      MDH_RETURN_IF_ERROR(Add(op, term, &sum));
    }
    return sum;
  }

 private:
  Result<AffineIndex> Product() {
    MDH_ASSIGN_OR_RETURN(AffineIndex product, Negated());
    while (stream_.Peek().Is("*") || stream_.Peek().Is("/")) {
      const Token op = stream_.Next();
      MDH_ASSIGN_OR_RETURN(AffineIndex factor, Negated());
      if (op.Is("/")) {
        MDH_RETURN_IF_ERROR(Divide(op, factor, &product));
        continue;
      }
      if (IsConstant(product)) std::swap(product, factor);
      if (!IsConstant(factor)) {
        return stream_.ErrorAt(op, "the product of two dimensions is not affine");
      }
      MDH_RETURN_IF_ERROR(Scale(op, factor.constant, &product));
    }
    return product;
  }

  Result<AffineIndex> Negated() {
    const Token token = stream_.Peek();
    if (!stream_.Accept("-")) return Primary();
    const TokenStream::Nesting nesting(&stream_);
    MDH_RETURN_IF_ERROR(nesting.Check());
    MDH_ASSIGN_OR_RETURN(AffineIndex operand, Negated());
    MDH_RETURN_IF_ERROR(Scale(token, -1, &operand));
    return operand;
  }

  Result<AffineIndex> Primary() {
    const Token token = stream_.Peek();
    AffineIndex value{std::vector<int64_t>(names_.dimensions.size(), 0), 0};
    if (token.kind == Token::Kind::kInteger) {
      stream_.Next();
      if (!absl::SimpleAtoi(token.text, &value.constant)) return TooLarge(token);
      return value;
    }
    if (token.kind == Token::Kind::kName) {
      stream_.Next();
      return Named(token, std::move(value));
    }
    if (stream_.Accept("(")) {
      const TokenStream::Nesting nesting(&stream_);
      MDH_RETURN_IF_ERROR(nesting.Check());
      MDH_ASSIGN_OR_RETURN(value, Sum());
      MDH_RETURN_IF_ERROR(stream_.Expect(")"));
      return value;
    }
    return stream_.Unexpected(names_.dimensions.empty() ? "a size" : "an index");
  }

  Result<AffineIndex> Named(const Token& token, AffineIndex value) {
    const auto dimension = std::ranges::find(names_.dimensions, token.text);
    if (dimension != names_.dimensions.end()) {
      value.coefficients[dimension - names_.dimensions.begin()] = 1;
      return value;
    }
    const auto size = names_.sizes->find(std::string(token.text));
    if (size != names_.sizes->end()) {
      value.constant = size->second;
      return value;
    }
    if (names_.dimensions.empty()) return stream_.ErrorAt(token, "unknown size '", token.text, "'");
    return stream_.ErrorAt(token, "unknown dimension '", token.text, "'; the dimensions are ",
                           absl::StrJoin(names_.dimensions, ", "));
  }

  static bool IsConstant(const AffineIndex& value) {
    return std::ranges::all_of(value.coefficients, [](int64_t c) { return c == 0; });
  }

  // Applies `op` to all numbers of `value`, which may overflow.
  template <typename Op>
  Status ForEach(const Token& at, AffineIndex* value, Op op) {
    bool overflows = op(value->constant, value->coefficients.size());
    for (size_t d = 0; d < value->coefficients.size(); ++d) {
      overflows = op(value->coefficients[d], d) || overflows;
    }
    return overflows ? TooLarge(at) : absl::OkStatus();
  }

  Status Scale(const Token& at, int64_t factor, AffineIndex* value) {
    return ForEach(at, value, [&](int64_t& number, size_t) {
      return __builtin_mul_overflow(number, factor, &number);
    });
  }

  Status Add(const Token& at, const AffineIndex& term, AffineIndex* sum) {
    return ForEach(at, sum, [&](int64_t& number, size_t d) {
      const int64_t other = d < term.coefficients.size() ? term.coefficients[d] : term.constant;
      return __builtin_add_overflow(number, other, &number);
    });
  }

  Status Divide(const Token& at, const AffineIndex& divisor, AffineIndex* value) {
    if (!IsConstant(divisor) || !IsConstant(*value)) {
      return stream_.ErrorAt(at, "only sizes can be divided");
    }
    if (divisor.constant == 0) return stream_.ErrorAt(at, "division by zero");
    if (divisor.constant == -1) return Scale(at, -1, value);
    if (value->constant % divisor.constant != 0) {
      return stream_.ErrorAt(at, value->constant, " / ", divisor.constant, " has a remainder");
    }
    value->constant /= divisor.constant;
    return absl::OkStatus();
  }

  Status TooLarge(const Token& at) const {
    return stream_.ErrorOfCode(absl::StatusCode::kOutOfRange, at,
                               "the value does not fit in 63 bits");
  }

  TokenStream& stream_;
  const AffineNames& names_;
};

}  // namespace

Result<AffineIndex> ParseAffine(TokenStream* stream, const AffineNames& names) {
  return AffineParser(stream, names).Sum();
}

Result<int64_t> ParseSize(TokenStream* stream, const SizeValues& sizes) {
  MDH_ASSIGN_OR_RETURN(const AffineIndex size, ParseAffine(stream, {&sizes, {}}));
  return size.constant;
}

}  // namespace mdh
