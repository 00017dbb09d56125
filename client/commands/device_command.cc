// mdh devices.
#include <cstdio>
#include <memory>

#include "client/commands/call/command.h"
#include "client/commands/call/device_argument.h"
#include "client/commands/format/device_format.h"
#include "client/text/text_table.h"

namespace mdh {
namespace {

ExitCode ListDevices(const GlobalOptions& options, Client& client) {
  const Result<v1::ListDevicesResponse> devices = client.ListDevices();
  if (!devices.ok()) return Fail(devices.status());
  if (options.json) {
    PrintJson(*devices);
    return ExitCode::kOk;
  }
  for (const v1::Device& device : devices->devices()) {
    PrintWrapped(FormatDevice(device), 15);
  }
  for (const std::string& missing : devices->missing()) PrintWrapped(missing + "\n", 4);
  return ExitCode::kOk;
}

ExitCode ShowDevice(const GlobalOptions& options, Client& client, const std::string& name) {
  const Result<v1::Device> device = client.GetDevice(DeviceNameFromArgument(name));
  if (!device.ok()) return Fail(device.status());
  if (options.json) {
    PrintJson(*device);
  } else {
    PrintWrapped(FormatDevice(*device), 15);
  }
  return ExitCode::kOk;
}

ExitCode ListKnownDevices(const GlobalOptions& options, Client& client) {
  const Result<v1::ListKnownDevicesResponse> known = client.ListKnownDevices();
  if (!known.ok()) return Fail(known.status());
  if (options.json) {
    PrintJson(*known);
    return ExitCode::kOk;
  }
  for (const v1::KnownDevice& device : known->known_devices()) {
    PrintWrapped(FormatKnownDevice(device), 4);
  }
  return ExitCode::kOk;
}

}  // namespace

void AddDeviceCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  CLI::App* devices = app.add_subcommand(
      "devices", "list the daemon's devices, their peaks, how they are and what they do");
  auto known = std::make_shared<bool>(false);
  auto name = std::make_shared<std::string>();
  CLI::Option* device = devices->add_option("DEVICE", *name, "only this one, e.g. cuda0");
  devices
      ->add_flag("--known", *known,
                 "list the devices that kernels can be made for without having them")
      ->excludes(device);
  devices->callback([&options, &selected, known, name] {
    selected = [&options, known, name] {
      const Result<std::unique_ptr<Client>> client =
          Client::Connect(options.server, options.client);
      if (!client.ok()) {
        return Fail(ExitCode::kCannotConnect, std::string(client.status().message()));
      }
      if (!name->empty()) return ShowDevice(options, **client, *name);
      return *known ? ListKnownDevices(options, **client) : ListDevices(options, **client);
    };
  });
}

}  // namespace mdh
