// Loops whose copies run ahead, as MakeAsyncCopies leaves them, taken apart.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "codegen/program/index_range.h"
#include "codegen/program/loop_program.h"

namespace mdh {

// nullptr: the statement is another one.
template <typename Form>
const Form* StatementAs(const Statement& statement) {
  return std::get_if<Form>(&statement.form);
}

// A loop of the form that codegen/passes/pass_overlap_copies.h looks for.
struct PipelinedLoop {
  DeclareIndex place = {"", Index(0)};  // of the part at hand
  WaitForCopies wait = {0};
  std::vector<Condition> if_exists;  // the part that is copied; empty: it always does
  std::vector<Block> copies;         // in order; each one or a few of a thread's
  std::set<std::string> arrays;      // that they go to
  Block passive;                     // in front of the loop over k
  For points = {"", Index(0), Index(0), 1, false, nullptr};  // the loop over k
};

// nullopt: the loop has another form.
std::optional<PipelinedLoop> TakeApart(const For& loop);

// What is known of index variables of a stage: ranges, and which are the same for all threads of a
// block.
class ThreadIndices {
 public:
  // Refers to its argument.
  explicit ThreadIndices(const LaunchGeometry& launch) : launch_(launch) {}

  // What the statement declares; in the order of the program.
  void Add(const Statement& statement);
  void Set(const std::string& name, std::optional<IndexRange> range, bool is_uniform);

  const IndexRanges& ranges() const { return ranges_; }
  // Whether the index is the same for all threads but for what is due to that variable.
  bool IsUniform(const Index& index, const std::string& but_for = "") const;

 private:
  const LaunchGeometry& launch_;
  IndexRanges ranges_;
  std::set<std::string> uniform_;
};

// Whether threads for which a branch around copies to the array does not hold may store zeros where
// they would copy to: their places are in the array, which has so many elements, and nobody else
// copies to them. That is so where one number of a thread alone decides both where it copies to, in
// steps of what it copies at once, and whether it does, and where its copies are as far apart as
// all threads reach.
bool MayFill(const PipelinedLoop& loop, const std::string& array, int64_t elements,
             const ThreadIndices& known);

}  // namespace mdh
