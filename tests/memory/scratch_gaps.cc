#include "tests/memory/scratch_gaps.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace mdh {
namespace {

constexpr int64_t kGap = 64;

// `T* restrict name = (T*)(scratch + 4864 + thread * 5184);` in a stage.
struct Pointer {
  std::string before;  // of the offset
  std::string name;
  long long offset = 0;
  long long thread_bytes = 0;  // 0: of all threads
};

std::optional<Pointer> PointerOf(const std::string& line) {
  constexpr absl::string_view kScratch = "(scratch + ", kRestrict = "* restrict ";
  const size_t at = line.find(kScratch.data(), 0, kScratch.size());
  const size_t star = line.find(kRestrict.data(), 0, kRestrict.size());
  if (!absl::StartsWith(line, "  ") || at == line.npos || star == line.npos) return std::nullopt;
  Pointer pointer;
  pointer.before = line.substr(0, at + kScratch.size());
  const size_t name = star + kRestrict.size();
  pointer.name = line.substr(name, line.find(' ', name) - name);
  const int found = std::sscanf(line.c_str() + pointer.before.size(), "%lld + thread * %lld",
                                &pointer.offset, &pointer.thread_bytes);
  if (found < 1) return std::nullopt;
  return pointer;
}

// How much there is, as <entry>_scratch_bytes says: of all threads and of each.
struct Bytes {
  long long shared = 0, thread = 0;
  bool is_of_one_thread = false;
};

std::optional<Bytes> BytesOf(const std::string& line, bool is_in_scratch_bytes,
                             const std::vector<Pointer>& pointers) {
  Bytes bytes;
  const size_t at = line.find("return ");
  if (at == line.npos) return std::nullopt;
  if (absl::StrContains(line, "_scratch_bytes(int threads) { return ")) {
    std::sscanf(line.c_str() + at, "return %lld + (int64_t)threads * %lld", &bytes.shared,
                &bytes.thread);
    return bytes;
  }
  if (!is_in_scratch_bytes) return std::nullopt;
  bytes.is_of_one_thread = true;
  std::sscanf(line.c_str() + at, "return %lld;", &bytes.shared);
  for (const Pointer& pointer : pointers)
    bytes.thread = std::max(bytes.thread, pointer.thread_bytes);
  bytes.shared -= bytes.thread;
  return bytes;
}

// Of buffers at these offsets, in order, each behind a gap.
class Places {
 public:
  void Add(int64_t offset) { offsets_.insert(offset); }
  int64_t Of(int64_t offset) const {
    const auto rank = std::distance(offsets_.begin(), offsets_.find(offset));
    return offset + (rank + 1) * kGap;
  }
  int64_t BytesFor(int64_t bytes) const {
    return bytes + static_cast<int64_t>(offsets_.size()) * kGap;
  }

 private:
  std::set<int64_t> offsets_;
};

}  // namespace

std::string WithScratchGaps(const std::string& source) {
  std::vector<std::string> lines = absl::StrSplit(source, '\n');
  std::vector<Pointer> pointers;
  std::optional<Bytes> bytes;
  size_t line_of_bytes = 0;
  for (size_t n = 0; n < lines.size(); ++n) {
    if (const auto pointer = PointerOf(lines[n])) pointers.push_back(*pointer);
    const bool is_in_function =
        n >= 2 && absl::EndsWith(lines[n - 2], "_scratch_bytes(int threads) {");
    if (bytes) continue;
    bytes = BytesOf(lines[n], is_in_function, pointers);
    line_of_bytes = n;
  }
  if (!bytes || pointers.empty()) return source;

  Places shared, of_thread;
  for (const Pointer& pointer : pointers) {
    (pointer.thread_bytes > 0 ? of_thread : shared)
        .Add(pointer.offset - (pointer.thread_bytes > 0 ? bytes->shared : 0));
  }
  const int64_t shared_bytes = shared.BytesFor(bytes->shared);
  const int64_t thread_bytes = of_thread.BytesFor(bytes->thread);
  const std::string total = absl::StrCat(shared_bytes + thread_bytes),
                    total_before = absl::StrCat(bytes->shared + bytes->thread);

  std::string gaps;  // of the stage
  for (size_t n = 0; n < lines.size(); ++n) {
    std::string& line = lines[n];
    if (const auto pointer = PointerOf(line)) {
      line = pointer->thread_bytes > 0
                 ? absl::StrCat(pointer->before,
                                shared_bytes + of_thread.Of(pointer->offset - bytes->shared),
                                " + thread * ", thread_bytes, ");")
                 : absl::StrCat(pointer->before, shared.Of(pointer->offset), ");");
      const std::string gap =
          absl::StrCat("((char*)", pointer->name, " - ", kGap, ", ", kGap, ");");
      absl::StrAppend(&line, " __asan_poison_memory_region", gap);
      absl::StrAppend(&gaps, "__asan_unpoison_memory_region", gap, " ");
    } else if (line == "}") {
      line = absl::StrCat(gaps, "}");
      gaps.clear();
    } else if (n == line_of_bytes) {
      line = bytes->is_of_one_thread
                 ? absl::StrCat("  return ", total, ";")
                 : absl::StrCat(line.substr(0, line.find("return ")), "return ", shared_bytes,
                                " + (int64_t)threads * ", thread_bytes, "; }");
    } else if (line == absl::StrCat("  _Alignas(64) char own[", total_before, "];")) {
      line = absl::StrCat("  _Alignas(64) char own[", total, "];");
    } else if (line == absl::StrCat("    own = aligned_alloc(64, ", total_before, ");")) {
      line = absl::StrCat("    own = aligned_alloc(64, ", total, ");");
    }
  }
  // Lines keep their numbers.
  return absl::StrCat("void __asan_poison_memory_region(void const volatile*, unsigned long);\n",
                      "void __asan_unpoison_memory_region(void const volatile*, unsigned long);\n",
                      "#line 1\n", absl::StrJoin(lines, "\n"));
}

}  // namespace mdh
