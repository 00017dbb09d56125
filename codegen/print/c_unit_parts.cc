#include "codegen/print/c_unit_parts.h"

#include <algorithm>
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

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

ScratchLayout LayOutScratch(const std::vector<ScratchBuffer>& scratch) {
  ScratchLayout layout;
  for (const ScratchBuffer& buffer : scratch) {
    int64_t& bytes = buffer.per_thread ? layout.thread_bytes : layout.shared_bytes;
    layout.offsets.push_back(bytes);
    bytes += Aligned(buffer.elements * SizeBytes(buffer.type));
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
                                 absl::string_view output_restrict) {
  return absl::StrJoin(arguments, ", ", [&](std::string* out, const KernelArgument& argument) {
    absl::StrAppend(out,
                    CPointer(dialect, AddressSpace::kGlobal, !argument.is_output,
                             ArgumentType(argument, entry, dialect)),
                    argument.is_output ? output_restrict : input_restrict, " ", argument.name);
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
