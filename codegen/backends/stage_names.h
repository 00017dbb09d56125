// Names of stages in a program with others.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/program/loop_program.h"

namespace mdh {

// `body` in which names have been replaced by others: those in `renamed`, and others that are names
// in `shared`, by new ones.
Block WithNames(const std::vector<Stage>& stages, const Block& body,
                const std::map<std::string, std::string>& renamed,
                const std::set<std::string>& shared);

// The same for one of several bodies that become one: what it declares as pointers and views is
// called as none in `pointers`, which are those of the bodies before it, and added to them. Passes
// over the whole know by their names what these point into.
Block WithOwnPointers(const std::vector<Stage>& stages, const Block& body,
                      const std::map<std::string, std::string>& renamed,
                      const std::set<std::string>& shared, std::set<std::string>* pointers);

}  // namespace mdh
