// What `mdh top` shows, as lines of text.
#pragma once

#include <string>
#include <vector>

#include "client/text/terminal.h"
#include "mdh/v1/admin.pb.h"
#include "mdh/v1/device.pb.h"
#include "mdh/v1/tuning.pb.h"

namespace mdh {

// What a daemon does now.
struct DaemonState {
  std::string server;  // its address
  std::string error;   // why it could not be asked; empty: it could
  v1::Statistics statistics;
  double lookups_per_s = -1;  // since the state before; negative: not known
  std::vector<v1::Device> devices;
  std::vector<v1::TuningJob> jobs;   // running, then queued and paused ones
  std::vector<v1::Node> nodes = {};  // the daemons that share its database
};

enum class Styling { kPlain, kAnsi };

// Lines of at most `size.columns` characters; at most `size.rows` lines, where jobs that do not fit
// are counted in the last one. With Styling::kAnsi headings and states are marked.
std::vector<std::string> FormatTop(const DaemonState& state, TerminalSize size, Styling styling);

}  // namespace mdh
