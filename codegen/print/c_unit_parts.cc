#include "codegen/print/c_unit_parts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "codegen/print/c_spelling.h"
#include "codegen/program/c_names.h"

namespace mdh {
namespace {

constexpr int64_t kAlignment = 64;

int64_t AlignedBytes(const ScratchBuffer& buffer) {
  const int64_t bytes = buffer.elements * SizeBytes(buffer.type);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool IsUsedForAWhile(const ScratchBuffer& buffer) {
  return buffer.first_stage > 0 || buffer.last_stage < ScratchBuffer::kLastOfAll;
}

bool AreUsedTogether(const ScratchBuffer& a, const ScratchBuffer& b) {
  return a.per_thread == b.per_thread && a.first_stage <= b.last_stage &&
         b.first_stage <= a.last_stage;
}

}  // namespace

// The largest first where some may share memory, else in their order: every one at the lowest place
// that is free as long as it is used.
ScratchLayout LayOutScratch(const std::vector<ScratchBuffer>& scratch) {
  ScratchLayout layout;
  layout.offsets.resize(scratch.size());
  std::vector<size_t> order(scratch.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (std::ranges::any_of(scratch, IsUsedForAWhile)) {
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
      return AlignedBytes(scratch[a]) > AlignedBytes(scratch[b]);
    });
  }
  for (size_t n = 0; n < order.size(); ++n) {
    const ScratchBuffer& buffer = scratch[order[n]];
    std::vector<std::pair<int64_t, int64_t>> taken;  // from, to
    for (size_t m = 0; m < n; ++m) {
      const int64_t from = layout.offsets[order[m]];
      if (AreUsedTogether(buffer, scratch[order[m]])) {
        taken.push_back({from, from + AlignedBytes(scratch[order[m]])});
      }
    }
    std::ranges::sort(taken);
    int64_t& offset = layout.offsets[order[n]];
    for (const auto& [from, to] : taken) {
      if (offset + std::max<int64_t>(AlignedBytes(buffer), 1) <= from) break;
      offset = std::max(offset, to);
    }
    int64_t& bytes = buffer.per_thread ? layout.thread_bytes : layout.shared_bytes;
    bytes = std::max(bytes, offset + AlignedBytes(buffer));
  }
  return layout;
}

std::string ScratchPointers(const LoopProgram& program, const ScratchLayout& layout,
                            const CDialect& dialect, absl::string_view restrict_keyword,
                            const std::string& body) {
  std::string pointers;
  for (size_t n = 0; n < program.scratch.size(); ++n) {
    const ScratchBuffer& buffer = program.scratch[n];
    if (!Mentions(body, buffer.name)) continue;
    std::string offset = absl::StrCat(layout.offsets[n]);
    if (buffer.per_thread) {
      offset = absl::StrCat(layout.shared_bytes + layout.offsets[n], " + thread * ",
                            layout.thread_bytes);
    }
    const std::string pointer =
        CPointer(dialect, AddressSpace::kGlobal, false, CType(buffer.type, dialect));
    absl::StrAppend(&pointers, "  ", pointer, restrict_keyword, " ", buffer.name, " = (", pointer,
                    ")(scratch + ", offset, ");\n");
    // gcc 12 must not know that two of them have one base: it computes the address in one, of
    // elements of another size, from the address in the other one, and then takes what is written
    // there for lost (-fno-ivopts would help, too).
    const bool is_gnu_c = &dialect == &GnuC();
    if (is_gnu_c && program.scratch.size() > 1) {
      absl::StrAppend(&pointers, "  __asm__(\"\" : \"+r\"(", buffer.name, "));\n");
    }
  }
  return pointers;
}

std::string DescribeArguments(const std::vector<KernelArgument>& arguments,
                              const std::string& entry, const CDialect& dialect,
                              int alignment_bytes) {
  std::string text;
  for (const KernelArgument& a : arguments) {
    int alignment = alignment_bytes;
    for (const ElementType::Field& field : a.type.fields()) {
      if (alignment_bytes == 0) alignment = std::max(alignment, SizeBytes(field.type));
    }
    absl::StrAppend(&text, "  ", a.name, ": ", ArgumentType(a, entry, dialect));
    for (const int64_t extent : a.extents) absl::StrAppend(&text, "[", extent, "]");
    if (!a.strides.empty()) {
      absl::StrAppend(&text, " with strides of (", absl::StrJoin(a.strides, ", "), ") elements");
    }
    absl::StrAppend(&text, ", ", a.elements, " elements, aligned to ", alignment,
                    alignment == 1 ? " byte" : " bytes", a.is_output ? ", written" : ", read",
                    "\n");
  }
  return text;
}

std::string DescribeTensorMap(const TensorMap& map) {
  return absl::StrCat(
      "behind its pointers a tensor map: argument ", map.argument + 1, " + ", map.offset_bytes,
      " bytes, elements of ", map.element_bytes,
      map.element_bytes == 1 ? " byte: " : " bytes: ", absl::StrJoin(map.extents, " x "),
      ", strides of (", absl::StrJoin(map.strides_bytes, ", "), ") bytes, box ",
      absl::StrJoin(map.box, " x "), ", swizzle of ", map.swizzle_bytes, " bytes");
}

std::string ArgumentType(const KernelArgument& argument, const std::string& entry,
                         const CDialect& dialect) {
  if (!argument.type.is_record()) return CType(argument.type.scalar(), dialect);
  return absl::StrCat("struct ", entry, "_", argument.name);
}

std::string RecordDefinitions(const std::vector<KernelArgument>& arguments,
                              const std::string& entry, const CDialect& dialect) {
  std::string text;
  for (const KernelArgument& argument : arguments) {
    if (!argument.type.is_record()) continue;
    absl::StrAppend(&text, ArgumentType(argument, entry, dialect), " {\n");
    for (const ElementType::Field& field : argument.type.fields()) {
      absl::StrAppend(&text, "  ", CType(field.type, dialect), " ", CIdentifier(field.name), ";\n");
    }
    absl::StrAppend(&text, "};\n");
  }
  return text;
}

std::string ArgumentDeclarations(const std::vector<KernelArgument>& arguments,
                                 const std::string& entry, const CDialect& dialect,
                                 absl::string_view input_restrict,
                                 absl::string_view output_restrict,
                                 const std::set<std::string>& unrestricted) {
  return absl::StrJoin(arguments, ", ", [&](std::string* out, const KernelArgument& argument) {
    const absl::string_view of_output =
        unrestricted.contains(argument.name) ? absl::string_view() : output_restrict;
    absl::StrAppend(out,
                    CPointer(dialect, AddressSpace::kGlobal, !argument.is_output,
                             ArgumentType(argument, entry, dialect)),
                    argument.is_output ? of_output : input_restrict, " ", argument.name);
  });
}

std::string CommentLines(absl::string_view text) {
  std::string comment;
  for (const absl::string_view line :
       absl::StrSplit(absl::StripTrailingAsciiWhitespace(text), '\n')) {
    absl::StrAppend(&comment, line.empty() ? "//" : "// ", line, "\n");
  }
  return comment;
}

std::string WithoutComments(absl::string_view text) {
  std::string code;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "//")) {
      absl::StrAppend(&code, line, "\n");
    }
  }
  return code;
}

bool Mentions(const std::string& text, const std::string& identifier) {
  const auto is_word = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  for (size_t at = text.find(identifier); at != std::string::npos;
       at = text.find(identifier, at + 1)) {
    const size_t end = at + identifier.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace mdh
