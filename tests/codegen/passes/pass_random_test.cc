// Random programs compute the same before and after every pass, and no threads race.
#include <random>

#include "codegen/passes/pass_async_copies.h"
#include "codegen/passes/pass_double_buffer.h"
#include "codegen/passes/pass_hoist_guards.h"
#include "codegen/passes/pass_hoist_indices.h"
#include "codegen/passes/pass_simplify.h"
#include "codegen/passes/pass_unroll.h"
#include "codegen/passes/pass_vectorize_copies.h"
#include "codegen/passes/passes.h"
#include "tests/codegen/passes/pass_golden.h"
#include "tests/fresh_seed.h"
#include "tests/sanitized.h"

namespace mdh::pass_random_test {
namespace {

constexpr int64_t kThreads = 4;
constexpr int64_t kInput = 256;  // elements of x
constexpr int64_t kOwn = 16;     // elements of y that belong to one thread
constexpr int64_t kShared = 16;
constexpr int64_t kPrivate = 8;

// Blocks of 4 threads that copy parts of x to shared memory and compute with them and with private
// arrays, in loops and branches of all kinds. All indices are non-negative.
class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed) : generator_(seed) {}

  LoopProgram Make() {
    Block body = {Shared("S", kShared), BlockNumber("b"), ThreadNumber("t")};
    variables_ = {"b", "t"};
    body.push_back({DeclareIndex{"own", Var("b") * (kThreads * kOwn) + Var("t") * kOwn}});
    body.push_back(Private("R", kPrivate));
    body.push_back(Loop("r", kPrivate, {Set("R", Var("r"), Element("x", Var("r") + Var("own")))}));
    body.push_back(Loop("r", kOwn, {Set("y", Var("own") + Var("r"), Number(0))}));
    for (int64_t n = Between(1, 2); n > 0; --n) body.push_back(Pipeline(0));
    Append(Statements(2), body);
    body.push_back(Loop("r", kPrivate, {Store(Element("R", Var("r")))}));
    return Program(std::move(body), {{2, 1, 1}, {kThreads, 1, 1}});
  }

