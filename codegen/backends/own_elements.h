// Elements of memory that threads of a block share, but of which each thread only uses its own.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "absl/types/span.h"
#include "codegen/program/loop_program.h"
#include "codegen/program/scalar_code.h"

namespace mdh {

struct OwnElements {
  Block body;
  std::set<std::string> replaced;  // of the given arrays: nothing uses them any more
};

// Who runs the body: a block of threads, of which `lanes` neighbours have rows in common.
struct ThreadsOfBody {
  std::string thread;  // index variable: its number in the block
  int64_t threads = 1;
  int64_t lanes = 1;
  std::string lane;  // index variable: `thread` modulo `lanes`
};

// The body with private arrays for what a thread stores to `arrays` and loads again itself. That
// those are its own elements follows from their offsets: the same function of the thread's number,
// plus loops of the same constant extents, in all stores to an array. So threads that have elements
// in common all store to them, and the same; but what only lane 0 does (under the condition that
// `lane` is 0, with values that all lanes have) all of them do. Loads of other elements, which are
// behind barriers, go on using the array, to which it is stored then, too. Loops by which all
// threads together set an array to a literal are stores of own elements. Where something else is
// done with an array it stays as it is, and so do arrays that exist in memory only, or of which a
// thread has more than registers. Loops over own elements are unrolled.
OwnElements KeepOwnElements(const Block& body, absl::Span<const ScratchBuffer> arrays,
                            const ThreadsOfBody& who, NameAllocator* names);

}  // namespace mdh
