#include "probe/pcie/link_latch.h"

#include <algorithm>
#include <utility>

#include "base/sys/signals.h"

namespace chokepoint::probe::pcie {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{20};

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

// What NVML says of the device itself, else what sysfs says.
host::PciLink link_of(const host::LinkNow& told, const std::vector<host::PciHop>& hops) {
  host::PciLink link = hops.empty() ? host::PciLink() : hops.back().current;
  if (told.link.speed_gts) {
    link.speed_gts = told.link.speed_gts;
  }
  if (told.link.width) {
    link.width = told.link.width;
  }
  return link;
}

}  // namespace

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
  const host::LinkNow told = nvml_ == nullptr ? host::LinkNow() : nvml_->read(address_);
  seen_.hops = hops_of(root_, address_);
  seen_.idle = link_of(told, seen_.hops);
  seen_.replays_before = told.replays;
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

// What was seen counts only where copies were still under way afterwards.
void LinkLatch::look() {
  const host::LinkNow told = nvml_ == nullptr ? host::LinkNow() : nvml_->read(address_);
  const std::vector<host::PciHop> hops = hops_of(root_, address_);
  if (!copying_) {
    return;
  }
  for (std::size_t i = 0; i < std::min(hops.size(), seen_.hops.size()); ++i) {
    raise(seen_.hops[i].current, hops[i].current);
  }
  note(link_of(told, hops));
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
  const host::LinkNow told = nvml_ == nullptr ? host::LinkNow() : nvml_->read(address_);
  seen_.replays_after = told.replays;
  seen_.errors_after = errors_in(hops_of(root_, address_));
  return std::move(seen_);
}

}  // namespace chokepoint::probe::pcie
