// Loops whose copies run ahead, as MakeAsyncCopies leaves them, taken apart.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

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

}  // namespace mdh
