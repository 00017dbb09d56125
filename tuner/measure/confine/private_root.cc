#include "tuner/measure/confine/private_root.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace mdh {
namespace {

namespace fs = std::filesystem;

// While the new root is built, /tmp is it and the old one is in there.
constexpr const char* kBase = "/tmp";
constexpr const char* kOld = "/old";
constexpr const char* kNew = "/new";
constexpr const char* kSmall = "mode=755,size=16m";
constexpr const char* kScratch = "mode=1777,size=2g";

// Programs, libraries and their settings. No homes, no /var, no /run; of /etc only what is named.
constexpr const char* kReadable[] = {"/usr",
                                     "/bin",
                                     "/sbin",
                                     "/lib",
                                     "/lib32",
                                     "/lib64",
                                     "/libx32",
                                     "/opt",
                                     "/sys",
                                     "/etc/OpenCL",
                                     "/etc/alternatives",
                                     "/etc/ld.so.cache",
                                     "/etc/ld.so.conf",
                                     "/etc/ld.so.conf.d",
                                     "/etc/nvidia"};
constexpr const char* kDevices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                    "/dev/urandom"};
constexpr const char* kOpenClDevices[] = {"/dev/dri", "/dev/kfd", "/dev/nvidia*"};
constexpr const char* kCudaDevices[] = {"/dev/nvidia*"};
// Of processes without privileges only the owner counts, who may be root.
constexpr const char* kKernelSettings[] = {
    "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"};

absl::Span<const char* const> DevicesOf(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kOpenCl:
      return kOpenClDevices;
    case DeviceKind::kCuda:
      return kCudaDevices;
    default:
      return {};
  }
}

Status MountError(const std::string& what) {
  return FailedPrecondition(what, ": ", std::strerror(errno));
}

Status Mount(const std::string& source, const std::string& target, const char* type,
             unsigned long flags, const char* data = nullptr) {
  if (mount(source.c_str(), target.c_str(), type, flags, data) == 0) return absl::OkStatus();
  return MountError(absl::StrCat("mounting ", target));
}

Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return FailedPrecondition("making ", path, ": ", error.message());
}

// With all that is mounted in it.
Status SetReadOnly(const std::string& target) {
  mount_attr attributes = {};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  if (syscall(SYS_mount_setattr, AT_FDCWD, target.c_str(), AT_RECURSIVE, &attributes,
              sizeof(attributes)) == 0) {
    return absl::OkStatus();
  }
  return MountError(absl::StrCat("making ", target, " read-only"));
}

// Makes `path` of the old root appear in the new one.
Status Bind(const std::string& path) {
  const std::string source = kOld + path;
  const std::string target = kNew + path;
  struct stat status = {};
  if (stat(source.c_str(), &status) != 0) return MountError(source);
  if (S_ISDIR(status.st_mode)) {
    MDH_RETURN_IF_ERROR(MakeFolder(target));
  } else {
    MDH_RETURN_IF_ERROR(MakeFolder(fs::path(target).parent_path().string()));
    std::ofstream(target).close();
  }
  return Mount(source, target, nullptr, MS_BIND | MS_REC);
}

Status Show(const std::string& path) {
  const std::string source = kOld + path;
  std::error_code error;
  if (fs::is_symlink(source, error)) {  // /bin is usr/bin
    MDH_RETURN_IF_ERROR(MakeFolder(fs::path(kNew + path).parent_path().string()));
    fs::copy_symlink(source, kNew + path, error);
    return absl::OkStatus();
  }
  if (!fs::exists(source, error) || fs::exists(kNew + path, error)) return absl::OkStatus();
  MDH_RETURN_IF_ERROR(Bind(path));
  return SetReadOnly(kNew + path);
}

