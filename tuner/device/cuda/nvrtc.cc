#include "tuner/device/cuda/nvrtc.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tuner/device/cuda/architecture_option.h"
#include "tuner/device/cuda/toolkit_folders.h"

namespace mdh {

// Prototypes of nvrtc.h, as its documentation gives them; 0 is success.
struct NvrtcFunctions {
  const char* (*error_string)(int);
  int (*version)(int*, int*);
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy)(void**);
  int (*compile)(void*, int, const char* const*);
  int (*log_size)(void*, size_t*);
  int (*log)(void*, char*);
  int (*cubin_size)(void*, size_t*);
  int (*cubin)(void*, char*);
  int (*ptx_size)(void*, size_t*);
  int (*ptx)(void*, char*);
  int (*add_name)(void*, const char*);
  int (*lowered_name)(void*, const char*, const char**);
};

namespace {

Status LoadFunctions(const SharedLibrary& library, NvrtcFunctions* functions) {
  MDH_RETURN_IF_ERROR(library.Load("nvrtcGetErrorString", &functions->error_string));
  MDH_RETURN_IF_ERROR(library.Load("nvrtcVersion", &functions->version));
  MDH_RETURN_IF_ERROR(library.Load("nvrtcCreateProgram", &functions->create));
  MDH_RETURN_IF_ERROR(library.Load("nvrtcDestroyProgram", &functions->destroy));
  MDH_RETURN_IF_ERROR(library.Load("nvrtcCompileProgram", &functions->compile));
  MDH_RETURN_IF_ERROR(library.Load("nvrtcGetProgramLogSize", &functions->log_size));
  MDH_RETURN_IF_ERROR(library.Load("nvrtcGetProgramLog", &functions->log));
  MDH_RETURN_IF_ERROR(library.Load("nvrtcGetCUBINSize", &functions->cubin_size));
  MDH_RETURN_IF_ERROR(library.Load("nvrtcGetCUBIN", &functions->cubin));
  MDH_RETURN_IF_ERROR(library.Load("nvrtcGetPTXSize", &functions->ptx_size));
  MDH_RETURN_IF_ERROR(library.Load("nvrtcGetPTX", &functions->ptx));
  MDH_RETURN_IF_ERROR(library.Load("nvrtcAddNameExpression", &functions->add_name));
  return library.Load("nvrtcGetLoweredName", &functions->lowered_name);
}

Status Check(const NvrtcFunctions& functions, const char* call, int code) {
  if (code == 0) return absl::OkStatus();
  return Internal(call, ": ", functions.error_string(code));
}

// A program and its end.
class Program {
 public:
  explicit Program(const NvrtcFunctions& functions) : functions_(functions) {}
  ~Program() {
    if (program_ != nullptr) functions_.destroy(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Status Create(const std::string& source, const std::string& name) {
    return Check(functions_, "nvrtcCreateProgram",
                 functions_.create(&program_, source.c_str(), name.c_str(), 0, nullptr, nullptr));
  }

  Status Compile(const std::vector<const char*>& options) {
    const int code = functions_.compile(program_, static_cast<int>(options.size()), options.data());
    constexpr int kInvalidOption = 5, kCompilation = 6;  // NVRTC_ERROR_...
    if (code == 0) return absl::OkStatus();
    has_refused_option_ = code == kInvalidOption;
    const Status status = Check(functions_, "nvrtcCompileProgram", code);
    const Result<std::string> log = Log();
    const std::string message =
        absl::StrCat(std::string(status.message()), "\n", log.ok() ? *log : "");
    return code == kCompilation ? InvalidArgument(message) : Internal(message);
  }

  // Whether Compile failed because there is no such option.
  bool has_refused_option() const { return has_refused_option_; }
  Result<std::string> Log() const {
    MDH_ASSIGN_OR_RETURN(std::string log,
                         Read("nvrtcGetProgramLog", functions_.log_size, functions_.log));
    while (!log.empty() && log.back() == '\0') log.pop_back();  // its size counts the end
    return log;
  }
  Result<std::string> Cubin() const {
    return Read("nvrtcGetCUBIN", functions_.cubin_size, functions_.cubin);
  }

  Status AddName(const std::string& name) {
    return Check(functions_, "nvrtcAddNameExpression", functions_.add_name(program_, name.c_str()));
  }
  // In the image, of a name that was added before the compilation.
  Result<std::string> LoweredName(const std::string& name) const {
    const char* lowered = nullptr;
    MDH_RETURN_IF_ERROR(Check(functions_, "nvrtcGetLoweredName",
                              functions_.lowered_name(program_, name.c_str(), &lowered)));
    return std::string(lowered);
  }

  Result<std::string> Read(const char* call, int (*size)(void*, size_t*),
                           int (*read)(void*, char*)) const {
    size_t bytes = 0;
    MDH_RETURN_IF_ERROR(Check(functions_, call, size(program_, &bytes)));
    std::string text(bytes, '\0');
    MDH_RETURN_IF_ERROR(Check(functions_, call, read(program_, text.data())));
    return text;
  }

 private:
  const NvrtcFunctions& functions_;
  void* program_ = nullptr;
  bool has_refused_option_ = false;
};

}  // namespace

const std::vector<std::string>& Nvrtc::LibraryNames() {
  static const auto& names =
      *new std::vector<std::string>{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
  return names;
}

namespace {

std::vector<const char*> Words(const std::vector<std::string>& options) {
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  return words;
}

}  // namespace

Result<Nvrtc> Nvrtc::Load(const std::vector<std::string>& folders) {
  MDH_ASSIGN_OR_RETURN(const SharedLibrary library, SharedLibrary::Open(LibraryNames(), folders));
  auto functions = std::make_unique<NvrtcFunctions>();
  MDH_RETURN_IF_ERROR(LoadFunctions(library, functions.get()));
  return Nvrtc(library.path(), functions.release());
}

std::vector<std::string> Nvrtc::ToolkitFolders(const std::string& root) {
  std::vector<std::string> folders;
  if (!root.empty()) folders.push_back(root);
  for (std::string& folder : FoldersOfToolkits(root, {"/lib64", "/lib"})) {
    folders.push_back(std::move(folder));
  }
  return folders;
}

std::string Nvrtc::Version() const {
  int major = 0, minor = 0;
  functions_->version(&major, &minor);
  return absl::StrCat(major, ".", minor);
}

Result<std::string> Nvrtc::Compile(const std::string& source, const std::string& name,
                                   int compute_capability, const std::vector<std::string>& options,
                                   Output output) const {
  const bool is_ptx = output == Output::kPtx;
  std::vector<std::string> all = WithArchitecture(options, compute_capability);
  if (is_ptx) {
    for (std::string& option : all) absl::StrReplaceAll({{"=sm_", "=compute_"}}, &option);
  }
  Program program(*functions_);
  MDH_RETURN_IF_ERROR(program.Create(source, name));
  MDH_RETURN_IF_ERROR(program.Compile(Words(all)));
  return is_ptx ? program.Read("nvrtcGetPTX", functions_->ptx_size, functions_->ptx)
                : program.Cubin();
}

Result<Nvrtc::Report> Nvrtc::CompileWithReport(const std::string& source, const std::string& name,
                                               int compute_capability,
                                               const std::vector<std::string>& options) const {
  std::vector<std::string> all = WithArchitecture(options, compute_capability);
  all.push_back("--ptxas-options=-v");
  Program program(*functions_);
  MDH_RETURN_IF_ERROR(program.Create(source, name));
  const Status status = program.Compile(Words(all));
  Report report;
  if (program.has_refused_option()) {
    // Perhaps that of the report, in a version that has no such option: then without it.
    MDH_ASSIGN_OR_RETURN(report.cubin, Compile(source, name, compute_capability, options));
    return report;
  }
  MDH_RETURN_IF_ERROR(status);
  MDH_ASSIGN_OR_RETURN(report.cubin, program.Cubin());
  MDH_ASSIGN_OR_RETURN(report.log, program.Log());
  return report;
}

Result<Nvrtc::NamedImage> Nvrtc::CompileFunction(const std::string& source,
                                                 const std::string& function,
                                                 int compute_capability,
                                                 const std::vector<std::string>& options) const {
  Program program(*functions_);
  const std::vector<std::string> all = WithArchitecture(options, compute_capability);
  MDH_RETURN_IF_ERROR(program.Create(source, "kernel.cu"));
  MDH_RETURN_IF_ERROR(program.AddName(function));
  MDH_RETURN_IF_ERROR(program.Compile(Words(all)));
  NamedImage image;
  MDH_ASSIGN_OR_RETURN(image.name, program.LoweredName(function));
  MDH_ASSIGN_OR_RETURN(image.image, program.Cubin());
  return image;
}

}  // namespace mdh
