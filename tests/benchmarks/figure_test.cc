// Cases, figures and interleaved measuring: what every group of benchmarks shares.
#include "tests/benchmarks/figure.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/text/parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/benchmarks/benchmark_case.h"
#include "tests/benchmarks/interleave.h"
#include "tests/benchmarks/loaded_library.h"
#include "tests/benchmarks/peers.h"
#include "tests/source_path.h"

namespace mdh::figure_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kCases = SourcePath("tests/benchmarks/cases.json");

Result<Expression> ExpressionOf(const BenchmarkCase& one) {
  const std::string path = SourcePath("client/expressions/") + one.expression;
  MDH_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return ParseExpression(text, one.bindings, path);
}

TEST(BenchmarkCases, CountWhatTheirExpressionsCount) {
  const Result<std::vector<BenchmarkCase>> cases = LoadCases(kCases, "*");
  ASSERT_TRUE(cases.ok()) << cases.status();
  for (const BenchmarkCase& one : *cases) {
    const Result<Expression> expression = ExpressionOf(one);
    ASSERT_TRUE(expression.ok()) << one.id << ": " << expression.status();
    // The papers count one addition too many per reduction, and no halo of a stencil.
    const double bytes = static_cast<double>(expression->CompulsoryBytes());
    EXPECT_NEAR(one.compulsory_bytes / bytes, 1.0, 0.02) << one.id;
    const double flops = static_cast<double>(expression->FloatingPointOperations());
    EXPECT_NEAR(one.flops / flops, 1.0, 0.025) << one.id;
  }
}

TEST(Figures, SayWhenASearchWasNearItsEnd) {
  const std::vector<std::pair<int64_t, int64_t>> trials = {
      {1'000'000'000, 0}, {2'000'000'000, 300}, {3'000'000'000, 110}, {5'000'000'000, 100}};
  EXPECT_EQ(SecondsToShare(trials, 0.3), 2);
  EXPECT_EQ(SecondsToShare(trials, 0.9), 3);
  EXPECT_EQ(SecondsToShare(trials, 0.95), 5);
  EXPECT_EQ(SecondsToShare({{1, 0}}, 0.9), 0);
  Figure figure;
  figure.search["trials"] = 7;
  EXPECT_THAT(ToJson({figure}), HasSubstr("\"trials\": 7"));
}

TEST(BenchmarkCases, AreChosenByPattern) {
  const Result<std::vector<BenchmarkCase>> cases = LoadCases(kCases, "matmul_10*_64");
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_THAT(*cases, SizeIs(1));
  EXPECT_EQ(cases->front().bindings.at("J"), "500");
}

TEST(BenchmarkCases, ErrorsNameFileAndPattern) {
  EXPECT_THAT(LoadCases(kCases, "nothing").status().message(), HasSubstr("matches 'nothing'"));
  EXPECT_THAT(LoadCases("/absent.json", "*").status().message(),
              HasSubstr("/absent.json cannot be read"));
  const std::string path = ::testing::TempDir() + "/mdh_bad_cases.json";
  std::ofstream(path) << R"([{"id": "x"}])";
  const Status status = LoadCases(path, "*").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(path));
  std::filesystem::remove(path);
}

TEST(Contractions, TransposedMatMulHasItsStrides) {
  const Result<std::vector<BenchmarkCase>> cases = LoadCases(kCases, "matmul_t_10_500_64");
  ASSERT_TRUE(cases.ok()) << cases.status();
  const Result<Expression> expression = ExpressionOf(cases->front());
  ASSERT_TRUE(expression.ok()) << expression.status();
  const std::optional<Contraction> found = AsContraction(*expression);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->i.size, 10);
  EXPECT_EQ(found->i.a, 1);
  EXPECT_EQ(found->i.c, 1);
  EXPECT_EQ(found->j.b, 64);
  EXPECT_EQ(found->k.a, 10);
  EXPECT_EQ(found->batch.size, 1);
}

TEST(Contractions, AStencilIsNone) {
  const Result<std::vector<BenchmarkCase>> cases = LoadCases(kCases, "jacobi3d_256");
  ASSERT_TRUE(cases.ok()) << cases.status();
  const Result<Expression> expression = ExpressionOf(cases->front());
  ASSERT_TRUE(expression.ok()) << expression.status();
  EXPECT_FALSE(AsContraction(*expression).has_value());
}

Figure ExampleFigure() {
  Figure figure;
  figure.name = "matmul_1024";
  figure.metric = "time";
  figure.value = 0.02;
  figure.unit = "s";
  figure.peers = {{"library", 0.015}};
  figure.ratio_to_best_peer = 0.75;
  figure.floor = 0.01;
  figure.ratio_to_floor = 0.5;
  figure.correct = true;
  return figure;
}

