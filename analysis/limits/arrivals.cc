#include "analysis/limits/arrivals.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kBinNs = 10'000'000;  // packets are counted in bins of this width, or wider

// Of one bin, payload in bytes.
struct Bin {
  std::int64_t number = 0;
  double bytes = 0;
};

void add_bins(const DirectionView& view, std::vector<Bin>& bins) {
  for (const record::FlowSample& sample : view.at_receiver->packets.at(side_of(view))) {
    if (sample.bin_ns > 0 && sample.bin_ns <= kBinNs && figure(sample.payload_bytes) > 0) {
      bins.push_back({(sample.t_ns - sample.bin_ns) / kBinNs, figure(sample.payload_bytes)});
    }
  }
}

std::vector<Bin> joined(std::vector<Bin> bins) {
  std::ranges::sort(bins, {}, &Bin::number);
  std::vector<Bin> all;
  for (const Bin& bin : bins) {
    if (!all.empty() && all.back().number == bin.number) {
      all.back().bytes += bin.bytes;
    } else {
      all.push_back(bin);
    }
  }
  std::erase_if(all, [](const Bin& bin) { return bin.bytes < kMinPassingBytes; });
  return all;
}

// A bin at the edge of a burst is not full, and a message that fits into one says nothing.
std::vector<double> inside_bursts(const std::vector<Bin>& bins) {
  std::vector<double> inside;
  for (std::size_t place = 1; place + 1 < bins.size(); ++place) {
    if (bins[place - 1].number + 1 == bins[place].number &&
        bins[place].number + 1 == bins[place + 1].number) {
      inside.push_back(bins[place].bytes);
    }
  }
  return inside;
}

bool is_one_rate(const std::vector<Bin>& bins) {
  const std::vector<double> inside = inside_bursts(bins);
  const auto usual = math::median(inside);
  return inside.size() >= kMinArrivalBins &&
         std::reduce(inside.begin(), inside.end()) >
             kMinShareOfArrivals * math::sum_by(bins, &Bin::bytes) &&
         *usual > kMinSteadyLine * *math::quantile(inside, 0.95);
}

}  // namespace

Arrivals::Arrivals(const RunData& run) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Bin>> paths;
  for (const DirectionView& view : directions_of(run)) {
    if (view.sender && view.at_receiver != nullptr && view.sender != view.receiver) {
      add_bins(view, paths[{*view.sender, *view.receiver}]);
    }
  }
  for (auto& [path, bins] : paths) {
    if (is_one_rate(joined(std::move(bins)))) {
      at_one_rate_.insert(path);
    }
  }
}

bool Arrivals::are_at_one_rate(const DirectionView& view) const {
  return view.sender && view.receiver && at_one_rate_.contains({*view.sender, *view.receiver});
}

}  // namespace chokepoint::analysis
