// One self-contained HTML page: styles, scripts and data inside; it loads nothing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mdh {

// `data`: what the scripts of this folder draw; `page` in it is "job", "cache" or "study". Texts in
// it may be anything: they reach the page as text only, and its content security policy runs no
// other script.
std::string ReportPage(const std::string& title, const nlohmann::json& data);

// A text for between tags or quotes of HTML.
std::string EscapeHtml(const std::string& text);

}  // namespace mdh
