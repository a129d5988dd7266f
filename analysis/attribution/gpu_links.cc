#include "analysis/attribution/gpu_links.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "analysis/attribution/counters.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMostHops = 64;

std::optional<int> lanes(std::optional<double> width) {
  constexpr double kMost = 32;
  return width && *width >= 1 && *width <= kMost ? std::optional(static_cast<int>(*width))
                                                 : std::nullopt;
}

std::string fact_text(const NodeData& node, std::string_view category, const std::string& subject,
                      std::string_view key) {
  std::string text;
  for (const record::Fact& fact : node.facts) {
    if (fact.category == category && fact.subject == subject && fact.key == key) {
      text = fact.value;
    }
  }
  return text;
}

std::optional<double> fact_number(const NodeData& node, std::string_view category,
                                  const std::string& subject, std::string_view key) {
  std::istringstream text(fact_text(node, category, subject, key));
  double number = 0;
  return text >> number && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<double> speed_of(std::optional<double> generation) {
  constexpr double kMost = 7;
  return generation && *generation >= 1 && *generation <= kMost
             ? host::speed_of_generation(static_cast<int>(*generation))
             : std::nullopt;
}

template <class T>
std::optional<T> first(std::optional<T> one, std::optional<T> other) {
  return one ? one : other;
}

void read_own(const NodeData& node, GpuLink& link) {
  const std::string& gpu = link.address;
  const auto level = [&](std::string_view name) { return last_level(node, name, gpu); };
  link.current = {.speed_gts = speed_of(level(record::kGpuBusyGeneration)),
                  .width = lanes(level(record::kGpuBusyWidth))};
  link.is_by_driver = link.current.is_known();
  if (!link.is_by_driver) {
    link.current = {.speed_gts = level(record::kPcieBusySpeed),
                    .width = lanes(level(record::kPcieBusyWidth))};
  }
  link.possible = {.speed_gts = first(speed_of(level(record::kGpuMaxGeneration)),
                                      fact_number(node, "gpu", gpu, "max_speed_gts")),
                   .width = first(lanes(level(record::kGpuMaxWidth)),
                                  lanes(fact_number(node, "gpu", gpu, "max_width")))};
}

double ceiling_of(const NodeData& node, const std::string& gpu, Span span) {
  const SeriesData* ceiling = node.find(record::kPcieCeiling, gpu);
  // A GPU that rests lets its link fall back.
  return ceiling == nullptr ? 0 : most_level(*ceiling, span).value_or(0);
}

// What was read of a port at rest may be less than what its GPUs then got through it.
double shared_ceiling(const NodeData& node, const std::string& port,
                      const std::vector<GpuLink>& own) {
  const auto speed = fact_number(node, "pci", port, "speed_gts");
  const auto width = lanes(fact_number(node, "pci", port, "width"));
  constexpr double kMostPayload = 4096;
  const double payload = fact_number(node, "pci", port, "payload_bytes").value_or(0);
  const bool is_payload = payload >= 1 && payload <= kMostPayload;
  double most = speed && width ? host::ceiling_mbps(*speed, *width,
                                                    is_payload ? static_cast<int>(payload)
                                                               : host::kUsualPayloadBytes)
                               : 0;
  for (const GpuLink& link : own) {
    most = std::max(most, link.ceiling_mbps);
  }
  return most;
}

// By the ports above each GPU; the two ends of one link have the same GPUs below them, and the one
// next to the GPUs stands for both.
void add_shared(const NodeData& node, std::vector<GpuLink>& links) {
  std::map<std::vector<std::string>, GpuLink> shared;
  std::map<std::string, std::vector<GpuLink>> below;
  std::vector<std::string> order;
  for (const GpuLink& link : links) {
    std::istringstream path(fact_text(node, "pci", link.address, "path"));
    std::size_t hops = 0;
    for (std::string port; ++hops < kMostHops && path >> port && port != link.address;) {
      if (below[port].empty()) {
        order.push_back(port);
      }
      below[port].push_back(link);
    }
  }
  for (const std::string& port : order) {
    GpuLink link{.address = port};
    for (const GpuLink& own : below[port]) {
      link.gpus.push_back(own.address);
    }
    if (link.is_shared()) {
      link.ceiling_mbps = shared_ceiling(node, port, below[port]);
      std::vector<std::string> gpus = link.gpus;
      shared[std::move(gpus)] = std::move(link);
    }
  }
  for (auto& [gpus, link] : shared) {
    links.push_back(std::move(link));
  }
}

double share(double now, double possible) { return now > 0 && possible > now ? now / possible : 1; }

}  // namespace

double GpuLink::speed_share() const {
  return share(current.speed_gts.value_or(0), possible.speed_gts.value_or(0));
}

double GpuLink::width_share() const {
  return share(current.width.value_or(0), possible.width.value_or(0));
}

std::vector<GpuLink> gpu_links(const NodeData& node, Span span) {
  std::vector<GpuLink> links;
  for (const std::string& gpu : job_gpus(node, span)) {
    GpuLink link{.address = gpu, .gpus = {gpu}, .ceiling_mbps = ceiling_of(node, gpu, span)};
    read_own(node, link);
    if (link.ceiling_mbps <= 0 && link.current.is_known()) {
      link.ceiling_mbps = host::ceiling_mbps(*link.current.speed_gts, *link.current.width,
                                             host::kUsualPayloadBytes);
    }
    links.push_back(std::move(link));
  }
  add_shared(node, links);
  return links;
}

}  // namespace chokepoint::analysis
