#include "probe/pcie/gpu_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/host/kernel_text.h"
#include "base/sys/signals.h"

namespace chokepoint::probe::pcie {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{20};
constexpr std::uint64_t kPage = 4096;

bool was_forbidden(const Error& error) {
  return error.code == ENOSYS || error.code == EPERM || error.code == EACCES;
}

Result<sys::Pages> touch_from(const Node& node, std::uint64_t bytes, const Error& error) {
  std::optional<Result<sys::Pages>> pages;
  std::thread([&] {
    const OnCpus on_node(node.cpus);
    if (on_node.moved()) {
      pages.emplace(sys::Pages::map(bytes, {}));
    }
  }).join();
  return pages ? std::move(*pages) : Result<sys::Pages>(fail(error));
}

template <class T>
void raise(std::optional<T>& best, const std::optional<T>& now) {
  if (now) {
    best = std::max(best.value_or(*now), *now);
  }
}

void raise(host::PciLink& best, const host::PciLink& now) {
  raise(best.speed_gts, now.speed_gts);
  raise(best.width, now.width);
}

std::vector<host::PciHop> hops_of(const sys::Root& root, const std::string& address) {
  const auto device = host::read_pci_device(root, address);
  return device ? device->path : std::vector<host::PciHop>();
}

std::optional<std::int64_t> errors_in(const std::vector<host::PciHop>& hops) {
  std::optional<std::int64_t> sum;
  for (const host::PciHop& hop : hops) {
    for (const auto& count : {hop.errors.correctable, hop.errors.nonfatal, hop.errors.fatal}) {
      if (count) {
        sum = sum.value_or(0) + *count;
      }
    }
  }
  return sum;
}

// From NVML, else from sysfs.
host::PciLink link_of(const host::LinkNow& nvml, const std::vector<host::PciHop>& hops) {
  host::PciLink link = hops.empty() ? host::PciLink() : hops.back().current;
  if (nvml.link.speed_gts) {
    link.speed_gts = nvml.link.speed_gts;
  }
  if (nvml.link.width) {
    link.width = nvml.link.width;
  }
  return link;
}

// The measurements of one GPU, in an order that holds little memory at a time.
class GpuSurvey {
 public:
  GpuSurvey(const gpu::Cuda& gpu, const SurveyContext& host, Pace pace, GpuOutcome& outcome)
      : gpu_(gpu), host_(host), pace_(std::move(pace)), outcome_(outcome) {}

  void run(const std::optional<Node>& near, const std::optional<Node>& far) {
    auto bench = Bench::make(gpu_, pace_.bytes);
    if (!bench) {
      outcome_.problems.push_back(describe(bench.error()));
      return;
    }
    on_step("pinned memory");
    note(pinned(*bench, near, "pinned memory", outcome_.pinned, true), "pinned memory");
    on_step("pageable memory");
    note(pageable(*bench, near), "pageable memory");
    if (far) {
      on_step("memory of another NUMA node");
      note(pinned(*bench, far, "far memory", outcome_.far, false), "far memory");
    }
    outcome_.verified_bytes = verified_.bytes;
    outcome_.wrong = std::move(verified_.wrong);
  }

 private:
  void on_step(const std::string& what) const {
    if (!pace_.stopped()) {
      host_.on_step(fmt::format("GPU {}: {}", gpu_.number(), what));
    }
  }

  void note(const Result<>& done, const std::string& what) {
    if (!done && done.error().kind != ErrorKind::Interrupted) {
      outcome_.problems.push_back(fmt::format("{}: {}", what, describe(done.error())));
    }
  }

  // A container may allow neither the node's memory nor its processors. Then other memory is used
  // for the near node, so that the GPU's link is still measured; the far one is not
  // measured.
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
    TRY(sys::Pages pages, take(node));
    return gpu::PinnedMemory::pin(gpu_, std::move(pages));
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
    TRY(bench.copy(from, to, pace_, name, copies, verified_));
    if (two_streams && !pace_.stopped()) {
      TRY(outcome_.two_streams_mbps, bench.two_streams(from, to, pace_));
    }
    return {};
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
  const SurveyContext& host_;
  Pace pace_;
  GpuOutcome& outcome_;
  Verified verified_;
};

const Node* find(const std::vector<Node>& nodes, const std::optional<int>& number) {
  const auto found = std::ranges::find_if(
      nodes, [&](const Node& node) { return number && node.number == *number; });
  return found == nodes.end() ? nullptr : &*found;
}

// The node whose number is farthest from the GPU's own: if a socket is several nodes, one of the
// other socket.
std::optional<Node> far_from(const std::vector<Node>& nodes, const Node* near) {
  if (near == nullptr || nodes.size() < 2) {
    return std::nullopt;
  }
  return *std::ranges::max_element(
      nodes, {}, [&](const Node& node) { return std::abs(node.number - near->number); });
}

}  // namespace

