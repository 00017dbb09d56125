// A folder that cannot be written, also for a superuser.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {

// How a folder becomes one that cannot be written.
enum class ReadOnlyWay { kPermissions, kMount };

// While it exists, this thread and those that it starts cannot write the folder and what is in it.
class ReadOnlyFolder {
 public:
  ReadOnlyFolder(std::string path, ReadOnlyWay way) : path_(std::move(path)), way_(way) {
    const bool is_done = way_ == ReadOnlyWay::kMount ? Mount() : TakePermissions();
    if (!is_done) problem_ = absl::StrCat("this system does not allow it: ", std::strerror(errno));
  }
  ~ReadOnlyFolder() {
    if (way_ == ReadOnlyWay::kMount) {
      umount2(path_.c_str(), MNT_DETACH);
      return;
    }
    if (is_superuser_) [[maybe_unused]]
      const int ignored = seteuid(0);
    Permit(std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
  }
  ReadOnlyFolder(const ReadOnlyFolder&) = delete;
  ReadOnlyFolder& operator=(const ReadOnlyFolder&) = delete;

  // Why it can be written all the same; nullopt if it cannot.
  const std::optional<std::string>& problem() const { return problem_; }

 private:
  static constexpr uid_t kNobody = 65534;

  // Mounted over itself, where only this thread sees it.
  bool Mount() {
    return unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount(path_.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
           mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
  }
  // A superuser, who needs none, becomes somebody else meanwhile, who must be able to get there.
  bool TakePermissions() {
    using std::filesystem::perms;
    Permit(perms::group_read | perms::others_read, std::filesystem::perm_options::add);
    const std::filesystem::path folders[] = {path_, std::filesystem::path(path_).parent_path()};
    for (const std::filesystem::path& folder : folders) {
      std::filesystem::permissions(folder, perms::group_exec | perms::others_exec,
                                   std::filesystem::perm_options::add);
    }
    Permit(perms::owner_write | perms::group_write | perms::others_write,
           std::filesystem::perm_options::remove);
    return !is_superuser_ || seteuid(kNobody) == 0;
  }
  void Permit(std::filesystem::perms permissions, std::filesystem::perm_options how) {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      std::filesystem::permissions(entry, permissions, how);
    }
    std::filesystem::permissions(path_, permissions, how);
  }

  const std::string path_;
  const ReadOnlyWay way_;
  const bool is_superuser_ = geteuid() == 0;
  std::optional<std::string> problem_;
};

}  // namespace mdh
