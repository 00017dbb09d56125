#include "proto/bundle_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/sha256.h"
#include "core/base/text_view.h"
#include "proto/bundle_layout.h"

namespace mdh {
namespace {

using Layout = BundleLayout;

constexpr size_t kNumberBytes = 4;  // before texts of identities

template <typename... Parts>
Status Bad(const Parts&... what) {
  return InvalidArgument("the bundle ", what...);
}

Status Damaged(const std::string& where) {
  return Bad("is damaged: ", where, " was changed, its SHA-256 is another");
}

bool IsSum(const Sha256::Sum& sum, const char* stored) {
  return std::memcmp(sum.data(), stored, sum.size()) == 0;
}

bool IsZero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char byte) { return byte == 0; });
}

// The sizes of the parts of an entry, as its row has them.
struct ContentSizes {
  uint64_t identity, compiler, record, kernel;

  explicit ContentSizes(const char* row)
      : identity(LoadLittleEndian<uint32_t>(row + Layout::Row::kIdentityBytesAt)),
        compiler(LoadLittleEndian<uint32_t>(row + Layout::Row::kCompilerBytesAt)),
        record(LoadLittleEndian<uint32_t>(row + Layout::Row::kRecordBytesAt)),
        kernel(LoadLittleEndian<uint32_t>(row + Layout::Row::kKernelBytesAt)) {}
  uint64_t all() const { return identity + compiler + record + kernel; }
};

// Whether the lengths inside fill an identity exactly.
bool IsIdentity(std::string_view bytes) {
  if (bytes.size() < 3 * kNumberBytes) return false;
  const uint64_t form = LoadLittleEndian<uint32_t>(bytes.data() + kNumberBytes);
  const uint64_t device_at = 2 * kNumberBytes + form;
  if (device_at + kNumberBytes > bytes.size()) return false;
  const uint64_t device = LoadLittleEndian<uint32_t>(bytes.data() + device_at);
  return device_at + kNumberBytes + device == bytes.size();
}

}  // namespace

