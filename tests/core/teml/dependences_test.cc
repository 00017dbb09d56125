// Which fused nests are refused: exactly those in which an instance reads an element before it is
// written, as trying all pairs of instances says.
#include "core/teml/dependences.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/core/teml/teml_judge.h"
#include "tests/fresh_seed.h"
#include "tests/random_expression.h"
#include "tests/sanitized.h"

namespace mdh::dependences_test {
namespace {

using Elements = std::vector<std::vector<int64_t>>;

// One run of an assignment: at which iterations of which loops, and what it uses.
struct Instance {
  int assignment;
  std::vector<std::pair<const CountedLoop*, int64_t>> iterations;
  size_t position;  // in the order of the text
  Elements written, read;
};

int64_t At(const IteratorIndex& index, const std::map<std::string, int64_t>& values) {
  int64_t value = index.constant;
  for (const IteratorTerm& term : index.terms) value += term.coefficient * values.at(term.iterator);
  return value;
}

std::vector<int64_t> ElementAt(const IteratorList& list, const AssignmentLeaf& leaf,
                               const std::map<std::string, int64_t>& values) {
  std::vector<int64_t> element;
  for (const IteratorIndex& index : Substituted(list, leaf.values)) {
    element.push_back(At(index, values));
  }
  return element;
}

void Enumerate(const LoopTrees& trees, Instance so_far, std::map<std::string, int64_t> values,
               std::vector<Instance>* instances) {
  for (size_t n = 0; n < trees.size(); ++n) {
    Instance instance = so_far;
    instance.position = 10 * so_far.position + n;
    if (const CountedLoop* const loop = trees[n]->loop()) {
      int64_t last = At(loop->upper[0], values);
      for (const IteratorIndex& upper : loop->upper) last = std::min(last, At(upper, values));
      instance.iterations.emplace_back(loop, 0);
      for (int64_t i = At(loop->lower, values); i <= last; ++i) {
        values[loop->iterator] = instance.iterations.back().second = i;
        Enumerate(loop->body, instance, values, instances);
      }
      continue;
    }
    const AssignmentLeaf& leaf = *trees[n]->leaf();
    instance.assignment = leaf.assignment->number;
    instance.written = {ElementAt(leaf.assignment->indices, leaf, values)};
    for (const TensorNode* access : AccessesOf(leaf.assignment->terms)) {
      instance.read.push_back(ElementAt(access->indices, leaf, values));
    }
    instances->push_back(std::move(instance));
  }
}

// Whether `first` surely runs before `second`.
bool RunsBefore(const Instance& first, const Instance& second) {
  for (size_t l = 0; l < first.iterations.size() && l < second.iterations.size(); ++l) {
    const auto& [loop, i] = first.iterations[l];
    const auto& [other, j] = second.iterations[l];
    if (loop != other) break;
    if (i != j) return !loop->is_parallel && !loop->is_vector && i < j;
  }
  return first.position < second.position;
}

// Whether every element that the second assignment reads of g is written by the first one before,
// if at all.
bool KeepsOrder(const TemlProgram& program) {
  std::vector<Instance> instances;
  Enumerate(program.loops[0], {0, {}, 1, {}, {}}, {}, &instances);
  return std::all_of(instances.begin(), instances.end(), [&](const Instance& reader) {
    return reader.assignment == 0 ||
           std::all_of(instances.begin(), instances.end(), [&](const Instance& writer) {
             const bool meets =
                 writer.assignment == 0 &&
                 std::count(reader.read.begin(), reader.read.end(), writer.written[0]) > 0;
             return !meets || RunsBefore(writer, reader);
           });
  });
}

std::string RandomIndices(Rng& rng, int64_t n) {
  const std::string i = Below(rng, 4) == 0 ? "j" : "i", j = i == "i" ? "j" : "i";
  const auto index = [&](const std::string& iterator) {
    return Below(rng, 5) == 0 ? absl::StrCat(n - 1, " - ", iterator)
                              : absl::StrCat(iterator, " + ", Below(rng, 3));
  };
  return absl::StrCat("[", index(i), ", ", index(j), "]");
}

// Nests of h = x and y = READ + READ with h at other indices, transformed alike and fused.
std::string FusedNests(Rng& rng, const std::string& read) {
  const int64_t n = 3 + Below(rng, 2);
  std::string text = absl::StrCat(
      "x = tensor([", n, ", ", n, "])\nh = tensor([", n + 2, ", ", n + 2, "])\ng = tensor([", n + 2,
      ", ", n + 2, "])\ny = tensor([", n, ", ", n, "])\nh = eq(x, [i, j] -> ",
      RandomIndices(rng, n), ")\ny = add(", read, ", ", read, ", [", RandomIndices(rng, n), ", ",
      RandomIndices(rng, n), "] -> [i, j])\nl1 = build(h)\nl2 = build(y)\n");
  const auto both = [&](const std::string& function, const std::string& numbers) {
    for (const char* const l : {"l1", "l2"}) {
      absl::StrAppend(&text, l, " = ", function, "(", l, ", ", numbers, ")\n");
    }
  };
  if (Below(rng, 3) == 0) both("interchange", "1, 2");
  if (Below(rng, 3) == 0) absl::StrAppend(&text, "l2 = interchange(l2, 1, 2)\n");
  if (Below(rng, 3) == 0) both("stripmine", absl::StrCat(1 + Below(rng, 2), ", 2"));
  if (Below(rng, 4) == 0) both("tile", "2");
  absl::StrAppend(&text, "l = fuse_outer(l1, l2, ", 1 + Below(rng, 2), ")\n");
  if (Below(rng, 4) == 0) absl::StrAppend(&text, "l = unroll(l, 1)\n");
  if (Below(rng, 4) == 0) absl::StrAppend(&text, "l = parallelize(l, ", 1 + Below(rng, 2), ")\n");
  return absl::StrCat(text, "codegen(l)\n");
}

TEST(Dependences, AreDecidedExactly) {
  Rng rng(FreshSeed());
  int kept = 0, refused = 0;
  for (int n = 0; n < TriedCases(1500); ++n) {
    // Of g, which nobody writes, everything is accepted that can be built at all.
    const std::string free = FusedNests(rng, "g");
    const Result<TemlProgram> program = ParseTemlProgram(free);
    if (!program.ok()) continue;
    const std::string text = absl::StrReplaceAll(free, {{"add(g, g", "add(h, h"}});
    const Status status = ParseTemlProgram(text).status();
    const bool keeps_order = KeepsOrder(*program);
    ASSERT_EQ(status.ok(), keeps_order) << text << status << "\n" << ToText(*program);
    if (!status.ok()) {
      ASSERT_TRUE(absl::StrContains(status.message(), "(line 6) before 'h' (line 5) is complete"))
          << status;
    }
    ++(keeps_order ? kept : refused);
  }
  if (kIsSanitized) return;  // few cases need not have both
  EXPECT_GT(kept, 50);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace mdh::dependences_test
