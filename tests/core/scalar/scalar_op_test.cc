// Every operation on every type against C++ arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/scalar/scalar_function.h"
#include "tests/error_message.h"

namespace mdh::scalar_op_test {
namespace {

template <typename T>
struct TypeOf;
template <>
struct TypeOf<int8_t> {
  static constexpr ScalarType value = ScalarType::kInt8;
};
template <>
struct TypeOf<int16_t> {
  static constexpr ScalarType value = ScalarType::kInt16;
};
template <>
struct TypeOf<int32_t> {
  static constexpr ScalarType value = ScalarType::kInt32;
};
template <>
struct TypeOf<int64_t> {
  static constexpr ScalarType value = ScalarType::kInt64;
};
template <>
struct TypeOf<uint8_t> {
  static constexpr ScalarType value = ScalarType::kUint8;
};
template <>
struct TypeOf<uint16_t> {
  static constexpr ScalarType value = ScalarType::kUint16;
};
template <>
struct TypeOf<uint32_t> {
  static constexpr ScalarType value = ScalarType::kUint32;
};
template <>
struct TypeOf<uint64_t> {
  static constexpr ScalarType value = ScalarType::kUint64;
};
template <>
struct TypeOf<float> {
  static constexpr ScalarType value = ScalarType::kFloat32;
};
template <>
struct TypeOf<double> {
  static constexpr ScalarType value = ScalarType::kFloat64;
};

template <typename T>
ScalarValue ValueOf(T value) {
  return ScalarValue::Load(TypeOf<T>::value, &value);
}

template <typename T>
T Get(const ScalarValue& value) {
  T result;
  value.Store(&result);
  return result;
}

template <typename T>
std::vector<T> Samples() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> samples = {
      0, 1, 2, 3, 7, 100, Limits::max(), Limits::lowest(), static_cast<T>(Limits::max() / 2)};
  if constexpr (std::is_signed_v<T>) {
    for (T value : {T(-1), T(-2), T(-100)}) samples.push_back(value);
  }
  if constexpr (std::is_floating_point_v<T>) {
    for (T value : {T(0.1), T(-2.5), T(-0.0), Limits::infinity(), -Limits::infinity(),
                    Limits::denorm_min()}) {
      samples.push_back(value);
    }
  }
  return samples;
}

template <typename T>
void ExpectBinary(ScalarOp op, const std::function<T(T, T)>& expected) {
  for (T a : Samples<T>()) {
    for (T b : Samples<T>()) {
      const ScalarValue got = Apply(op, TypeOf<T>::value, {ValueOf(a), ValueOf(b)});
      ASSERT_EQ(got, ValueOf(expected(a, b))) << Info(op).name << " of " << +a << " and " << +b;
    }
  }
}

template <typename T>
void ExpectUnary(ScalarOp op, const std::function<T(T)>& expected) {
  for (T a : Samples<T>()) {
    ASSERT_EQ(Apply(op, TypeOf<T>::value, {ValueOf(a)}), ValueOf(expected(a)))
        << Info(op).name << " of " << +a;
  }
}

template <typename T>
void ExpectComparison(ScalarOp op, const std::function<bool(T, T)>& expected) {
  for (T a : Samples<T>()) {
    for (T b : Samples<T>()) {
      ASSERT_EQ(Apply(op, ScalarType::kBool, {ValueOf(a), ValueOf(b)}),
                ScalarValue::Bool(expected(a, b)))
          << Info(op).name << " of " << +a << " and " << +b;
    }
  }
}

template <typename T>
class AnyTypeTest : public testing::Test {};
using AllNumbers = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                                  uint64_t, float, double>;
TYPED_TEST_SUITE(AnyTypeTest, AllNumbers);

TYPED_TEST(AnyTypeTest, Comparisons) {
  using T = TypeParam;
  ExpectComparison<T>(ScalarOp::kEq, std::equal_to<T>());
  ExpectComparison<T>(ScalarOp::kNe, std::not_equal_to<T>());
  ExpectComparison<T>(ScalarOp::kLt, std::less<T>());
  ExpectComparison<T>(ScalarOp::kLe, std::less_equal<T>());
  ExpectComparison<T>(ScalarOp::kGt, std::greater<T>());
  ExpectComparison<T>(ScalarOp::kGe, std::greater_equal<T>());
}

// Of two reals, minimum and maximum of IEEE 754-2019.
TYPED_TEST(AnyTypeTest, MinAndMax) {
  using T = TypeParam;
  const auto is_less = [](T a, T b) {
    const bool are_zeros = a == b && a == 0;
    return are_zeros ? std::signbit(static_cast<double>(a)) > std::signbit(static_cast<double>(b))
                     : a < b;
  };
  ExpectBinary<T>(ScalarOp::kMin, [&](T a, T b) { return is_less(b, a) ? b : a; });
  ExpectBinary<T>(ScalarOp::kMax, [&](T a, T b) { return is_less(a, b) ? b : a; });
}

template <typename T>
class IntegerTest : public testing::Test {};
using AllIntegers =
    testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(IntegerTest, AllIntegers);

// In the unsigned type as wide as unsigned int at least, where C++ wraps.
template <typename T>
using Wrapping = std::make_unsigned_t<std::conditional_t<sizeof(T) < 4, int32_t, T>>;

TYPED_TEST(IntegerTest, ArithmeticWraps) {
  using T = TypeParam;
  using W = Wrapping<T>;
  ExpectBinary<T>(ScalarOp::kAdd, [](T a, T b) { return static_cast<T>(W(a) + W(b)); });
  ExpectBinary<T>(ScalarOp::kSub, [](T a, T b) { return static_cast<T>(W(a) - W(b)); });
  ExpectBinary<T>(ScalarOp::kMul, [](T a, T b) { return static_cast<T>(W(a) * W(b)); });
  ExpectUnary<T>(ScalarOp::kNeg, [](T a) { return static_cast<T>(W(0) - W(a)); });
  ExpectUnary<T>(ScalarOp::kAbs, [](T a) { return a < T(0) ? static_cast<T>(W(0) - W(a)) : a; });
}

TYPED_TEST(IntegerTest, DivisionIsTotal) {
  using T = TypeParam;
  const auto is_minus_one = [](T b) { return std::is_signed_v<T> && b == static_cast<T>(-1); };
  ExpectBinary<T>(ScalarOp::kDiv, [&](T a, T b) {
    if (b == 0) return T(0);
    return is_minus_one(b) ? static_cast<T>(Wrapping<T>(0) - Wrapping<T>(a))
                           : static_cast<T>(a / b);
  });
  ExpectBinary<T>(ScalarOp::kRem, [&](T a, T b) {
    return b == 0 || is_minus_one(b) ? T(0) : static_cast<T>(a % b);
  });
}

TYPED_TEST(IntegerTest, BitOperations) {
  using T = TypeParam;
  ExpectBinary<T>(ScalarOp::kBitAnd, [](T a, T b) { return static_cast<T>(a & b); });
  ExpectBinary<T>(ScalarOp::kBitOr, [](T a, T b) { return static_cast<T>(a | b); });
  ExpectBinary<T>(ScalarOp::kBitXor, [](T a, T b) { return static_cast<T>(a ^ b); });
}

template <typename T>
class RealTest : public testing::Test {};
using AllReals = testing::Types<float, double>;
TYPED_TEST_SUITE(RealTest, AllReals);

TYPED_TEST(RealTest, Arithmetic) {
  using T = TypeParam;
  ExpectBinary<T>(ScalarOp::kAdd, std::plus<T>());
  ExpectBinary<T>(ScalarOp::kSub, std::minus<T>());
  ExpectBinary<T>(ScalarOp::kMul, std::multiplies<T>());
  ExpectBinary<T>(ScalarOp::kDiv, std::divides<T>());
  ExpectBinary<T>(ScalarOp::kPow, [](T a, T b) { return std::pow(a, b); });
  ExpectBinary<T>(ScalarOp::kRem, [](T a, T b) { return std::fmod(a, b); });
  ExpectBinary<T>(ScalarOp::kAtan2, [](T a, T b) { return std::atan2(a, b); });
  ExpectBinary<T>(ScalarOp::kCopysign, [](T a, T b) { return std::copysign(a, b); });
  ExpectUnary<T>(ScalarOp::kNeg, std::negate<T>());
}

TYPED_TEST(RealTest, Functions) {
  using T = TypeParam;
  ExpectUnary<T>(ScalarOp::kAbs, [](T a) { return std::fabs(a); });
  ExpectUnary<T>(ScalarOp::kSqrt, [](T a) { return std::sqrt(a); });
  ExpectUnary<T>(ScalarOp::kRsqrt, [](T a) { return T(1) / std::sqrt(a); });
  ExpectUnary<T>(ScalarOp::kExp, [](T a) { return std::exp(a); });
  ExpectUnary<T>(ScalarOp::kLog, [](T a) { return std::log(a); });
  ExpectUnary<T>(ScalarOp::kLog2, [](T a) { return std::log2(a); });
  ExpectUnary<T>(ScalarOp::kTanh, [](T a) { return std::tanh(a); });
  ExpectUnary<T>(ScalarOp::kFloor, [](T a) { return std::floor(a); });
  ExpectUnary<T>(ScalarOp::kCeil, [](T a) { return std::ceil(a); });
  ExpectUnary<T>(ScalarOp::kSin, [](T a) { return std::sin(a); });
  ExpectUnary<T>(ScalarOp::kCos, [](T a) { return std::cos(a); });
  ExpectUnary<T>(ScalarOp::kLog1p, [](T a) { return std::log1p(a); });
  ExpectUnary<T>(ScalarOp::kExpm1, [](T a) { return std::expm1(a); });
  ExpectUnary<T>(ScalarOp::kCbrt, [](T a) { return std::cbrt(a); });
}

TEST(ScalarOpTest, MinAndMaxOfEveryRealTypeOrderZerosAndTreatNanAsTheirNamesSay) {
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    if (!IsFloatingPoint(info.type)) continue;
    const ScalarType type = info.type;
    const auto value = [&](double x) { return ScalarValue::Real(type, x); };
    const ScalarValue nan = value(NAN), zero = value(0), minus_zero = value(-0.0);
    const auto expect = [&](ScalarOp op, const ScalarValue& a, const ScalarValue& b,
                            const ScalarValue& result) {
      for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
        EXPECT_EQ(Apply(op, type, {x, y}), result)
            << Info(op).name << " " << info.name << " " << x.ToString() << " " << y.ToString();
      }
    };
    for (const double x : {1.0, -1.0, HUGE_VAL, -HUGE_VAL, 0.0}) {
      expect(ScalarOp::kMin, value(x), nan, nan);
      expect(ScalarOp::kMax, value(x), nan, nan);
      expect(ScalarOp::kFmin, value(x), nan, value(x));
      expect(ScalarOp::kFmax, value(x), nan, value(x));
    }
    for (const ScalarOp op : {ScalarOp::kMin, ScalarOp::kMax, ScalarOp::kFmin, ScalarOp::kFmax}) {
      const bool is_minimum = op == ScalarOp::kMin || op == ScalarOp::kFmin;
      expect(op, nan, nan, nan);
      expect(op, minus_zero, minus_zero, minus_zero);
      expect(op, zero, minus_zero, is_minimum ? minus_zero : zero);
      expect(op, value(2), value(-3), value(is_minimum ? -3 : 2));
      expect(op, value(HUGE_VAL), value(-HUGE_VAL), value(is_minimum ? -HUGE_VAL : HUGE_VAL));
    }
  }
}

