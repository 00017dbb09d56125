// What translation units of all languages have: the comment at their head, structs of records,
// arguments, scratch memory.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "codegen/print/c_dialect.h"
#include "codegen/program/kernel.h"
#include "codegen/program/loop_program.h"

namespace mdh {

// Byte offsets of scratch buffers, multiples of 64: those for all threads first, then one block of
// memory per thread, in which the others have theirs. Where no stage uses two of them together,
// they may share memory.
struct ScratchLayout {
  int64_t shared_bytes = 0;
  int64_t thread_bytes = 0;
  std::vector<int64_t> offsets;

  int64_t TotalBytes(int64_t threads) const { return shared_bytes + threads * thread_bytes; }
};
ScratchLayout LayOutScratch(const std::vector<ScratchBuffer>& scratch);

// Declarations of pointers to those scratch buffers that `body` mentions.
std::string ScratchPointers(const LoopProgram& program, const ScratchLayout& layout,
                            const CDialect& dialect, absl::string_view restrict_keyword,
                            const std::string& body);

// For people: one line per argument, with the alignment that its pointer needs; 0: that of its
// type.
std::string DescribeArguments(const std::vector<KernelArgument>& arguments,
                              const std::string& entry, const CDialect& dialect,
                              int alignment_bytes);

// For people: one line without its end.
std::string DescribeTensorMap(const TensorMap& map);

// "float", or the struct "struct <entry>_<name>".
std::string ArgumentType(const KernelArgument& argument, const std::string& entry,
                         const CDialect& dialect);
std::string RecordDefinitions(const std::vector<KernelArgument>& arguments,
                              const std::string& entry, const CDialect& dialect);
// Pointers to global memory, separated by commas; the keywords are behind the stars of inputs and
// of outputs, but for the outputs in `unrestricted`.
std::string ArgumentDeclarations(const std::vector<KernelArgument>& arguments,
                                 const std::string& entry, const CDialect& dialect,
                                 absl::string_view input_restrict,
                                 absl::string_view output_restrict,
                                 const std::set<std::string>& unrestricted = {});

// One line comment per line.
std::string CommentLines(absl::string_view text);

// The text without lines that are comments.
std::string WithoutComments(absl::string_view text);

// Whether the identifier is a word of the text.
bool Mentions(const std::string& text, const std::string& identifier);

}  // namespace mdh
