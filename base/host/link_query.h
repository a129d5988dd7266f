// What only the running kernel reports about a network interface: queried from the kernel for the
// live root, read from a file for a copied one, so that the answers of two hosts never mix. Queries
// are owned by the caller and used by one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/net/ethtool.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct LinkAnswers {
  std::optional<net::DriverInfo> driver = {};
  std::optional<net::LinkModes> modes = {};
  std::optional<net::Rings> rings = {};
  std::optional<net::Channels> channels = {};
  std::optional<net::Coalescing> coalescing = {};
  std::optional<net::Pause> pause = {};
  std::optional<net::PriorityFlowControl> pfc = {};
  std::vector<net::Feature> features = {};
  std::vector<net::Statistic> statistics = {};
  std::vector<std::string> qdiscs = {};  // the root first
  std::vector<net::InterfaceAddress> addresses = {};
};

class LinkQuery {
 public:
  LinkQuery() = default;
  LinkQuery(const LinkQuery&) = delete;
  LinkQuery& operator=(const LinkQuery&) = delete;
  virtual ~LinkQuery() = default;

  virtual LinkAnswers ask(const std::string& interface) const = 0;
  // Where the answers come from: a fact's source.
  virtual std::string source() const = 0;
  // Why there are no answers at all; nothing where there may be some.
  virtual std::optional<std::string> problem() const = 0;
};

// Where a copied root keeps the answers. docs/reference/doctor.md has the format.
inline constexpr std::string_view kRecordedAnswers = "/chokepoint/ethtool.json";

std::unique_ptr<LinkQuery> live_link_query();
std::unique_ptr<LinkQuery> recorded_link_query(const sys::Root& root);
std::unique_ptr<LinkQuery> link_query_for(const sys::Root& root);

}  // namespace chokepoint::host