// Casts among integers and to reals are those of C++; from reals they saturate.
template <typename From, typename To>
void ExpectCasts() {
  using Limits = std::numeric_limits<To>;
  for (From value : Samples<From>()) {
    To expected;
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      const long double truncated = std::trunc(static_cast<long double>(value));
      expected = truncated >= static_cast<long double>(Limits::max())   ? Limits::max()
                 : truncated <= static_cast<long double>(Limits::min()) ? Limits::min()
                                                                        : static_cast<To>(value);
    } else {
      expected = static_cast<To>(value);
    }
    ASSERT_EQ(Get<To>(Apply(ScalarOp::kCast, TypeOf<To>::value, {ValueOf(value)})), expected)
        << +value << " from " << Name(TypeOf<From>::value) << " to " << Name(TypeOf<To>::value);
  }
}

template <typename From>
void ExpectCastsFrom() {
  ExpectCasts<From, int8_t>();
  ExpectCasts<From, int16_t>();
  ExpectCasts<From, int32_t>();
  ExpectCasts<From, int64_t>();
  ExpectCasts<From, uint8_t>();
  ExpectCasts<From, uint16_t>();
  ExpectCasts<From, uint32_t>();
  ExpectCasts<From, uint64_t>();
  ExpectCasts<From, float>();
  ExpectCasts<From, double>();
}

