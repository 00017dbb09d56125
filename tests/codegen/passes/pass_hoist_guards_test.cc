#include "codegen/passes/pass_hoist_guards.h"

#include "tests/codegen/passes/pass_golden.h"

namespace mdh::pass_hoist_guards_test {
namespace {

const Index t = Var("t"), k = Var("k"), j = Var("j");

LoopProgram Hoisted(const LoopProgram& before) {
  const LoopProgram after = HoistGuards(before);
  ExpectSameResults(before, after, {{"x", Numbered(64)}, {"y", Numbered(64)}});
  return after;
}
std::string Text(const LoopProgram& program) { return ToText(program.stages[0].body); }

LoopProgram OfThreads(Statement statement) {
  return Program({ThreadNumber("t"), std::move(statement)}, {{1, 1, 1}, {4, 1, 1}});
}

TEST(HoistGuardsTest, OutOfAllLoopsThatDoNotChangeThem) {
  const Statement store = Set("y", t * 16 + k * 4 + j, Element("x", t * 16 + k * 4 + j));
  const LoopProgram before = OfThreads(
      Loop("k", 4, {{Comment{"Vectors."}}, Loop("j", 4, {Guard(t * 4, Index(12), {store})})}));
  EXPECT_EQ(Text(Hoisted(before)),
            "index t = thread along 0\n"
            "if t * 4 < 12\n"
            "  for k = 0 .. 4\n"
            "    // Vectors.\n"
            "    for j = 0 .. 4\n"
            "      y[t * 16 + k * 4 + j] = x[t * 16 + k * 4 + j]\n");
}

TEST(HoistGuardsTest, OfSeveralConditionsThoseThatStayTheSame) {
  Statement guard = Guard(t, Index(3), {Set("y", t * 8 + j, Number(1))});
  std::get<If>(guard.form).all_of.push_back({Condition::Kind::kLess, t * 8 + j, Index(13), ""});
  EXPECT_EQ(Text(Hoisted(OfThreads(Loop("j", 8, {guard})))),
            "index t = thread along 0\n"
            "if t < 3\n"
            "  for j = 0 .. 8\n"
            "    if t * 8 + j < 13\n"
            "      y[t * 8 + j] = 1\n");
}

TEST(HoistGuardsTest, StaysWhereThereIsMoreInTheLoop) {
  const Statement guard = Guard(t, Index(3), {Set("y", t * 8 + j, Number(1))});
  const Statement other = Guard(t, Index(3), {Set("y", t, Number(1))}, {Set("y", t, Number(2))});
  for (const Block& body : {Block{guard, Set("y", t * 8, Number(2))}, Block{guard, guard},
                            Block{other}, Block{{DeclareIndex{"at", t + j}}, guard}}) {
    const LoopProgram before = OfThreads(Loop("j", 8, body));
    EXPECT_EQ(Text(Hoisted(before)), Text(before));
  }
}

// A flag may be cleared in the loop.
TEST(HoistGuardsTest, FlagsStay) {
  const Statement guard = {If{{{Condition::Kind::kFlag, 0, 0, "empty"}},
                              Body({Set("y", j, Number(1)), {ClearFlag{"empty"}}}),
                              nullptr}};
  const LoopProgram before =
      Program({{DeclareFlag{"empty", {}, /*is_mutable=*/true}}, Loop("j", 8, {guard})});
  EXPECT_EQ(Text(Hoisted(before)), Text(before));
}

}  // namespace
}  // namespace mdh::pass_hoist_guards_test
