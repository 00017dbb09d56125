#include "core/base/trusted_path.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace mdh {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel's
constexpr size_t kNameServiceBytes = 16 << 10;

std::optional<std::string> UserName(uid_t user) {
  std::vector<char> space(kNameServiceBytes);
  passwd entry = {};
  passwd* found = nullptr;
  getpwuid_r(user, &entry, space.data(), space.size(), &found);
  if (found == nullptr) return std::nullopt;
  return std::string(found->pw_name);
}

std::string UserText(uid_t user) {
  const std::optional<std::string> name = UserName(user);
  return name.has_value() ? absl::StrCat(*name, " (uid ", user, ")") : absl::StrCat("uid ", user);
}

// Many systems give each user a group of the same name, and umask 002. A group without a name, as
// containers have them, has no members that the machine knows.
bool IsGroupOfThisUserAlone(gid_t group) {
  std::vector<char> space(kNameServiceBytes);
  struct group entry = {};
  struct group* found = nullptr;
  if (getgrgid_r(group, &entry, space.data(), space.size(), &found) != 0) return false;
  if (found == nullptr) return true;
  const std::optional<std::string> self = UserName(geteuid());
  if (!self.has_value() || *self != found->gr_name) return false;
  for (char** member = found->gr_mem; *member != nullptr; ++member) {
    if (*self != *member) return false;
  }
  return true;
}

bool OthersMayWrite(const struct stat& state) {
  return (state.st_mode & S_IWOTH) != 0 ||
         ((state.st_mode & S_IWGRP) != 0 && !IsGroupOfThisUserAlone(state.st_gid));
}

// As of /tmp: who may write there may not replace what is others'.
bool IsSticky(const struct stat& state) {
  return S_ISDIR(state.st_mode) && (state.st_mode & S_ISVTX) != 0;
}

Status CheckOwner(const std::string& path, const struct stat& state, const TrustedUsers& trusted) {
  if (state.st_uid == 0 || state.st_uid == geteuid() || trusted.Includes(state.st_uid)) {
    return absl::OkStatus();
  }
  const std::string self = geteuid() == 0 ? "" : UserText(geteuid()) + " or ";
  return PermissionDenied(path, " belongs to ", UserText(state.st_uid), ", not to ", self,
                          "root; who trusts them says so: --trusted-users ",
                          UserName(state.st_uid).value_or(absl::StrCat(state.st_uid)),
                          ", or $MDH_TRUSTED_USERS");
}

Status OthersCouldChange(const std::string& path, const struct stat& state) {
  return PermissionDenied(absl::StrFormat(
      "%s: others than its owner, %s, may write it (mode %04o); chmod go-w %s, or use a folder of "
      "your own",
      path, UserText(state.st_uid), state.st_mode & 07777, path));
}

// The names between the slashes of `path`, before those of `rest`.
void Prepend(std::string_view path, std::deque<std::string>& rest) {
  const std::vector<std::string> names =
      absl::StrSplit(absl::string_view(path.data(), path.size()), '/', absl::SkipEmpty());
  rest.insert(rest.begin(), names.begin(), names.end());
}

// A walk from the root to the end of a path.
class Walk {
 public:
  Walk(const TrustedUsers& trusted, PathUse use) : trusted_(trusted), use_(use) {}

  Status To(const std::string& path) {
    if (!path.starts_with("/")) {
      char folder[PATH_MAX];
      if (getcwd(folder, sizeof folder) == nullptr) return Failed(".");
      Prepend(folder, rest_);
      std::deque<std::string> relative;
      Prepend(path, relative);
      rest_.insert(rest_.end(), relative.begin(), relative.end());
    } else {
      Prepend(path, rest_);
    }
    MDH_RETURN_IF_ERROR(Enter("/"));
    while (!rest_.empty() && !is_missing_) MDH_RETURN_IF_ERROR(Step());
    return absl::OkStatus();
  }

 private:
  static Status Failed(const std::string& path) {
    return FailedPrecondition(path, ": ", std::strerror(errno));
  }

  // Goes on from a folder.
  Status Enter(const std::string& path) {
    if (lstat(path.c_str(), &folder_) != 0) return Failed(path);
    at_ = path;
    MDH_RETURN_IF_ERROR(CheckOwner(path, folder_, trusted_));
    return OthersMayWrite(folder_) && !IsSticky(folder_) ? OthersCouldChange(path, folder_)
                                                         : absl::OkStatus();
  }

