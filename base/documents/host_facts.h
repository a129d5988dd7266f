// How the hosts of a test were set up, at the end of what probes and RDMA tests print.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json/fields.h"

namespace chokepoint {

namespace documents {

// As in a run record's facts: subject, key, value.
using Settings = std::map<std::string, std::map<std::string, std::string>>;

struct HostFacts {
  Settings own = {};
  std::optional<Settings> peer = {};
  std::optional<std::map<std::string, Settings>> peers = {};
};

}  // namespace documents

template <>
struct Fields<documents::HostFacts> {
  using H = documents::HostFacts;
  static constexpr FieldList kList{
      field("own", &H::own, "facts of the host that wrote the document"),
      field("peer", &H::peer, "facts of the peer; null: no peer, or the peer reported none"),
      field("peers", &H::peers, "facts of a collective's other hosts, by name")
          .omitted_if_unknown()};
};

}  // namespace chokepoint
