#include "analysis/evidence/collective_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/math/transfer_fit.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

using About = Claim::About;

constexpr double kMaxOfSizeBefore = 2.0 / 3;  // a lower bandwidth is a step down
constexpr double kMinRoundedMbps = 800;       // below it two decimals of GB/s say too little
constexpr std::size_t kMaxSizesShown = 8;

std::string rate_text(double mbps) { return math::format_rate(mbps * math::kMega); }

class CollectiveFigures {
 public:
  CollectiveFigures(const MeasuredCollective& measured, const ToolFile& file)
      : measured_(measured), file_(file) {}

  std::vector<Claim> claims() const {
    const MeasuredSize& best =
        *std::ranges::max_element(measured_.sizes, {}, &MeasuredSize::bus_mbps);
    std::vector<Claim> found;
    add_wrong(found);
    add_drop(found);
    found.push_back(claim(About::Benchmark,
                          fmt::format("{} reaches {} of bus bandwidth, at {}", name(),
                                      rate_text(best.bus_mbps), math::format_bytes(best.bytes))));
    add_fit(found);
    add_sizes(found);
    return found;
  }

 private:
  // "all-reduce of 16 ranks on 2 hosts"
  std::string name() const {
    const std::string ranks =
        measured_.ranks > 0 ? fmt::format(" of {} ranks", measured_.ranks) : "";
    const std::size_t hosts = file_.hosts.size();
    return fmt::format("{}{}{}", measured_.collective, ranks,
                       hosts > 0 ? fmt::format(" on {} host{}", hosts, hosts > 1 ? "s" : "") : "");
  }

  Claim claim(About about, std::string what, std::optional<double> value = std::nullopt,
              std::string unit = "") const {
    return {.tool = file_.tool,
            .about = about,
            .what = std::move(what),
            .collective = measured_.collective,
            .value = value,
            .unit = std::move(unit),
            .is_firm = true,
            .from = file_.file};
  }

  void add_wrong(std::vector<Claim>& found) const {
    const MeasuredSize* first = nullptr;
    std::int64_t wrong = 0;
    std::size_t sizes = 0;
    for (const MeasuredSize& each : measured_.sizes) {
      if (each.wrong > 0) {
        first = first == nullptr ? &each : first;
        wrong += each.wrong;
        ++sizes;
      }
    }
    if (first != nullptr) {
      found.push_back(claim(
          About::Wrong,
          fmt::format("{} gives wrong results: {} values at {} of {} sizes, first at {}", name(),
                      wrong, sizes, measured_.sizes.size(), math::format_bytes(first->bytes)),
          static_cast<double>(wrong), "values"));
    }
  }

  // The deepest of them.
  void add_drop(std::vector<Claim>& found) const {
    const MeasuredSize* deepest = nullptr;
    double share = kMaxOfSizeBefore;
    for (std::size_t at = 1; at < measured_.sizes.size(); ++at) {
      const double before = measured_.sizes[at - 1].bus_mbps;
      const double own = measured_.sizes[at].bus_mbps;
      if (before >= kMinRoundedMbps && own <= share * before) {
        deepest = &measured_.sizes[at];
        share = own / before;
      }
    }
    if (deepest != nullptr) {
      const MeasuredSize& before = *(deepest - 1);
      found.push_back(
          claim(About::Drop,
                fmt::format("{} falls from {} at {} to {} at {}", name(),
                            rate_text(before.bus_mbps), math::format_bytes(before.bytes),
                            rate_text(deepest->bus_mbps), math::format_bytes(deepest->bytes)),
                100 * (1 - share), "percent"));
    }
  }

  void add_fit(std::vector<Claim>& found) const {
    std::vector<math::TimedSize> timed;
    for (const MeasuredSize& each : measured_.sizes) {
      timed.push_back({.bytes = each.bytes, .time_us = each.time_us});
    }
    const math::TransferFit fit = math::fit_transfer(timed);
    if (fit.alpha_us) {
      found.push_back(
          claim(About::Measured, "of no bytes it would take (fit)", fit.alpha_us, "us"));
    }
    if (fit.beta_mbps) {
      found.push_back(claim(About::Measured, "each further byte goes at (fit, bytes over time)",
                            fit.beta_mbps, "Mb/s"));
    }
  }

  // From the smallest to the largest, evenly.
  void add_sizes(std::vector<Claim>& found) const {
    const std::size_t all = measured_.sizes.size();
    const std::size_t shown = std::min(kMaxSizesShown, all);
    std::set<std::size_t> places;
    for (std::size_t at = 0; at < shown; ++at) {
      places.insert(shown > 1 ? at * (all - 1) / (shown - 1) : 0);
    }
    for (const std::size_t at : places) {
      const MeasuredSize& size = measured_.sizes[at];
      const bool is_small = size.bus_mbps < kMinRoundedMbps;
      found.push_back(claim(
          About::Measured,
          fmt::format("{} of {}{}", measured_.collective, math::format_bytes(size.bytes),
                      is_small ? "" : fmt::format(", in {}", math::format_ms(size.time_us / 1e3))),
          is_small ? size.time_us : size.bus_mbps, is_small ? "us" : "Mb/s"));
    }
  }

  const MeasuredCollective& measured_;
  const ToolFile& file_;
};

}  // namespace

std::vector<Claim> claims_of_collectives(const std::vector<ToolFile>& all) {
  std::vector<Claim> claims;
  for (const ToolFile& file : all) {
    for (const MeasuredCollective& measured : file.collectives) {
      if (!measured.sizes.empty()) {
        std::ranges::move(CollectiveFigures(measured, file).claims(), std::back_inserter(claims));
      }
    }
  }
  // What is wrong with any before what others reached.
  std::ranges::stable_sort(claims, std::less<>(), [](const Claim& each) {
    return each.about == About::Wrong ? 0 : each.about == About::Drop ? 1 : 2;
  });
  return claims;
}

}  // namespace chokepoint::analysis