TYPED_TEST(AnyTypeTest, CastsToAllTypes) { ExpectCastsFrom<TypeParam>(); }

TYPED_TEST(AnyTypeTest, CastsToAndFromBool) {
  using T = TypeParam;
  for (T value : Samples<T>()) {
    EXPECT_EQ(Apply(ScalarOp::kCast, ScalarType::kBool, {ValueOf(value)}),
              ScalarValue::Bool(value != T(0)));
  }
  EXPECT_EQ(Apply(ScalarOp::kCast, TypeOf<T>::value, {ScalarValue::Bool(true)}), ValueOf(T(1)));
  EXPECT_EQ(Apply(ScalarOp::kCast, TypeOf<T>::value, {ScalarValue::Bool(false)}), ValueOf(T(0)));
}

TYPED_TEST(IntegerTest, CastOfNanIsZero) {
  const ScalarValue nan = ScalarValue::Real(ScalarType::kFloat64, NAN);
  EXPECT_EQ(Apply(ScalarOp::kCast, TypeOf<TypeParam>::value, {nan}), ValueOf(TypeParam(0)));
}

TEST(ScalarOpTest, CastToFloatRoundsOnce) {
  // Through double this would round to even twice, and down.
  const int64_t value = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  EXPECT_EQ(Get<float>(Apply(ScalarOp::kCast, ScalarType::kFloat32, {ValueOf(value)})),
            static_cast<float>(value));
}

