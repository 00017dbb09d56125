// mdh devices.
#include <cstdio>
#include <memory>

#include "client/commands/command.h"
#include "client/commands/formatting.h"

namespace mdh {
namespace {

void PrintDevice(const v1::Device& device) {
  const v1::DeviceDescription& description = device.description();
  std::printf("%s: %s\n", device.name().c_str(), description.model().c_str());
  std::printf("  %-12s %d hardware threads, %.2f GHz\n", "cores", description.cores(),
              description.clock_hz() / 1e9);
  std::printf("  %-12s %s, %d vector registers of %d bytes\n", "instructions",
              description.isa().c_str(), description.vector_registers(), description.simd_bytes());
  std::printf(
      "  %-12s L1 %s, L2 %s, L3 %s\n", "caches", FormatBytes(description.l1_bytes()).c_str(),
      FormatBytes(description.l2_bytes()).c_str(), FormatBytes(description.l3_bytes()).c_str());
  if (device.has_peaks()) {
    std::printf("  %-12s fp32 %s, fp64 %s, memory %s\n", "peaks",
                FormatFlops(device.peaks().fp32_flops_per_s()).c_str(),
                FormatFlops(device.peaks().fp64_flops_per_s()).c_str(),
                FormatBandwidth(device.peaks().memory_bytes_per_s()).c_str());
  }
  std::printf("  %-12s %s\n", "compilers",
              description.compiler().empty() ? "none" : description.compiler().c_str());
  std::printf("  %-12s %s\n", "tuning",
              device.can_tune() ? "yes" : device.cannot_tune_reason().c_str());
}

ExitCode ListDevices(const GlobalOptions& options) {
  const Result<std::unique_ptr<Client>> client = Client::Connect(options.server);
  if (!client.ok()) return Fail(ExitCode::kCannotConnect, std::string(client.status().message()));
  const Result<v1::ListDevicesResponse> devices = (*client)->ListDevices();
  if (!devices.ok()) return Fail(devices.status());
  if (options.json) {
    PrintJson(*devices);
    return ExitCode::kOk;
  }
  for (const v1::Device& device : devices->devices()) PrintDevice(device);
  return ExitCode::kOk;
}

}  // namespace

void AddDeviceCommand(CLI::App& app, const GlobalOptions& options, SelectedCommand& selected) {
  CLI::App* devices = app.add_subcommand("devices", "list the daemon's devices and their peaks");
  devices->callback(
      [&options, &selected] { selected = [&options] { return ListDevices(options); }; });
}

}  // namespace mdh
