#include "probe/pcie/survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/host/gpu.h"
#include "probe/pcie/peer_survey.h"

namespace chokepoint::probe::pcie {
namespace {

using Gpus = std::vector<std::unique_ptr<gpu::Cuda>>;

bool is_address(std::string_view name) { return name.contains(':'); }

// As sysfs has it; nvidia-smi says "00000000:3B:00.0", and lspci "3b:00.0".
std::string address_of(const std::string& name) {
  const bool has_domain = std::ranges::count(name, ':') > 1;
  return host::pci_address_of(has_domain ? name : "0000:" + name);
}

bool is_wanted(const gpu::Cuda& gpu, const std::vector<std::string>& wanted) {
  return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& name) {
           return is_address(name) ? address_of(name) == gpu.pci_address()
                                   : name == std::to_string(gpu.number());
         });
}

// A GPU that nobody asked for stays as it is: to open one takes memory of it, and wakes it up.
bool may_be_wanted(int number, const std::vector<std::string>& wanted) {
  return wanted.empty() || std::ranges::any_of(wanted, [&](const std::string& name) {
           return is_address(name) || name == std::to_string(number);
         });
}

bool has_failed(const Measured& measured, const std::string& name) {
  return std::ranges::any_of(
      measured.gpus, [&](const GpuOutcome& gpu) { return name == std::to_string(gpu.number); });
}

std::optional<Error> missing(const Gpus& gpus, const std::vector<std::string>& wanted,
                             const Measured& measured) {
  for (const std::string& name : wanted) {
    if (!has_failed(measured, name) &&
        std::ranges::none_of(gpus, [&](const auto& gpu) { return is_wanted(*gpu, {name}); })) {
      return Error{.kind = ErrorKind::NotFound,
                   .operation = "",
                   .subject = "GPU " + name,
                   .reason = "no such GPU",
                   .next_step =
                       "'nvidia-smi -L' lists this host's GPUs; CUDA_VISIBLE_DEVICES may "
                       "hide some"};
    }
  }
  return std::nullopt;
}

// Those that open and are meant.
Gpus open_gpus(const std::shared_ptr<const gpu::Driver>& driver,
               const std::vector<std::string>& wanted, Measured& measured) {
  Gpus gpus;
  for (int number = 0; number < driver->gpus(); ++number) {
    if (!may_be_wanted(number, wanted)) {
      continue;
    }
    auto gpu = gpu::Cuda::open(driver, number);
    if (gpu && is_wanted(**gpu, wanted)) {
      gpus.push_back(std::move(*gpu));
    } else if (!gpu && (wanted.empty() || std::ranges::count(wanted, std::to_string(number)) > 0)) {
      measured.gpus.push_back({.number = number, .problems = {describe(gpu.error())}});
    }
  }
  return gpus;
}

std::optional<int> node_of(const sys::Root& root, const gpu::Cuda& gpu) {
  const auto address = gpu.pci_address();
  const auto device = address ? host::read_pci_device(root, *address) : std::nullopt;
  return device ? device->numa_node : std::nullopt;
}

void survey_each(const Gpus& gpus, const Surroundings& host, const Pace& pace, Measured& measured) {
  const auto nvml = host::NvmlLinks::open(host.nvml);
  const std::vector<Node> nodes = nodes_of(host::read_memory(host.root));
  for (const auto& gpu : gpus) {
    if (pace.stopped()) {
      return;
    }
    // Of a host's only node every GPU is near.
    const auto node =
        nodes.size() == 1 ? std::optional(nodes.front().number) : node_of(host.root, *gpu);
    measured.gpus.push_back(survey_gpu(*gpu, host, pace, nvml ? &*nvml : nullptr, nodes, node));
  }
}

void survey_pairs(const Gpus& gpus, const Surroundings& host, const Pace& pace,
                  Measured& measured) {
  for (std::size_t one = 0; one < gpus.size(); ++one) {
    for (std::size_t other = one + 1; other < gpus.size(); ++other) {
      if (pace.stopped()) {
        return;
      }
      host.tell(
          fmt::format("between GPU {} and GPU {}", gpus[one]->number(), gpus[other]->number()));
      Pace own = pace;
      own.bytes = std::min(fitting_bytes(*gpus[one], host.root, pace.bytes),
                           fitting_bytes(*gpus[other], host.root, pace.bytes));
      measured.peers.push_back(survey_peers(*gpus[one], *gpus[other], own));
    }
  }
}

}  // namespace

Result<Measured> survey(const Surroundings& host, const Wishes& wishes, const Pace& pace) {
  Measured measured{.bytes = pace.bytes, .cpus = allowed_cpus()};
  const auto driver = gpu::Driver::open(host.driver);
  if (!driver) {
    if (!wishes.gpus.empty()) {
      return fail(driver.error());
    }
    measured.problem = driver.error();
    return measured;
  }
  measured.driver_version = (*driver)->version();
  const Gpus gpus = open_gpus(*driver, wishes.gpus, measured);
  if (auto lacking = missing(gpus, wishes.gpus, measured)) {
    return fail(std::move(*lacking));
  }
  survey_each(gpus, host, pace, measured);
  if (wishes.peers) {
    survey_pairs(gpus, host, pace, measured);
  }
  measured.interrupted = pace.stopped();
  return measured;
}

}  // namespace chokepoint::probe::pcie