std::vector<Node> nodes_of(const host::Memory& memory) {
  std::vector<Node> nodes;
  for (const host::NumaNode& node : memory.nodes) {
    constexpr std::string_view kPrefix = "node";
    const auto number = node.name.starts_with(kPrefix)
                            ? host::number_of(std::string_view(node.name).substr(kPrefix.size()))
                            : std::nullopt;
    std::vector<int> cpus = host::cpus_of(node.cpus.value_or(""));
    if (number && !cpus.empty() && node.memory_bytes.value_or(1) > 0) {
      nodes.push_back({.number = static_cast<int>(*number), .cpus = std::move(cpus)});
    }
  }
  return nodes;
}

Result<sys::Pages> take_pages(std::uint64_t bytes, const std::optional<Node>& node) {
  if (!node) {
    return sys::Pages::map(bytes, {});
  }
  auto pages = sys::Pages::map(bytes, {.numa_node = node->number});
  return pages || !was_forbidden(pages.error()) ? std::move(pages)
                                                : touch_from(*node, bytes, pages.error());
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) {
        cpus.push_back(cpu);
      }
    }
  }
  return cpus;
}

OnCpus::OnCpus(const std::vector<int>& cpus) {
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) {
      CPU_SET(static_cast<std::size_t>(cpu), &wanted);
    }
  }
  moved_ = sched_getaffinity(0, sizeof before_, &before_) == 0 &&
           sched_setaffinity(0, sizeof wanted, &wanted) == 0;
}

OnCpus::~OnCpus() {
  if (moved_) {
    sched_setaffinity(0, sizeof before_, &before_);
  }
}

LinkLatch::LinkLatch(sys::Root root, std::string address, const host::NvmlLinks* nvml)
    : root_(std::move(root)), address_(std::move(address)), nvml_(nvml) {
  begin();
  thread_ = std::thread([this] {
    const sys::SignalsHeld held;
    watch();
  });
}

LinkLatch::~LinkLatch() {
  if (thread_.joinable()) {
    stop();
  }
}

void LinkLatch::begin() {
  const host::LinkNow now = nvml_ == nullptr ? host::LinkNow() : nvml_->read(address_);
  seen_.hops = hops_of(root_, address_);
  seen_.idle = link_of(now, seen_.hops);
  seen_.replays_before = now.replays;
  seen_.errors_before = errors_in(seen_.hops);
}

void LinkLatch::watch() {
  std::unique_lock lock(mutex_);
  while (!end_) {
    lock.unlock();
    if (copying_) {
      look();
    }
    lock.lock();
    ended_.wait_for(lock, kBetweenLooks, [this] { return end_; });
  }
}

// A reading counts only if copies were still under way afterwards.
void LinkLatch::look() {
  const host::LinkNow now = nvml_ == nullptr ? host::LinkNow() : nvml_->read(address_);
  const std::vector<host::PciHop> hops = hops_of(root_, address_);
  if (!copying_) {
    return;
  }
  for (std::size_t i = 0; i < std::min(hops.size(), seen_.hops.size()); ++i) {
    raise(seen_.hops[i].current, hops[i].current);
  }
  note(link_of(now, hops));
}

void LinkLatch::note(const host::PciLink& now) {
  if (!now.speed_gts && !now.width) {
    return;
  }
  raise(seen_.best, now);
  seen_.last = now;
  ++seen_.looks;
}

LinkSeen LinkLatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
  const host::LinkNow now = nvml_ == nullptr ? host::LinkNow() : nvml_->read(address_);
  seen_.replays_after = now.replays;
  seen_.errors_after = errors_in(hops_of(root_, address_));
  return std::move(seen_);
}

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

GpuOutcome survey_gpu(const gpu::Cuda& gpu, const SurveyContext& host, const Pace& pace,
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
