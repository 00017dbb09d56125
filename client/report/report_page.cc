#include "client/report/report_page.h"

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/report/report_files.h"
#include "core/expression/canonical.h"

namespace mdh {
namespace {

// As a content security policy names an inline script or style.
std::string HashSource(const std::string& text) {
  return absl::StrCat("sha256-", absl::Base64Escape(absl::HexStringToBytes(Sha256Hex(text))));
}

// JSON that holds no "<", which alone could end the script element or begin a comment in it.
std::string JsonForScript(const nlohmann::json& data) {
  const std::string json = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return absl::StrReplaceAll(json, {{"<", "\\u003c"}});
}

}  // namespace

std::string EscapeHtml(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string ReportPage(const std::string& title, const nlohmann::json& data) {
  const std::string style = ReportStyle();
  const std::string script = ReportScript();
  return absl::StrReplaceAll(ReportTemplate(), {{"{{STYLE_HASH}}", HashSource(style)},
                                                {"{{SCRIPT_HASH}}", HashSource(script)},
                                                {"{{TITLE}}", EscapeHtml(title)},
                                                {"{{STYLE}}", style},
                                                {"{{SCRIPT}}", script},
                                                {"{{DATA}}", JsonForScript(data)}});
}

}  // namespace mdh