// The files of the old root that `pattern` means.
std::vector<std::string> Matching(const std::string& pattern) {
  glob_t found = {};
  const absl::Cleanup release = [&found] { globfree(&found); };
  std::vector<std::string> paths;
  if (glob((kOld + pattern).c_str(), 0, nullptr, &found) != 0) return paths;
  for (size_t n = 0; n < found.gl_pathc; ++n) {
    paths.push_back(std::string(found.gl_pathv[n]).substr(std::strlen(kOld)));
  }
  return paths;
}

Status ShowDevices(DeviceKind kind) {
  for (const char* device : kDevices) MDH_RETURN_IF_ERROR(Bind(device));
  for (const char* pattern : DevicesOf(kind)) {
    for (const std::string& device : Matching(pattern)) MDH_RETURN_IF_ERROR(Bind(device));
  }
  std::error_code ignored;
  fs::create_symlink("/proc/self/fd", std::string(kNew) + "/dev/fd", ignored);
  const std::string shared = std::string(kNew) + "/dev/shm";
  MDH_RETURN_IF_ERROR(MakeFolder(shared));
  return Mount("tmpfs", shared, "tmpfs", MS_NOSUID | MS_NODEV, kScratch);
}

Status ShowProcesses() {
  const std::string proc = std::string(kNew) + "/proc";
  MDH_RETURN_IF_ERROR(MakeFolder(proc));
  MDH_RETURN_IF_ERROR(Mount("proc", proc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC));
  for (const char* settings : kKernelSettings) {
    const std::string path = std::string(kNew) + settings;
    if (access(path.c_str(), F_OK) != 0) continue;
    MDH_RETURN_IF_ERROR(Mount(path, path, nullptr, MS_BIND));
    MDH_RETURN_IF_ERROR(SetReadOnly(path));
  }
  return absl::OkStatus();
}

// An empty root in memory, with the old one in it.
Status LeaveOldRoot() {
  MDH_RETURN_IF_ERROR(Mount("none", "/", nullptr, MS_REC | MS_PRIVATE));
  MDH_RETURN_IF_ERROR(Mount("tmpfs", kBase, "tmpfs", MS_NOSUID | MS_NODEV, kSmall));
  const std::string old = std::string(kBase) + kOld;
  MDH_RETURN_IF_ERROR(MakeFolder(old));
  if (syscall(SYS_pivot_root, kBase, old.c_str()) != 0 || chdir("/") != 0) {
    return MountError("leaving the root");
  }
  MDH_RETURN_IF_ERROR(MakeFolder(kNew));
  return Mount("tmpfs", kNew, "tmpfs", MS_NOSUID | MS_NODEV, kSmall);
}

Status EnterNewRoot() {
  mount_attr attributes = {};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (syscall(SYS_mount_setattr, AT_FDCWD, kNew, 0, &attributes, sizeof(attributes)) != 0) {
    return MountError("making the root read-only");
  }
  // The old root comes to lie above the new one, at the same place, and goes.
  if (chdir(kNew) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 ||
      chdir("/") != 0) {
    return MountError("entering the root");
  }
  return absl::OkStatus();
}

}  // namespace

Status EnterPrivateRoot(const PrivateRoot& root) {
  MDH_RETURN_IF_ERROR(LeaveOldRoot());
  for (const char* path : kReadable) MDH_RETURN_IF_ERROR(Show(path));
  MDH_RETURN_IF_ERROR(ShowDevices(root.kind));
  MDH_RETURN_IF_ERROR(ShowProcesses());
  const std::string temporary = std::string(kNew) + "/tmp";
  MDH_RETURN_IF_ERROR(MakeFolder(temporary));
  MDH_RETURN_IF_ERROR(Mount("tmpfs", temporary, "tmpfs", MS_NOSUID | MS_NODEV, kScratch));
  for (const std::string& path : root.visible) {
    if (absl::StartsWith(path, "/")) MDH_RETURN_IF_ERROR(Show(path));
  }
  MDH_RETURN_IF_ERROR(Bind(root.writable));
  return EnterNewRoot();
}

}  // namespace mdh
