#include "analysis/predict/ring_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "analysis/predict/predict.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMostTriedWhole = 10;  // sites: 362,880 orders
constexpr std::size_t kStarts = 10;          // of more sites
constexpr const char* kExample = "write it like a,b=200M or a,b=1G/30ms";

// From each site to each other one.
class Paths {
 public:
  explicit Paths(std::size_t sites) : sites_(sites), rates_(sites * sites), rtts_(sites * sites) {}

  void set(std::size_t from, std::size_t to, const SitePath& path) {
    rates_[from * sites_ + to] = path.rate_mbps;
    rtts_[from * sites_ + to] = path.rtt_ms.value_or(0);
  }
  std::size_t sites() const { return sites_; }
  double rate(std::size_t from, std::size_t to) const { return rates_[from * sites_ + to]; }

  // With a rate of 0 where a path is missing.
  Ring ring_of(std::vector<std::size_t> order) const {
    Ring ring{.slowest_mbps = std::numeric_limits<double>::infinity()};
    for (std::size_t place = 0; place < order.size(); ++place) {
      const std::size_t from = order[place];
      const std::size_t to = order[(place + 1) % order.size()];
      ring.slowest_mbps = std::min(ring.slowest_mbps, rate(from, to));
      ring.rtt_ms = std::max(ring.rtt_ms, rtts_[from * sites_ + to]);
    }
    ring.order = std::move(order);
    return ring;
  }

 private:
  std::size_t sites_;
  std::vector<double> rates_;
  std::vector<double> rtts_;
};

bool is_faster(const Ring& one, const Ring& other) {
  return std::tuple(one.slowest_mbps, -one.rtt_ms) > std::tuple(other.slowest_mbps, -other.rtt_ms);
}

bool is_possible(const Ring& ring) { return !ring.order.empty() && ring.slowest_mbps > 0; }

void keep(const Ring& ring, RingChoice& choice) {
  if (!is_possible(ring)) {
    return;
  }
  if (!is_possible(choice.best) || is_faster(ring, choice.best)) {
    choice.best = ring;
  }
  if (!is_possible(choice.worst) || is_faster(choice.worst, ring)) {
    choice.worst = ring;
  }
}

void try_all(const Paths& paths, RingChoice& choice) {
  std::vector<std::size_t> order(paths.sites());
  std::iota(order.begin(), order.end(), 0U);
  do {
    keep(paths.ring_of(order), choice);
  } while (std::next_permutation(order.begin() + 1, order.end()));
}

// Each site sends to the one of those left that it reaches fastest, or slowest.
std::vector<std::size_t> by_neighbours(const Paths& paths, std::size_t first, bool is_for_best) {
  std::vector<std::size_t> order{first};
  std::vector<bool> is_taken(paths.sites(), false);
  is_taken[first] = true;
  while (order.size() < paths.sites()) {
    std::optional<std::size_t> next;
    for (std::size_t site = 0; site < paths.sites(); ++site) {
      if (is_taken[site]) {
        continue;
      }
      const double rate = paths.rate(order.back(), site);
      const double known = next ? paths.rate(order.back(), *next) : 0;
      const bool is_next = is_for_best ? rate > known : rate > 0 && (known <= 0 || rate < known);
      next = !next || is_next ? site : next;
    }
    is_taken[*next] = true;
    order.push_back(*next);
  }
  return order;
}

// Turns parts of the ring round while that makes it better.
Ring improved(const Paths& paths, Ring ring, bool is_for_best) {
  const auto is_better = [&](const Ring& one, const Ring& other) {
    return is_possible(one) &&
           (!is_possible(other) || (is_for_best ? is_faster(one, other) : is_faster(other, one)));
  };
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::size_t from = 1; from + 1 < paths.sites(); ++from) {
      for (std::size_t to = from + 1; to < paths.sites(); ++to) {
        std::vector<std::size_t> order = ring.order;
        std::reverse(order.begin() + static_cast<std::ptrdiff_t>(from),
                     order.begin() + static_cast<std::ptrdiff_t>(to) + 1);
        if (Ring turned = paths.ring_of(std::move(order)); is_better(turned, ring)) {
          ring = std::move(turned);
          has_changed = true;
        }
      }
    }
  }
  return ring;
}

void try_some(const Paths& paths, RingChoice& choice) {
  choice.is_exact = false;
  for (std::size_t first = 0; first < std::min(kStarts, paths.sites()); ++first) {
    for (const bool is_for_best : {true, false}) {
      keep(improved(paths, paths.ring_of(by_neighbours(paths, first, is_for_best)), is_for_best),
           choice);
    }
  }
}

std::size_t number_of(const std::string& site, std::vector<std::string>& sites) {
  const auto known = std::ranges::find(sites, site);
  if (known == sites.end()) {
    sites.push_back(site);
    return sites.size() - 1;
  }
  return static_cast<std::size_t>(known - sites.begin());
}

Error no_ring(std::string subject, std::string reason, std::string next_step) {
  return {.kind = ErrorKind::Usage,
          .operation = "--between",
          .subject = std::move(subject),
          .reason = std::move(reason),
          .next_step = std::move(next_step)};
}

}  // namespace

Result<SitePath> parse_site_path(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::string_view pair = text.substr(0, equals);
  const std::size_t comma = pair.find(',');
  if (equals == std::string_view::npos || comma == std::string_view::npos || comma == 0 ||
      comma + 1 == pair.size() || pair.substr(0, comma) == pair.substr(comma + 1)) {
    return fail(no_ring(std::string(text), "does not name two sites and a rate", kExample));
  }
  SitePath path{.from = std::string(pair.substr(0, comma)),
                .to = std::string(pair.substr(comma + 1))};
  const std::string_view figures = text.substr(equals + 1);
  const std::size_t slash = figures.find('/');
  const Result<math::Rate> rate = parse_link(figures.substr(0, slash));
  if (!rate) {
    return fail(no_ring(std::string(text), "names no rate", kExample));
  }
  path.rate_mbps = rate->bits_per_second / 1e6;
  if (slash != std::string_view::npos) {
    const auto rtt = math::parse_short_duration(figures.substr(slash + 1));
    if (!rtt) {
      return fail(no_ring(std::string(text), "names no round trip", kExample));
    }
    path.rtt_ms = static_cast<double>(rtt->count()) / 1e6;
  }
  return path;
}

Result<RingChoice> choose_ring(const std::vector<SitePath>& paths) {
  RingChoice choice;
  for (const SitePath& path : paths) {
    number_of(path.from, choice.sites);
    number_of(path.to, choice.sites);
  }
  if (choice.sites.size() > kMostSites) {
    return fail(
        no_ring("", fmt::format("there are more than {} sites", kMostSites), "leave some out"));
  }
  Paths known(choice.sites.size());
  for (const bool is_back : {true, false}) {  // what was given goes before another one's reverse
    for (const SitePath& path : paths) {
      const std::size_t from = number_of(path.from, choice.sites);
      const std::size_t to = number_of(path.to, choice.sites);
      is_back ? known.set(to, from, path) : known.set(from, to, path);
    }
  }
  choice.sites.size() <= kMostTriedWhole ? try_all(known, choice) : try_some(known, choice);
  if (!is_possible(choice.best)) {
    return fail(no_ring("", "no ring of all sites can be made of these paths",
                        "give the path between each two sites"));
  }
  std::vector<std::size_t> named(choice.sites.size());
  std::iota(named.begin(), named.end(), 0U);
  if (Ring given = known.ring_of(std::move(named)); is_possible(given)) {
    choice.given = std::move(given);
  }
  return choice;
}

}  // namespace chokepoint::analysis
