// mdh devices.
#include <cstdio>
#include <memory>

#include "client/commands/command.h"
#include "client/commands/device_format.h"

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
    std::printf("%s", FormatDevice(device).c_str());
  }
  for (const std::string& missing : devices->missing()) std::printf("%s\n", missing.c_str());
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
    std::printf("%s", FormatKnownDevice(device).c_str());
  }
  return ExitCode::kOk;
}

}  // namespace

void AddDeviceCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  CLI::App* devices = app.add_subcommand(
      "devices", "list the daemon's devices, their peaks, how they are and what they do");
  auto known = std::make_shared<bool>(false);
  devices->add_flag("--known", *known,
                    "list the devices that kernels can be made for without having them");
  devices->callback([&options, &selected, known] {
    selected = [&options, known] {
      const Result<std::unique_ptr<Client>> client =
          Client::Connect(options.server, options.client);
      if (!client.ok()) {
        return Fail(ExitCode::kCannotConnect, std::string(client.status().message()));
      }
      return *known ? ListKnownDevices(options, **client) : ListDevices(options, **client);
    };
  });
}

}  // namespace mdh