 private:
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(generator_() % static_cast<uint32_t>(high - low + 1));
  }
  bool Chance(int64_t percent) { return Between(1, 100) <= percent; }
  std::string Name(const std::string& stem) { return stem + std::to_string(++names_); }
  static void Append(Block from, Block& to) { to.insert(to.end(), from.begin(), from.end()); }

  Index RandomIndex() {
    Index index(Between(0, 3));
    for (int64_t n = Between(1, 3); n > 0; --n) {
      const auto at = static_cast<size_t>(Between(0, static_cast<int64_t>(variables_.size()) - 1));
      index = index + Var(variables_[at]) * Between(1, 5);
    }
    switch (Between(0, 9)) {
      case 0:
        return index / Between(1, 6);
      case 1:
        return index % Between(1, 6);
      case 2:
        return Min(index, Index(Between(0, 20)));
      case 3:
        return index + RandomIndex();
      default:
        return index;
    }
  }

  LoopValue RandomValue() {
    switch (Between(0, has_shared_ ? 4 : 3)) {
      case 0:
        return Element("x", RandomIndex() % kInput);
      case 1:
        return Element("y", Var("own") + RandomIndex() % kOwn);
      case 2:
        return Element("R", RandomIndex() % kPrivate);
      case 3:
        return Sum(RandomValue(), RandomValue());
      default:
        return Element("S", RandomIndex() % kShared);
    }
  }

  Statement Store(LoopValue value) {
    if (Chance(25)) return Set("R", RandomIndex() % kPrivate, std::move(value));
    return Set("y", Var("own") + RandomIndex() % kOwn, std::move(value));
  }

  Condition RandomCondition() {
    if (Chance(30)) return {Condition::Kind::kEqual, RandomIndex(), Index(Between(0, 4)), ""};
    return {Condition::Kind::kLess, RandomIndex(), RandomIndex(), ""};
  }

  Statement RandomLoop(int depth) {
    const std::string variable = Name("i");
    const int64_t begin = Chance(20) ? Between(0, 3) : 0, step = Chance(20) ? Between(1, 3) : 1;
    const Index end = Chance(15) ? RandomIndex() % 4 : Index(Between(0, 4) + begin);
    const bool unroll = end.is_constant() && Chance(30);
    variables_.push_back(variable);
    Block body = Statements(depth - 1);
    variables_.pop_back();
    return {For{variable, begin, end, step, Chance(30), Body(std::move(body)), unroll}};
  }

  Statement Branch(int depth) {
    If branch{{RandomCondition()}, Body(Statements(depth - 1)), nullptr};
    if (Chance(30)) branch.all_of.push_back(RandomCondition());
    if (Chance(40)) branch.else_block = Body(Statements(depth - 1));
    return {std::move(branch)};
  }

  Block Statements(int depth) {
    const std::vector<std::string> variables_before = variables_;
    Block block;
    for (int64_t n = Between(1, 3); n > 0; --n) {
      if (Chance(30)) block.push_back({Comment{Name("Step ")}});
      if (Chance(30)) {
        const std::string name = Name("at");
        block.push_back({DeclareIndex{name, RandomIndex()}});
        variables_.push_back(name);
      }
      if (depth > 0 && Chance(45)) {
        block.push_back(RandomLoop(depth));
      } else if (depth > 0 && Chance(40)) {
        block.push_back(Branch(depth));
      } else {
        const std::string name = Name("v");
        const LoopValue value = RandomValue();
        block.push_back({DeclareValue{name, value}});
        block.push_back(Store(Sum(MakeNamed(name, value->type), RandomValue())));
      }
    }
    variables_ = variables_before;
    return block;
  }

  // Copies 16 elements of part k.
  Statement Region(const Index& k) {
    const int64_t width = int64_t{1} << Between(0, 2), items = kShared / width;
    const std::string round = Name("round"), at = Name("S_at"), lane = Name("lane");
    const Index to = Var(at) * width + Var(lane), first = Var(round) * kThreads + Var("t");
    Block body = {Loop(lane, width, {Set("S", to, Element("x", k * kShared + to))})};
    const int64_t rounds = (items + kThreads - 1) / kThreads + (Chance(30) ? 1 : 0);
    if (rounds * kThreads > items) body = {Guard(Var(at), Index(items), std::move(body))};
    body.insert(body.begin(), {DeclareIndex{at, first}});
    const bool is_asynchronous = Chance(40);
    const auto stages = static_cast<int>(is_asynchronous ? Between(2, 4) : Between(1, 2));
    return {CopyRegion{"S", stages, Body({Loop(round, rounds, body)}), is_asynchronous}};
  }

  // for k: [copy] barrier, computation, barrier; sometimes in a loop around.
  Statement Pipeline(int outer) {
    const std::string k = Name("k");
    variables_.push_back(k);
    Block body;
    if (outer == 0 && Chance(30)) {
      body.push_back(Pipeline(outer + 1));
    } else {
      Index part = Var(k);
      if (Chance(30)) {
        const std::string name = Name("part");
        body.push_back({DeclareIndex{name, part * 2}});
        part = Var(name);
      }
      body.push_back(Region(part));
      body.push_back({Barrier{}});
      has_shared_ = true;
      Append(Statements(2), body);
      has_shared_ = false;
      body.push_back({Barrier{}});
    }
    variables_.pop_back();
    return Loop(k, Between(1, 4), std::move(body));
  }

  std::mt19937 generator_;
  std::vector<std::string> variables_;  // in scope
  int names_ = 0;
  bool has_shared_ = false;
};

class RandomProgramTest : public testing::TestWithParam<uint32_t> {
 protected:
  // Twenty programs per part of the run's seed.
  void Check(const std::function<LoopProgram(const LoopProgram&)>& pass) {
    constexpr uint32_t kTried = TriedCases(20);
    const auto seed = static_cast<uint32_t>(FreshSeed());
    for (uint32_t n = 0; n < kTried && !HasFailure(); ++n) {
      const LoopProgram program = RandomProgram(seed + GetParam() * 20 + n).Make();
      ExpectSameResults(program, pass(program), {{"x", Numbered(kInput)}, {"y", Numbered(2 * 64)}});
    }
  }
};

TEST_P(RandomProgramTest, Simplify) {
  Check([](const LoopProgram& p) { return Simplify(p); });
}
TEST_P(RandomProgramTest, DoubleBuffer) {
  Check([](const LoopProgram& p) { return DoubleBuffer(p, {}); });
}
TEST_P(RandomProgramTest, AsyncCopies) {
  Check([](const LoopProgram& p) { return MakeAsyncCopies(p, {}); });
}
TEST_P(RandomProgramTest, VectorizeCopies) {
  Check([](const LoopProgram& p) { return VectorizeCopies(p, {}); });
}
TEST_P(RandomProgramTest, Unroll) {
  Check([](const LoopProgram& p) { return Unroll(p, {.points = 8}); });
}
TEST_P(RandomProgramTest, HoistGuards) {
  Check([](const LoopProgram& p) { return HoistGuards(p); });
}
TEST_P(RandomProgramTest, HoistIndices) {
  Check([](const LoopProgram& p) { return HoistIndices(p); });
}
TEST_P(RandomProgramTest, AllInTurn) {
  Check([](const LoopProgram& p) { return Optimize(p, {.unroll = 8}); });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomProgramTest, testing::Range(0u, 2u));

}  // namespace
}  // namespace mdh::pass_random_test