TEST(Figures, JsonHasEveryFieldAndNullForTheUnknown) {
  Figure alone = ExampleFigure();
  alone.peers.clear();
  alone.ratio_to_best_peer.reset();
  const nlohmann::json list = nlohmann::json::parse(ToJson({ExampleFigure(), alone}));
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0]["case"], "matmul_1024");
  EXPECT_EQ(list[0]["metric"], "time");
  EXPECT_EQ(list[0]["value"], 0.02);
  EXPECT_EQ(list[0]["unit"], "s");
  EXPECT_EQ(list[0]["peers"]["library"], 0.015);
  EXPECT_EQ(list[0]["ratio_to_best_peer"], 0.75);
  EXPECT_EQ(list[0]["floor"], 0.01);
  EXPECT_EQ(list[0]["ratio_to_floor"], 0.5);
  EXPECT_EQ(list[0]["correct"], true);
  EXPECT_TRUE(list[1]["peers"].empty());
  EXPECT_TRUE(list[1]["ratio_to_best_peer"].is_null());
}

TEST(Figures, UnwritableFileIsAnErrorThatNamesIt) {
  EXPECT_THAT(WriteJson({}, "/absent/figures.json").message(),
              HasSubstr("/absent/figures.json cannot be written"));
}

TEST(Figures, RowShowsPeersAndWrongResults) {
  Figure figure = ExampleFigure();
  EXPECT_THAT(TableRow(figure), HasSubstr("library 15 ms"));
  figure.correct = false;
  EXPECT_THAT(TableRow(figure), HasSubstr("NO"));
}

TEST(Interleaving, CallsEveryContenderInEveryRound) {
  std::vector<int> calls(2);
  const std::vector<std::function<void()>> contenders = {[&] { ++calls[0]; }, [&] { ++calls[1]; }};
  const auto times = MeasureInterleaved(
      contenders, {.min_rounds = 3, .max_rounds = 5, .duration_ns = 0, .window_ns = 1000});
  ASSERT_THAT(times, SizeIs(2));
  EXPECT_THAT(times[0], SizeIs(3));
  EXPECT_THAT(times[1], SizeIs(3));
  EXPECT_GE(calls[0], 6);
  EXPECT_GE(calls[1], 6);
}

// One that empties the caches must not do so before the same other one in every round.
TEST(Interleaving, ComesAfterEveryOther) {
  std::vector<int> order;
  std::vector<std::function<void()>> contenders;
  for (int c = 0; c < 3; ++c) {
    contenders.push_back([&order, c] {
      if (order.empty() || order.back() != c) order.push_back(c);
    });
  }
  MeasureInterleaved(contenders,
                     {.min_rounds = 9, .max_rounds = 9, .duration_ns = 0, .window_ns = 1});
  std::set<std::pair<int, int>> neighbours;
  for (size_t n = 1; n < order.size(); ++n) neighbours.insert({order[n - 1], order[n]});
  EXPECT_THAT(neighbours, SizeIs(6));
}

TEST(Interleaving, MediansOfTimesAndOfRatios) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(MedianRatio({2, 6, 4}, {1, 2, 4}), 2);
}

// One loaded in place of the other would let a kernel be its own judge.
TEST(LoadedLibraries, OfOneNameAreDifferent) {
  const auto value_of = [](const LoadedLibrary& library) {
    return reinterpret_cast<int (*)()>(library.Symbol("value"))();
  };
  const auto compile = [](const std::string& source) {
    return LoadedLibrary::Compile(source, Compiler::kGcc, {"-O1"}, ::testing::TempDir(), "library");
  };
  const Result<LoadedLibrary> one = compile("int value(void) { return 1; }\n");
  const Result<LoadedLibrary> two = compile("int value(void) { return 2; }\n");
  ASSERT_TRUE(one.ok() && two.ok()) << one.status() << two.status();
  EXPECT_EQ(value_of(*one), 1);
  EXPECT_EQ(value_of(*two), 2);
  EXPECT_EQ(one->Symbol("absent"), nullptr);
}

TEST(LoadedLibraries, CompilersMessagesArePassedOn) {
  const Status status = LoadedLibrary::Compile("int value(void) { return absent; }\n",
                                               Compiler::kGcc, {}, ::testing::TempDir(), "wrong")
                            .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("undeclared"));
}

}  // namespace
}  // namespace mdh::figure_test
