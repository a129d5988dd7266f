// How the PCIe links of NICs and GPUs are trained, from sysfs: what the narrowest hop between card
// and root port carries now. A GPU lets its link fall back when it is idle, so what was seen while
// the card was busy stands apart; the best ever seen is the largest row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host/pci.h"
#include "base/sys/root.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {

// From here on a card is at work, so that its link is as good as it gets.
inline constexpr double kBusyBytesPerS = 10e6;
inline constexpr double kBusyPercent = 10;

class PcieSampler final : public Sampler {
 public:
  explicit PcieSampler(sys::Root root) : root_(std::move(root)) {}

  void sample(const Moment& moment, Sink& sink) override;

 private:
  struct Card {
    std::string subject = {};  // an interface's name, a GPU's address
    std::string address = {};
    bool is_nic = false;
  };

  void find();
  void find_nics();
  void find_gpus();
  void read(const Card& card, std::int64_t now_ns, Sink& sink) const;

  sys::Root root_;
  std::int64_t found_ns_ = INT64_MIN;
  std::vector<Card> cards_;
};

}  // namespace chokepoint::capture::counter
