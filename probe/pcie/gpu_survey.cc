#include "probe/pcie/gpu_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/gpu/cuda.h"
#include "base/host/memory.h"
#include "probe/pcie/bench.h"
#include "probe/pcie/link_latch.h"

namespace chokepoint::probe::pcie {
namespace {

constexpr std::uint64_t kPage = 4096;

// Goes through the measurements of one GPU, in an order that keeps little memory at a time.
class GpuSurvey {
 public:
  GpuSurvey(const gpu::Cuda& gpu, const Surroundings& host, Pace pace, GpuOutcome& outcome)
      : gpu_(gpu), host_(host), pace_(std::move(pace)), outcome_(outcome) {}

  void run(const std::optional<Node>& near, const std::optional<Node>& far) {
    auto bench = Bench::make(gpu_, pace_.bytes);
    if (!bench) {
      outcome_.problems.push_back(describe(bench.error()));
      return;
    }
    tell("pinned memory");
    note(pinned(*bench, near, "pinned memory", outcome_.pinned, true), "pinned memory");
    tell("pageable memory");
    note(pageable(*bench, near), "pageable memory");
    if (far) {
      tell("memory of another NUMA node");
      note(pinned(*bench, far, "far memory", outcome_.far, false), "far memory");
    }
    outcome_.verified_bytes = verified_.bytes;
    outcome_.wrong = std::move(verified_.wrong);
  }

 private:
  void tell(const std::string& what) const {
    if (!pace_.stopped()) {
      host_.tell(fmt::format("GPU {}: {}", gpu_.number(), what));
    }
  }

  void note(const Result<>& done, const std::string& what) {
    if (!done && done.error().kind != ErrorKind::Interrupted) {
      outcome_.problems.push_back(fmt::format("{}: {}", what, describe(done.error())));
    }
  }

  // Of the node that is meant. A container may allow neither its memory nor its processors: the
  // GPU's own link is worth measuring all the same, another node's memory is not.
  Result<sys::Pages> take(const std::optional<Node>& node) {
    if (!node || (outcome_.anywhere && node->number == outcome_.near_node)) {
      return host_.take_pages(pace_.bytes, std::nullopt);
    }
    auto pages = host_.take_pages(pace_.bytes, node);
    if (pages || node->number != outcome_.near_node) {
      return pages;
    }
    outcome_.problems.push_back(
        fmt::format("memory of the GPU's own NUMA node: {}", describe(pages.error())));
    outcome_.anywhere = true;
    return host_.take_pages(pace_.bytes, std::nullopt);
  }

  Result<gpu::PinnedMemory> pin(const std::optional<Node>& node) {
    auto pages = take(node);
    return pages ? gpu::PinnedMemory::pin(gpu_, std::move(*pages)) : fail(std::move(pages.error()));
  }

  Result<> pinned(const Bench& bench, const std::optional<Node>& node, const std::string& name,
                  HostCopies& copies, bool two_streams) {
    if (pace_.stopped()) {
      return {};
    }
    TRY(const auto source, pin(node));
    TRY(const auto target, pin(node));
    const auto from = source.bytes().first(pace_.bytes);
    const auto to = target.bytes().first(pace_.bytes);
    auto done = bench.copy(from, to, pace_, name, copies, verified_);
    if (done && two_streams && !pace_.stopped()) {
      TRY(const auto rate, bench.two_streams(from, to, pace_));
      outcome_.two_streams_mbps = rate;
    }
    return done;
  }

  Result<> pageable(const Bench& bench, const std::optional<Node>& node) {
    if (pace_.stopped()) {
      return {};
    }
    TRY(const auto source, take(node));
    TRY(const auto target, take(node));
    return bench.copy(source.bytes().first(pace_.bytes), target.bytes().first(pace_.bytes), pace_,
                      "pageable memory", outcome_.pageable, verified_);
  }

  const gpu::Cuda& gpu_;
  const Surroundings& host_;
  Pace pace_;
  GpuOutcome& outcome_;
  Verified verified_;
};

const Node* find(const std::vector<Node>& nodes, const std::optional<int>& number) {
  const auto found = std::ranges::find_if(
      nodes, [&](const Node& node) { return number && node.number == *number; });
  return found == nodes.end() ? nullptr : &*found;
}

// The node whose number is farthest from the GPU's own: on the other socket, where each socket is
// several nodes.
std::optional<Node> far_from(const std::vector<Node>& nodes, const Node* near) {
  if (near == nullptr || nodes.size() < 2) {
    return std::nullopt;
  }
  return *std::ranges::max_element(
      nodes, {}, [&](const Node& node) { return std::abs(node.number - near->number); });
}

}  // namespace

std::uint64_t fitting_bytes(const gpu::Cuda& gpu, const sys::Root& root, std::uint64_t wanted,
                            const std::vector<int>& nodes) {
  std::uint64_t bytes = wanted;
  if (const auto free = gpu.free_memory()) {
    bytes = std::min(bytes, *free / 3);
  }
  if (const auto available = host::memory_room(root)) {
    bytes = std::min(bytes, static_cast<std::uint64_t>(*available) / 8);
  }
  for (const int node : nodes) {
    if (const auto room = host::memory_room_of_node(root, node)) {
      bytes = std::min(bytes, static_cast<std::uint64_t>(*room) / 4);
    }
  }
  return std::max(bytes / kPage * kPage, kPage);
}

GpuOutcome survey_gpu(const gpu::Cuda& gpu, const Surroundings& host, const Pace& pace,
                      const host::NvmlLinks* nvml, const std::vector<Node>& nodes,
                      const std::optional<int>& node) {
  GpuOutcome outcome{.number = gpu.number(),
                     .address = gpu.pci_address().value_or(""),
                     .name = gpu.model(),
                     .engines = gpu.copy_engines()};
  const Node* near = find(nodes, node);
  const std::optional<Node> far = far_from(nodes, near);
  outcome.near_node = near == nullptr ? std::nullopt : std::optional(near->number);
  outcome.far_node = far ? std::optional(far->number) : std::nullopt;
  LinkLatch latch(host.root, outcome.address, nvml);
  Pace own = pace;
  own.copying = &latch.copying();
  std::vector<int> used;
  for (const auto& number : {outcome.near_node, outcome.far_node}) {
    if (number) {
      used.push_back(*number);
    }
  }
  own.bytes = outcome.bytes = fitting_bytes(gpu, host.root, pace.bytes, used);
  {
    std::optional<OnCpus> moved;
    if (near != nullptr) {
      moved.emplace(near->cpus);
    }
    GpuSurvey(gpu, host, own, outcome)
        .run(near == nullptr ? std::nullopt : std::optional(*near), far);
  }
  outcome.link = latch.stop();
  return outcome;
}

}  // namespace chokepoint::probe::pcie
