// mdh devices.
#include <memory>

#include "client/commands/call/command.h"
#include "client/commands/call/device_argument.h"
#include "client/commands/format/device_format.h"
#include "client/text/text_table.h"

namespace mdh {
namespace {

void PrintDevice(const v1::Device& device) { PrintWrapped(FormatDevice(device), 15); }

Status ListDevices(const GlobalOptions& options, Client& client) {
  MDH_ASSIGN_OR_RETURN(const v1::ListDevicesResponse devices, client.ListDevices());
  Show(options, devices, [](const v1::ListDevicesResponse& all) {
    for (const v1::Device& device : all.devices()) PrintDevice(device);
    for (const std::string& missing : all.missing()) PrintWrapped(missing + "\n", 4);
    for (const v1::Node& node : all.nodes()) PrintWrapped(FormatNode(node), 4);
  });
  return absl::OkStatus();
}

Status ShowDevice(const GlobalOptions& options, Client& client, const std::string& name) {
  MDH_ASSIGN_OR_RETURN(const v1::Device device, client.GetDevice(DeviceNameFromArgument(name)));
  Show(options, device, PrintDevice);
  return absl::OkStatus();
}

Status ListKnownDevices(const GlobalOptions& options, Client& client) {
  MDH_ASSIGN_OR_RETURN(const v1::ListKnownDevicesResponse known, client.ListKnownDevices());
  Show(options, known, [](const v1::ListKnownDevicesResponse& all) {
    for (const v1::KnownDevice& device : all.known_devices()) {
      PrintWrapped(FormatKnownDevice(device), 4);
    }
  });
  return absl::OkStatus();
}

}  // namespace

void AddDeviceCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  CLI::App* devices = app.add_subcommand(
      "devices",
      "list the daemon's devices, and those of others on its database: their peaks, how they are "
      "and what they do");
  auto known = std::make_shared<bool>(false);
  auto name = std::make_shared<std::string>();
  CLI::Option* device =
      devices->add_option("DEVICE", *name, "only this one, e.g. cuda0 or nodes/w1/devices/cuda0");
  devices
      ->add_flag("--known", *known,
                 "list the devices that kernels can be made for without having them")
      ->excludes(device);
  Select(devices, selected, [&options, known, name]() -> Status {
    MDH_ASSIGN_OR_RETURN(const std::unique_ptr<Client> client, ConnectTo<Client>(options));
    if (!name->empty()) return ShowDevice(options, *client, *name);
    return *known ? ListKnownDevices(options, *client) : ListDevices(options, *client);
  });
}

}  // namespace mdh
