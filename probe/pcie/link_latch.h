// Watches a device's links while copies run: an idle GPU lowers its own, so only what is seen under
// load counts. A thread of its own looks some fifty times a second, by NVML and in sysfs at every
// hop, and keeps the best; it ends with the object. The NVML session must outlive it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "base/host/nvml.h"
#include "base/sys/root.h"
#include "probe/pcie/outcome.h"

namespace chokepoint::probe::pcie {

class LinkLatch {
 public:
  // `nvml` may be null.
  LinkLatch(sys::Root root, std::string address, const host::NvmlLinks* nvml);
  LinkLatch(const LinkLatch&) = delete;
  LinkLatch& operator=(const LinkLatch&) = delete;
  ~LinkLatch();

  // Set while copies are under way: other looks count for nothing.
  std::atomic<bool>& copying() { return copying_; }
  // Ends the watch.
  LinkSeen stop();

 private:
  void begin();
  void watch();
  void look();
  void note(const host::PciLink& now);

  sys::Root root_;
  std::string address_;
  const host::NvmlLinks* nvml_;
  LinkSeen seen_;
  std::atomic<bool> copying_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace chokepoint::probe::pcie
