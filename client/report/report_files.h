// The files of this folder that are parts of every page; they become a part of the program.
#pragma once

#include <string>

namespace mdh {

std::string ReportTemplate();  // page.html
std::string ReportStyle();     // page.css
std::string ReportScript();    // all scripts, one after another

}  // namespace mdh