TEST(ScalarOpTest, OperationsOnBool) {
  for (bool a : {false, true}) {
    EXPECT_EQ(Apply(ScalarOp::kNot, ScalarType::kBool, {ScalarValue::Bool(a)}),
              ScalarValue::Bool(!a));
    for (bool b : {false, true}) {
      const std::vector<ScalarValue> operands = {ScalarValue::Bool(a), ScalarValue::Bool(b)};
      const auto apply = [&](ScalarOp op) {
        return Apply(op, ScalarType::kBool, operands).as_bool();
      };
      EXPECT_EQ(apply(ScalarOp::kAnd), a && b);
      EXPECT_EQ(apply(ScalarOp::kOr), a || b);
      EXPECT_EQ(apply(ScalarOp::kEq), a == b);
      EXPECT_EQ(apply(ScalarOp::kNe), a != b);
      EXPECT_EQ(apply(ScalarOp::kLt), a < b);
      EXPECT_EQ(apply(ScalarOp::kGe), a >= b);
    }
  }
}

TEST(ScalarOpTest, SelectTakesOneOfTwo) {
  const ScalarValue one = ValueOf<int32_t>(1), two = ValueOf<int32_t>(2);
  EXPECT_EQ(Apply(ScalarOp::kSelect, ScalarType::kInt32, {ScalarValue::Bool(true), one, two}), one);
  EXPECT_EQ(Apply(ScalarOp::kSelect, ScalarType::kInt32, {ScalarValue::Bool(false), one, two}),
            two);
}