  Status Step() {
    const std::string name = rest_.front();
    rest_.pop_front();
    if (name == ".") return absl::OkStatus();
    if (name == "..") return Enter(at_ == "/" ? at_ : ParentOf(at_));
    const std::string path = absl::StrCat(at_ == "/" ? "" : at_, "/", name);
    struct stat state = {};
    if (lstat(path.c_str(), &state) != 0) return errno == ENOENT ? Missing(path) : Failed(path);
    if (S_ISLNK(state.st_mode)) return Follow(path, state);
    const bool is_last = rest_.empty();
    if (S_ISDIR(state.st_mode) && !is_last) return Enter(path);
    if (!is_last) {
      errno = ENOTDIR;
      return Failed(path);
    }
    if (!S_ISSOCK(state.st_mode)) return CheckTrustedState(path, state, trusted_);
    return CheckOwner(path, state, trusted_);
  }

  Status Follow(const std::string& path, const struct stat& state) {
    MDH_RETURN_IF_ERROR(CheckOwner(path, state, trusted_));
    char target[PATH_MAX];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length < 0) return Failed(path);
    if (++links_ > kMaxLinks) {
      errno = ELOOP;
      return Failed(path);
    }
    const std::string_view text(target, static_cast<size_t>(length));
    Prepend(text, rest_);
    return text.starts_with("/") ? Enter("/") : absl::OkStatus();
  }

  Status Missing(const std::string& path) {
    is_missing_ = true;
    if (use_ != PathUse::kSocket || !OthersMayWrite(folder_)) return absl::OkStatus();
    return NotFound("there is no ", path);
  }

  static std::string ParentOf(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == 0 ? "/" : path.substr(0, slash);
  }

  const TrustedUsers& trusted_;
  const PathUse use_;
  std::deque<std::string> rest_;
  std::string at_;           // a folder, without links
  struct stat folder_ = {};  // of at_
  int links_ = 0;
  bool is_missing_ = false;
};

}  // namespace

Result<TrustedUsers> TrustedUsers::Parse(std::string_view text) {
  TrustedUsers users;
  for (const std::string& word :
       std::vector<std::string>(absl::StrSplit(absl::string_view(text.data(), text.size()),
                                               absl::ByAnyChar(", "), absl::SkipEmpty()))) {
    uint32_t number = 0;
    std::vector<char> space(kNameServiceBytes);
    passwd entry = {};
    passwd* found = nullptr;
    if (word == "*") {
      users.everybody_ = true;
    } else if (absl::SimpleAtoi(word, &number)) {
      users.Add(number);
    } else if (getpwnam_r(word.c_str(), &entry, space.data(), space.size(), &found) == 0 &&
               found != nullptr) {
      users.Add(found->pw_uid);
    } else {
      return InvalidArgument("there is no user '", word, "' who could be trusted");
    }
  }
  return users;
}

bool TrustedUsers::Includes(uid_t user) const { return everybody_ || users_.contains(user); }

Status CheckTrustedPath(const std::string& path, const TrustedUsers& trusted, PathUse use) {
  if (trusted.includes_everybody()) return absl::OkStatus();
  const Status walked = Walk(trusted, use).To(path);
  if (walked.ok()) return walked;
  const std::string message(walked.message());
  const bool is_named = message.starts_with(path + " ") || message.starts_with(path + ":");
  return is_named ? walked : Status(walked.code(), absl::StrCat(path, ": ", message));
}

bool IsNameShared(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct stat state = {};
  return stat(folder.c_str(), &state) == 0 && OthersMayWrite(state);
}

Status CheckTrustedState(const std::string& path, const struct stat& state,
                         const TrustedUsers& trusted) {
  if (trusted.includes_everybody()) return absl::OkStatus();
  MDH_RETURN_IF_ERROR(CheckOwner(path, state, trusted));
  const bool is_stored = S_ISREG(state.st_mode) || S_ISDIR(state.st_mode);
  return is_stored && OthersMayWrite(state) ? OthersCouldChange(path, state) : absl::OkStatus();
}

}  // namespace mdh
