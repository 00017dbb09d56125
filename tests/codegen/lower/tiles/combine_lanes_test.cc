#include "codegen/lower/tiles/combine_lanes.h"

#include <gmock/gmock.h>

#include <functional>

#include "absl/strings/str_cat.h"
#include "codegen/program/loop_program_walk.h"
#include "core/text/parser.h"
#include "tests/codegen/passes/pass_golden.h"
#include "tests/sanitized.h"

namespace mdh::combine_lanes_test {
namespace {

using ::testing::ElementsAre;

CombineOperator Sum() {
  return *CombineOperator::PointWise(PointWiseKind::kAdd, {ScalarType::kInt32});
}

// Not associative, so that results say which lanes were combined in which order.
CombineOperator Difference() {
  const ScalarType type = ScalarType::kInt32;
  return *CombineOperator::PointWise(
      *ScalarFunction::Create("minus", {{"a", type}, {"b", type}}, {{"c", type}},
                              {{ScalarOp::kParameter, type, {}, 0},
                               {ScalarOp::kParameter, type, {}, 1},
                               {ScalarOp::kSub, type, {0, 1}}},
                              {2}),
      std::nullopt);
}

// Several results, of elements of different sizes.
CombineOperator Smallest() {
  return ParseExpression(R"(
smallest :=
  out_view<fp64,int32>( best: (k) -> (), at: (k) -> () ) o
  md_hom<8>( f, (pick) ) o
  inp_view<fp64,int32>( x: (k) -> (k), p: (k) -> (k) )
where f(x, p) -> (b, a) { b = x; a = p },
      pick(b1, a1, b2, a2) -> (b, a) {
        let left = b1 < b2 || (b1 == b2 && a1 <= a2);
        b = left ? b1 : b2;
        a = left ? a1 : a2
      }
)")
      ->reduction();
}

std::vector<ScalarType> TypesOf(const CombineOperator& combine) {
  std::vector<ScalarType> types;
  for (const TypedName& result : combine.function().results()) types.push_back(result.type);
  return types;
}

ScalarValue Value(ScalarType type, int64_t n) {
  return IsFloatingPoint(type) ? ScalarValue::Real(type, static_cast<double>(n))
                               : ScalarValue::Integer(type, n);
}

// y0[n], y1[n], ... = the total of row n of x0, x1, ...: the results of the operator.
LoopProgram TotalsOfRows(const CombineOperator& combine, int64_t rows, int lanes) {
  const std::vector<ScalarType> types = TypesOf(combine);
  NameAllocator names;
  Block block;
  int64_t row = 0;
  for (const int run : LaneRuns(rows, lanes)) {
    std::vector<std::vector<LoopValue>> results;
    for (int64_t n = row; n < row + run; ++n) {
      results.emplace_back();
      for (size_t r = 0; r < types.size(); ++r) {
        LoopValue load = MakeLoad(absl::StrCat("x", r), Index(n * lanes), {types[r], lanes}, 1);
        results.back().push_back(NamedInBlock(std::move(load), names, block));
      }
    }
    const std::vector<LoopValue> totals = CombineLanes(combine, results, names, block);
    for (size_t r = 0; r < types.size(); ++r) {
      EXPECT_EQ(totals[r]->type, (LoopValueType{types[r], run}));
      block.push_back({StoreElements{absl::StrCat("y", r), Index(row), totals[r], 1}});
    }
    row += run;
  }
  return Program(std::move(block));
}

using Tuples = std::vector<std::vector<ScalarValue>>;

std::vector<ScalarValue> Combined(const CombineOperator& combine, const Tuples& tuples, size_t a,
                                  size_t b) {
  std::vector<ScalarValue> arguments = tuples[a];
  arguments.insert(arguments.end(), tuples[b].begin(), tuples[b].end());
  return combine.function().Evaluate(arguments);
}

// From the first to the last.
std::vector<ScalarValue> InOrder(const CombineOperator& combine, Tuples tuples) {
  for (size_t n = 1; n < tuples.size(); ++n) tuples[0] = Combined(combine, tuples, 0, n);
  return tuples[0];
}

// Lower halves with upper halves.
std::vector<ScalarValue> ByHalves(const CombineOperator& combine, Tuples tuples) {
  for (size_t half = tuples.size() / 2; half > 0; half /= 2) {
    for (size_t n = 0; n < half; ++n) tuples[n] = Combined(combine, tuples, n, n + half);
  }
  return tuples[0];
}

void ExpectTotals(
    const CombineOperator& combine,
    const std::function<std::vector<ScalarValue>(const CombineOperator&, Tuples)>& total,
    int64_t rows, int lanes) {
  const std::vector<ScalarType> types = TypesOf(combine);
  ProgramMemory memory;
  for (size_t r = 0; r < types.size(); ++r) {
    for (int64_t n = 0; n < rows * lanes; ++n) {
      const int64_t value = r == 0 ? n * n % 97 - 20 : n;
      memory[absl::StrCat("x", r)].emplace_back(Value(types[r], value));
    }
    memory[absl::StrCat("y", r)].resize(static_cast<size_t>(rows));
  }
  const LoopProgram program = TotalsOfRows(combine, rows, lanes);
  ProgramMemory result = Execute(program, memory);
  for (int64_t row = 0; row < rows; ++row) {
    Tuples tuples(static_cast<size_t>(lanes));
    for (size_t l = 0; l < tuples.size(); ++l) {
      for (size_t r = 0; r < types.size(); ++r) {
        tuples[l].push_back(*memory[absl::StrCat("x", r)][static_cast<size_t>(row * lanes) + l]);
      }
    }
    const std::vector<ScalarValue> expected = total(combine, tuples);
    for (size_t r = 0; r < types.size(); ++r) {
      EXPECT_EQ(result[absl::StrCat("y", r)][static_cast<size_t>(row)], expected[r])
          << "row " << row << " of " << rows << " with " << lanes << " lanes, result " << r << "\n"
          << ToText(program);
    }
  }
}

void ExpectTotals(int64_t rows, int lanes) {
  ExpectTotals(Sum(), InOrder, rows, lanes);
  ExpectTotals(Smallest(), InOrder, rows, lanes);
  ExpectTotals(Difference(), ByHalves, rows, lanes);
}

TEST(CombineLanesTest, LanesOfEveryResultInOrderOfTheResults) {
  for (const int lanes : {2, 4, 8, 16}) {
    for (int64_t rows = 1; rows <= 33; rows += 33 / TriedCases(33)) ExpectTotals(rows, lanes);
  }
  for (const int64_t rows : {1, 2, 16, 32}) ExpectTotals(rows, 32);
}

// Results of an operator may ignore its operands.
TEST(CombineLanesTest, ConstantResults) {
  const ScalarType type = ScalarType::kInt32;
  const ScalarInstruction zero{ScalarOp::kConstant, type, {}, -1, ScalarValue::Integer(type, 0)};
  const CombineOperator nothing = *CombineOperator::PointWise(
      *ScalarFunction::Create("nothing", {{"a", type}, {"b", type}}, {{"c", type}}, {zero}, {0}),
      std::nullopt);
  for (const int64_t rows : {1, 2, 4, 8}) ExpectTotals(nothing, InOrder, rows, 8);
}

TEST(CombineLanesTest, RunsArePowersOfTwo) {
  EXPECT_THAT(LaneRuns(12, 16), ElementsAre(8, 4));
  EXPECT_THAT(LaneRuns(33, 16), ElementsAre(16, 16, 1));
  EXPECT_THAT(LaneRuns(7, 2), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(LaneRuns(0, 8), ElementsAre());
}

TEST(CombineLanesTest, SharesCombinationsAmongResults) {
  EXPECT_EQ(LaneCombinations(1, 16), 4);
  EXPECT_EQ(LaneCombinations(16, 16), 15);
  EXPECT_EQ(LaneCombinations(4, 16), 3 + 2);
  EXPECT_EQ(LaneCombinations(12, 16), (7 + 1) + (3 + 2));
  for (int64_t rows = 1; rows <= 33; ++rows) {
    const LoopProgram program = TotalsOfRows(Sum(), rows, 8);
    int64_t combinations = 0;
    Visit(program.stages[0].body, {.value = [&](const ValueNode& value) {
            combinations += std::holds_alternative<LoopOperation>(value.form) ? 1 : 0;
          }});
    EXPECT_EQ(combinations, LaneCombinations(rows, 8)) << rows;
  }
}

TEST(CombineLanesTest, ScalarsAsLanesOfAVector) {
  const LoopValue joined = MakeJoinLanes({Number(3), Number(5)});
  EXPECT_EQ(joined->type, (LoopValueType{ScalarType::kInt32, 2}));
  EXPECT_EQ(ToText(joined), "join(3, 5)");
  EXPECT_EQ(MakeJoinLanes({Number(3)})->type.lanes, 1);
  const LoopProgram program = Program({Set("y", 0, joined)});
  EXPECT_EQ(Execute(program, {{"y", Numbered(2)}}),
            (ProgramMemory{{"y",
                            {ScalarValue::Integer(ScalarType::kInt32, 3),
                             ScalarValue::Integer(ScalarType::kInt32, 5)}}}));
}

TEST(CombineLanesTest, Golden) {
  std::string text;
  for (const int64_t rows : {1, 4, 8}) {
    absl::StrAppend(&text, "---- ", rows, " of 8 lanes ----\n",
                    ToText(TotalsOfRows(Sum(), rows, 8).stages[0].body));
  }
  absl::StrAppend(&text, "---- 2 of 4 lanes, two values each ----\n",
                  ToText(TotalsOfRows(Smallest(), 2, 4).stages[0].body));
  ExpectGoldenFile("passes/combine_lanes.txt", text);
}

}  // namespace
}  // namespace mdh::combine_lanes_test
