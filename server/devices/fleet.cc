#include "server/devices/fleet.h"

#include <spdlog/spdlog.h>

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "codegen/program/kernel.h"
#include "server/devices/device_names.h"
#include "server/records/resource_names.h"
#include "server/records/timestamp.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// Between two looks at what the others have, for each of them; in nanoseconds. A hundred are looked
// at with each renewal.
constexpr int64_t kPauseForEach = 40'000'000;

v1::Node Described(const FleetOptions& options) {
  v1::Node node;
  node.set_name(NodeName(options.daemon));
  node.set_server_version(options.server_version);
  node.set_generator_version(kGeneratorVersion);
  return node;
}

// As the other daemons show it.
v1::Device AsOfAnother(v1::Device device, const v1::Node& node) {
  device.set_name(DeviceOfNode(node.name(), device.name()));
  device.set_node(node.name());
  if (!node.is_gone()) return device;
  device.set_health(v1::DEVICE_HEALTH_UNHEALTHY);
  device.set_health_reason(absl::StrCat(node.name(), " is gone: it was last heard of at ",
                                        absl::FormatTime(FromProto(node.seen_time()))));
  device.clear_load();
  return device;
}

}  // namespace

Fleet::Fleet(Store& store, FleetOptions options)
    : store_(store),
      options_(std::move(options)),
      self_(Described(options_)),
      devices_(std::make_shared<const std::vector<v1::Device>>()) {}

void Fleet::Renew(const std::vector<v1::Device>& devices) {
  v1::Node node = self_;
  for (const v1::Device& device : devices) *node.add_devices() = device;
  Status status = store_.AnnounceNode(node, options_.lease);
  // Also who may not write reads.
  if (IsToRead()) status.Update(Refresh());
  absl::MutexLock lock(&mutex_);
  const bool had_failed = std::exchange(has_failed_, !status.ok());
  if (!status.ok() && !had_failed) {
    spdlog::warn("{} is not announced to other daemons: {}", self(), std::string(status.message()));
  }
}

bool Fleet::IsToRead() const {
  absl::MutexLock lock(&mutex_);
  return NowNs() >= next_read_ns_;
}

Status Fleet::Refresh() {
  MDH_ASSIGN_OR_RETURN(std::vector<v1::Node> nodes, store_.ListNodes());
  Take(std::move(nodes));
  return absl::OkStatus();
}

void Fleet::Take(std::vector<v1::Node> nodes) {
  auto devices = std::make_shared<std::vector<v1::Device>>();
  std::vector<v1::Node> others;
  for (v1::Node& node : nodes) {
    if (node.name() == self()) continue;
    for (v1::Device& device : *node.mutable_devices()) {
      devices->push_back(AsOfAnother(std::move(device), node));
    }
    node.clear_devices();
    others.push_back(std::move(node));
  }
  absl::MutexLock lock(&mutex_);
  devices_ = std::move(devices);
  others_ = std::move(others);
  next_read_ns_ = NowNs() + std::ssize(others_) * kPauseForEach;
}

void Fleet::Leave() {
  if (const Status left = store_.RemoveNode(self()); !left.ok()) {
    spdlog::warn("other daemons see {} until its lease is over: {}", self(),
                 std::string(left.message()));
  }
}

std::shared_ptr<const std::vector<v1::Device>> Fleet::devices() const {
  absl::MutexLock lock(&mutex_);
  return devices_;
}

std::vector<v1::Node> Fleet::nodes() const {
  std::vector<v1::Node> all = {self_};
  *all.front().mutable_seen_time() = ToProto(absl::Now());
  absl::MutexLock lock(&mutex_);
  all.insert(all.end(), others_.begin(), others_.end());
  return all;
}

}  // namespace mdh