// One row per operation, one column per type: which exist.
TEST(ScalarOpTest, ExistenceByType) {
  const auto exists = [](ScalarOp op, ScalarType type) {
    return ResultType(op, std::vector<ScalarType>(Info(op).operands, type)).ok();
  };
  for (const ScalarTypeInfo& info : AllScalarTypes()) {
    const bool is_bool = info.type == ScalarType::kBool;
    const bool is_real = IsFloatingPoint(info.type);
    for (ScalarOp op :
         {ScalarOp::kNeg, ScalarOp::kAbs, ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul,
          ScalarOp::kDiv, ScalarOp::kRem, ScalarOp::kMin, ScalarOp::kMax}) {
      EXPECT_EQ(exists(op, info.type), !is_bool) << Info(op).name << " " << info.name;
    }
    for (ScalarOp op :
         {ScalarOp::kSqrt, ScalarOp::kRsqrt, ScalarOp::kExp, ScalarOp::kLog, ScalarOp::kLog2,
          ScalarOp::kTanh, ScalarOp::kFloor, ScalarOp::kCeil, ScalarOp::kSin, ScalarOp::kCos,
          ScalarOp::kPow, ScalarOp::kFmin, ScalarOp::kFmax}) {
      EXPECT_EQ(exists(op, info.type), is_real) << Info(op).name << " " << info.name;
    }
    for (ScalarOp op : {ScalarOp::kBitAnd, ScalarOp::kBitOr, ScalarOp::kBitXor}) {
      EXPECT_EQ(exists(op, info.type), !is_bool && !is_real) << Info(op).name << " " << info.name;
    }
    for (ScalarOp op : {ScalarOp::kNot, ScalarOp::kAnd, ScalarOp::kOr, ScalarOp::kSelect}) {
      EXPECT_EQ(exists(op, info.type), is_bool) << Info(op).name << " " << info.name;
    }
    for (ScalarOp op : {ScalarOp::kEq, ScalarOp::kNe, ScalarOp::kLt, ScalarOp::kLe, ScalarOp::kGt,
                        ScalarOp::kGe}) {
      EXPECT_TRUE(exists(op, info.type)) << Info(op).name << " " << info.name;
    }
  }
}

TEST(ScalarOpTest, ErrorsNameOperationAndTypes) {
  EXPECT_EQ(ErrorMessage(ResultType(ScalarOp::kMul, {ScalarType::kFloat32, ScalarType::kInt32})),
            "operation '*' does not exist for fp32, int32");
  EXPECT_EQ(ErrorMessage(ResultType(ScalarOp::kMul, {ScalarType::kFloat32})),
            "operation '*' takes 2 operands, not 1");
  EXPECT_EQ(ErrorMessage(ResultType(ScalarOp::kCast, {ScalarType::kFloat32})),
            "the type of a cast does not follow from its operands");
  EXPECT_EQ(ErrorMessage(ResultType(ScalarOp::kSelect,
                                    {ScalarType::kInt8, ScalarType::kInt8, ScalarType::kInt8})),
            "operation '?:' does not exist for int8, int8, int8");
}

TEST(ScalarOpTest, TheTableIsComplete) {
  for (const ScalarOpInfo& info : AllScalarOps()) {
    EXPECT_EQ(&Info(info.op), &info);
    EXPECT_EQ(info.precedence > 0, info.is_infix);
    EXPECT_TRUE(!info.is_commutative || info.operands == 2);
  }
  EXPECT_EQ(AllScalarOps().size(), 48u);
}

TEST(ScalarOpTest, OperandsOfSomeOperationsMayChangePlaces) {
  for (const ScalarOp op : {ScalarOp::kMin, ScalarOp::kMax, ScalarOp::kFmin, ScalarOp::kFmax,
                            ScalarOp::kMul, ScalarOp::kEq}) {
    EXPECT_TRUE(Info(op).is_commutative) << Info(op).name;
  }
  EXPECT_FALSE(Info(ScalarOp::kSub).is_commutative);
}

}  // namespace
}  // namespace mdh::scalar_op_test
