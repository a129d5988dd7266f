#include "analysis/limits/arrivals.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "analysis/load/captured_hosts.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kBinNs = 10'000'000;  // packets are counted in bins of this width, or wider

// Of one bin, payload in bytes.
struct Bin {
  std::int64_t number = 0;
  double bytes = 0;
};

// Where only the sender's host was captured its packets follow the acknowledgements of those that
// arrived.
void add_bins(const DirectionView& view, std::vector<Bin>& bins) {
  const FlowData& seen = view.at_receiver != nullptr ? *view.at_receiver : *view.at_sender;
  for (const record::FlowSample& sample : seen.packets.at(side_of(view))) {
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

// Most bins are equally full; a few are fuller by what came late for the bin before.
bool is_one_rate(const std::vector<Bin>& bins) {
  const std::vector<double> inside = inside_bursts(bins);
  if (inside.size() < kMinArrivalBins ||
      std::reduce(inside.begin(), inside.end()) <=
          kMinShareOfArrivals * math::sum_by(bins, &Bin::bytes)) {
    return false;
  }
  const double usual = *math::median(inside);
  return usual > kMinPlateau * *math::quantile(inside, 0.75) &&
         usual > kMinPlateauOfFullest * *math::quantile(inside, 0.95);
}

}  // namespace

// Of a capture an end that was not captured is known by its connections alone.
std::optional<Arrivals::Path> Arrivals::path_of(const RunData& run, const DirectionView& view) {
  const auto& ends = run.connections[view.connection].ends;
  const auto from = static_cast<std::size_t>(view.direction);
  if (is_captured(run) && ends.at(from) && ends.at(1 - from)) {
    return Path{ends.at(from)->node, ends.at(1 - from)->node};
  }
  return view.sender && view.receiver ? std::optional(Path{*view.sender, *view.receiver})
                                      : std::nullopt;
}

Arrivals::Arrivals(const RunData& run) : run_(run) {
  std::map<Path, std::vector<Bin>> paths;
  for (const DirectionView& view : directions_of(run)) {
    const auto path = path_of(run, view);
    if (path && path->first != path->second) {
      add_bins(view, paths[*path]);
    }
  }
  for (auto& [path, bins] : paths) {
    if (is_one_rate(joined(std::move(bins)))) {
      at_one_rate_.insert(path);
    }
  }
}

bool Arrivals::are_at_one_rate(const DirectionView& view) const {
  const auto path = path_of(run_, view);
  return path && at_one_rate_.contains(*path);
}

}  // namespace chokepoint::analysis
