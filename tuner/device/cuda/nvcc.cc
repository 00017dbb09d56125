#include "tuner/device/cuda/nvcc.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/device/cuda/architecture_option.h"
#include "tuner/device/cuda/nvrtc.h"
#include "tuner/device/cuda/toolkit_folders.h"

namespace mdh {
namespace {

namespace fs = std::filesystem;

// A folder that ends with the object.
class Folder {
 public:
  static Result<Folder> Create(const std::string& below) {
    std::string path = absl::StrCat(below, "/nvcc.XXXXXX");
    if (mkdtemp(path.data()) == nullptr) {
      return FailedPrecondition("cannot make a folder in ", below, ": ", std::strerror(errno));
    }
    return Folder(std::move(path));
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  Folder& operator=(Folder&&) = delete;

  std::string File(const std::string& name) const { return absl::StrCat(path_, "/", name); }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The exit status; what the program says goes to the file `log`. Errors: FailedPrecondition.
Result<int> Run(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  pid_t pid = 0;
  const int code = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (code == 0) {
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) return WEXITSTATUS(status);
  }
  return FailedPrecondition(
      code != 0 ? absl::StrCat("cannot run ", words[0], ": ", std::strerror(code))
                : absl::StrCat(words[0], " was ended by signal ", WTERMSIG(status)));
}

}  // namespace

std::vector<std::string> FilesOfCudaCompilers(const std::string& root) {
  std::vector<std::string> files;
  const auto add = [&](const std::vector<std::string>& folders, const std::string& name) {
    for (const std::string& folder : folders) {
      std::string path = absl::StrCat(folder, "/", name);
      if (access(path.c_str(), R_OK) == 0) files.push_back(std::move(path));
    }
  };
  for (const std::string& name : Nvrtc::LibraryNames()) add(Nvrtc::ToolkitFolders(root), name);
  add(Nvcc::ToolkitFolders(root), "nvcc");
  return files;
}

Result<Nvcc> Nvcc::Find(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::string path = absl::StrCat(folder, "/nvcc");
    if (access(path.c_str(), X_OK) == 0) return Nvcc(std::move(path));
  }
  return NotFound("there is no nvcc", folders.empty() ? "" : " in ", absl::StrJoin(folders, ", "));
}

std::vector<std::string> Nvcc::ToolkitFolders(const std::string& root) {
  return FoldersOfToolkits(root, {"/bin"});
}

Result<std::string> Nvcc::Compile(const std::string& source, const std::string& name,
                                  int compute_capability, const std::vector<std::string>& options,
                                  const std::string& directory) const {
  MDH_ASSIGN_OR_RETURN(const Folder folder, Folder::Create(directory));
  const std::string input = folder.File(name), output = folder.File("image"),
                    log = folder.File("log");
  std::ofstream(input, std::ios::binary) << source;
  std::vector<std::string> words = {path_, "-cubin"};
  for (std::string& option : WithArchitecture(options, compute_capability)) {
    words.push_back(std::move(option));
  }
  words.insert(words.end(), {"-o", output, input});
  MDH_ASSIGN_OR_RETURN(const int status, Run(words, log));
  if (status != 0) return InvalidArgument("nvcc: exit status ", status, "\n", Contents(log));
  std::string image = Contents(output);
  if (image.empty()) return FailedPrecondition(path_, " left no cubin");
  return image;
}

}  // namespace mdh
