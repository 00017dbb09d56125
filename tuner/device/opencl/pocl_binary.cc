#include "tuner/device/opencl/pocl_binary.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

namespace fs = std::filesystem;

// Of any size of blocks.
constexpr absl::string_view kAnySize = "0-0-0";

// "16-2-1-goffs0-smallgrid", as folders of code are called: there is other code where an axis has
// many threads (of the third one PoCL 3.1 looks at the block alone).
std::string SizeOf(const KernelLaunch& launch) {
  constexpr int64_t kManyThreads = 65535;
  const auto& [grid, block] = launch.geometry;
  const int64_t widest = std::max({block[0] * grid[0], block[1] * grid[1], block[2] * block[2]});
  return absl::StrCat(absl::StrJoin(block, "-"), "-goffs0",
                      widest < kManyThreads ? "-smallgrid" : "");
}

// That of the only program that is built and has no code yet; empty: there is none.
fs::path FolderOfProgram(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const bool is_built = fs::exists(entry.path() / "program.bc", error);
    if (is_built && absl::StartsWith(entry.path().filename().string(), "_UNCACHED_")) {
      found.push_back(entry.path());
    }
  }
  return found.size() == 1 ? found.front() : fs::path();
}

void Write(const fs::path& path, const std::string& content) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace

void NamePoclSizes(const Kernel& kernel) {
  std::set<std::string> sizes;
  for (const KernelLaunch& launch : kernel.launches) sizes.insert(SizeOf(launch));
  setenv("POCL_BINARY_SPECIALIZE_WG", absl::StrJoin(sizes, ",").c_str(), 1);
}

void StandInForPoclSizes(const Kernel& kernel, const std::string& folder) {
  const fs::path program = FolderOfProgram(folder);
  if (program.empty()) return;
  std::set<std::pair<std::string, std::string>> needed;
  for (const KernelLaunch& launch : kernel.launches) {
    needed.emplace(launch.function, SizeOf(launch));
  }
  for (const KernelLaunch& of_function : kernel.launches) {
    const std::string& name = of_function.function;
    const std::string file = absl::StrCat(name, ".so"), stand_in = PoclStandIn(name);
    Write(program / name / std::string(kAnySize) / file, stand_in);
    for (const KernelLaunch& of_size : kernel.launches) {
      const std::string size = SizeOf(of_size);
      if (!needed.contains({name, size})) Write(program / name / size / file, stand_in);
    }
  }
}

// A header; one segment with all of the file, which is data; the dynamic section, which the loader
// writes to; and a table of one symbol.
std::string PoclStandIn(absl::string_view kernel) {
  struct Image {
    Elf64_Ehdr header;
    std::array<Elf64_Phdr, 3> segments;
    std::array<Elf64_Dyn, 6> dynamic;
    std::array<Elf64_Sym, 2> symbols;
    // Buckets and chains of the hash table: one each for the symbol, and one for the first.
    std::array<Elf64_Word, 5> hash;
    uint32_t function;
  };
  const std::string names = absl::StrCat(absl::string_view("\0", 1), "_pocl_kernel_", kernel,
                                         "_workgroup", absl::string_view("\0", 1));
  Image image;
  std::memset(&image, 0, sizeof image);
  const auto at = [&](const auto& part) {
    return static_cast<Elf64_Addr>(reinterpret_cast<const char*>(&part) -
                                   reinterpret_cast<const char*>(&image));
  };
  // The machine is this one.
  std::ifstream("/proc/self/exe", std::ios::binary)
      .read(reinterpret_cast<char*>(&image.header), sizeof image.header);
  image.header.e_type = ET_DYN;
  image.header.e_entry = 0;
  image.header.e_phoff = at(image.segments);
  image.header.e_phentsize = sizeof(Elf64_Phdr);
  image.header.e_phnum = static_cast<Elf64_Half>(image.segments.size());
  image.header.e_shoff = image.header.e_shnum = image.header.e_shstrndx = 0;
  const Elf64_Xword size = sizeof image + names.size();
  constexpr Elf64_Xword kPage = 0x10000;
  image.segments = {{{PT_LOAD, PF_R | PF_W, 0, 0, 0, size, size, kPage},
                     {PT_DYNAMIC, PF_R | PF_W, at(image.dynamic), at(image.dynamic),
                      at(image.dynamic), sizeof image.dynamic, sizeof image.dynamic, 8},
                     {PT_GNU_STACK, PF_R | PF_W, 0, 0, 0, 0, 0, 16}}};
  image.dynamic = {{{DT_HASH, {at(image.hash)}},
                    {DT_SYMTAB, {at(image.symbols)}},
                    {DT_STRTAB, {sizeof image}},
                    {DT_STRSZ, {names.size()}},
                    {DT_SYMENT, {sizeof(Elf64_Sym)}},
                    {DT_NULL, {0}}}};
  image.symbols[1] = {1,
                      ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                      STV_DEFAULT,
                      1,
                      at(image.function),
                      sizeof image.function};
  image.hash = {1, 2, 1, 0, 0};
  return absl::StrCat(absl::string_view(reinterpret_cast<const char*>(&image), sizeof image),
                      names);
}

}  // namespace mdh