class BundleFile::Mapping {
 public:
  Mapping(void* address, size_t size) : address_(address), size_(size) {}
  ~Mapping() { munmap(address_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  static Result<std::unique_ptr<Mapping>> Of(const std::string& path);
  std::string_view bytes() const { return {static_cast<const char*>(address_), size_}; }

 private:
  void* const address_;
  const size_t size_;
};

Result<std::unique_ptr<BundleFile::Mapping>> BundleFile::Mapping::Of(const std::string& path) {
  const auto failed = [&] {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open the bundle ", path));
  };
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed();
  const absl::Cleanup close_file = [file] { close(file); };
  struct stat state = {};
  if (fstat(file, &state) != 0) return failed();
  if (!S_ISREG(state.st_mode)) return Bad("is no regular file");
  if (state.st_size < static_cast<off_t>(Layout::Header::kBytes)) {
    // Not even a header; and nothing cannot be mapped.
    return Bad("is no bundle, or is cut off");
  }
  const auto size = static_cast<size_t>(state.st_size);
  void* const address = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (address == MAP_FAILED) return failed();
  return std::make_unique<Mapping>(address, size);
}

Result<std::unique_ptr<BundleFile>> BundleFile::Open(const std::string& path, BundleCheck check,
                                                     const TrustedUsers& trusted) {
  const Status checked = CheckTrustedPath(path, trusted);
  if (absl::IsPermissionDenied(checked)) return checked;
  const auto in_file = [&](const Status& error) {
    return absl::IsInvalidArgument(error)
               ? Status(error.code(), absl::StrCat(path, ": ", error.message()))
               : error;
  };
  Result<std::unique_ptr<Mapping>> mapping = Mapping::Of(path);
  if (!mapping.ok()) return in_file(mapping.status());
  Result<std::unique_ptr<BundleFile>> bundle = FromBytes((*mapping)->bytes(), check);
  if (!bundle.ok()) return in_file(bundle.status());
  (*bundle)->mapping_ = *std::move(mapping);
  return bundle;
}

Result<std::unique_ptr<BundleFile>> BundleFile::FromBytes(std::string_view bytes,
                                                          BundleCheck check) {
  std::unique_ptr<BundleFile> bundle(new BundleFile(bytes));
  MDH_RETURN_IF_ERROR(bundle->CheckHeader());
  MDH_RETURN_IF_ERROR(bundle->CheckSlots());
  MDH_RETURN_IF_ERROR(bundle->CheckRows());
  if (check == BundleCheck::kWhenOpened) {
    MDH_RETURN_IF_ERROR(bundle->CheckContents());
  } else {
    bundle->is_checked_ = std::vector<std::atomic<bool>>(bundle->entries_);
  }
  return bundle;
}

BundleFile::BundleFile(std::string_view bytes) : bytes_(bytes) {}

BundleFile::~BundleFile() = default;

Status BundleFile::CheckHeader() {
  if (bytes_.substr(0, Layout::kMagic.size()) != Layout::kMagic) {
    return Bad("does not begin as one");
  }
  if (bytes_.size() < Layout::Header::kBytes) return Bad("is cut off");
  const auto version = LoadLittleEndian<uint32_t>(bytes_.data() + Layout::Header::kVersionAt);
  if (version != Layout::kVersion) {
    return Bad("is of version ", version, ", but this program reads version ", Layout::kVersion);
  }
  const auto number = [&](size_t at) { return LoadLittleEndian<uint64_t>(bytes_.data() + at); };
  if (number(Layout::Header::kFileBytesAt) != bytes_.size()) {
    return Bad("is cut off, or something was added: it has ", bytes_.size(),
               " bytes and should have ", number(Layout::Header::kFileBytesAt));
  }
  entries_ = number(Layout::Header::kEntriesAt);
  slots_ = number(Layout::Header::kSlotsAt);
  info_bytes_ = number(Layout::Header::kInfoBytesAt);
  const bool is_possible = entries_ <= bytes_.size() / Layout::Row::kBytes &&
                           slots_ <= bytes_.size() / Layout::Slot::kBytes &&
                           info_bytes_ <= bytes_.size() && slots_ >= Layout::kFewestSlots &&
                           std::has_single_bit(slots_) && slots_ >= 2 * entries_;
  const uint64_t contents_at = is_possible
                                   ? Layout::RoundUp(Layout::InfoAt(slots_, entries_) + info_bytes_,
                                                     Layout::kContentsAlignment)
                                   : 0;
  if (!is_possible || contents_at > bytes_.size()) return Bad("has wrong sizes in its header");
  const Sha256::Sum sum =
      Sha256()
          .Add(View(bytes_.substr(0, Layout::Header::kSumAt)))
          .Add(View(bytes_.substr(Layout::Header::kBytes, contents_at - Layout::Header::kBytes)))
          .Finish();
  if (!IsSum(sum, bytes_.data() + Layout::Header::kSumAt)) return Damaged("its index");
  return absl::OkStatus();
}

// So that every search of a slot ends, at an entry that is there.
Status BundleFile::CheckSlots() const {
  uint64_t used = 0;
  for (uint64_t slot = 0; slot < slots_; ++slot) {
    const char* const at = bytes_.data() + Layout::Header::kBytes + slot * Layout::Slot::kBytes;
    const auto number = LoadLittleEndian<uint64_t>(at + Layout::Slot::kNumberAt);
    if (number > entries_) return Bad("has an index with numbers of no entry");
    used += number != 0 ? 1 : 0;
  }
  return used == entries_ ? absl::OkStatus() : Bad("has an index that is not complete");
}

Status BundleFile::CheckRows() const {
  uint64_t end =
      Layout::RoundUp(Layout::InfoAt(slots_, entries_) + info_bytes_, Layout::kContentsAlignment);
  for (size_t number = 0; number < entries_; ++number) {
    const char* const row = Row(number);
    const ContentSizes sizes(row);
    const bool is_inside = LoadLittleEndian<uint64_t>(row + Layout::Row::kOffsetAt) == end &&
                           sizes.all() <= bytes_.size() - end;
    if (!is_inside) return Bad("has entry ", number, " at a wrong place");
    const uint64_t next = Layout::RoundUp(end + sizes.all(), Layout::kContentAlignment);
    if (next > bytes_.size()) return Bad("ends within an entry");
    end = next;
  }
  return end == bytes_.size() ? absl::OkStatus() : Bad("has bytes after its last entry");
}

Status BundleFile::CheckContents() const {
  for (size_t number = 0; number < entries_; ++number) MDH_RETURN_IF_ERROR(CheckContent(number));
  return absl::OkStatus();
}

Status BundleFile::CheckContent(size_t number) const {
  const char* const row = Row(number);
  const auto offset = LoadLittleEndian<uint64_t>(row + Layout::Row::kOffsetAt);
  const uint64_t size = ContentSizes(row).all();
  const uint64_t next = Layout::RoundUp(offset + size, Layout::kContentAlignment);
  if (!IsSum(Sha256::Of(View(bytes_.substr(offset, size))), row + Layout::Row::kSumAt) ||
      !IsZero(bytes_.substr(offset + size, next - offset - size))) {
    return Damaged(absl::StrCat("entry ", number));
  }
  if (!IsIdentity(Identity(number))) return Bad("has entry ", number, " without key");
  return absl::OkStatus();
}

const char* BundleFile::Row(size_t number) const {
  return bytes_.data() + Layout::RowsAt(slots_) + number * Layout::Row::kBytes;
}

std::string_view BundleFile::Identity(size_t number) const {
  const char* const row = Row(number);
  return bytes_.substr(LoadLittleEndian<uint64_t>(row + Layout::Row::kOffsetAt),
                       LoadLittleEndian<uint32_t>(row + Layout::Row::kIdentityBytesAt));
}

Result<BundleEntry> BundleFile::Entry(size_t number) const {
  if (!is_checked_.empty() && !is_checked_[number].load(std::memory_order_relaxed)) {
    MDH_RETURN_IF_ERROR(CheckContent(number));
    is_checked_[number].store(true, std::memory_order_relaxed);
  }
  const char* const row = Row(number);
  const ContentSizes sizes(row);
  std::string_view rest =
      bytes_.substr(LoadLittleEndian<uint64_t>(row + Layout::Row::kOffsetAt), sizes.all());
  const auto take = [&rest](uint64_t size) {
    const std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  };
  BundleEntry entry;
  entry.generator_version =
      static_cast<int>(LoadLittleEndian<uint32_t>(row + Layout::Row::kGeneratorAt));
  entry.numerics_policy = static_cast<int>(LoadLittleEndian<uint32_t>(take(kNumberBytes).data()));
  entry.canonical_form = take(LoadLittleEndian<uint32_t>(take(kNumberBytes).data()));
  entry.device_fingerprint = take(LoadLittleEndian<uint32_t>(take(kNumberBytes).data()));
  entry.compiler = take(sizes.compiler);
  entry.record = take(sizes.record);
  entry.kernel = take(sizes.kernel);
  return entry;
}

Result<BundleEntry> BundleFile::Find(const BundleQuery& query) const {
  for (uint64_t slot = query.hash() & (slots_ - 1);; slot = (slot + 1) & (slots_ - 1)) {
    const char* const at = bytes_.data() + Layout::Header::kBytes + slot * Layout::Slot::kBytes;
    const auto number = LoadLittleEndian<uint64_t>(at + Layout::Slot::kNumberAt);
    if (number == 0) return NotFound("the bundle has no such kernel");
    if (LoadLittleEndian<uint64_t>(at + Layout::Slot::kHashAt) != query.hash() ||
        Identity(number - 1) != query.identity()) {
      continue;
    }
    const Result<BundleEntry> entry = Entry(number - 1);
    if (!entry.ok()) return entry;
    const bool is_same_code =
        (query.compiler().empty() || query.compiler() == entry->compiler) &&
        (query.generator_version() == 0 || query.generator_version() == entry->generator_version);
    if (is_same_code) return entry;
  }
}

std::string_view BundleFile::info() const {
  return bytes_.substr(Layout::InfoAt(slots_, entries_), info_bytes_);
}

std::string BundleFile::Sum() const {
  return absl::BytesToHexString(
      View(bytes_.substr(Layout::Header::kSumAt, std::tuple_size_v<Sha256::Sum>)));
}

Result<std::vector<std::string_view>> BundleFile::DeviceFingerprints() const {
  std::vector<std::string_view> found;
  for (size_t number = 0; number < entries_; ++number) {
    MDH_ASSIGN_OR_RETURN(const BundleEntry entry, Entry(number));
    found.push_back(entry.device_fingerprint);
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace mdh
