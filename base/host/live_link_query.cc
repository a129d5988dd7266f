#include <net/if.h>

#include "base/host/link_query.h"
#include "base/net/dcb.h"
#include "base/net/ethtool.h"
#include "base/net/rtnetlink.h"

namespace chokepoint::host {
namespace {

template <class T>
std::optional<T> optional_of(Result<T> result) {
  return result ? std::optional<T>(std::move(*result)) : std::nullopt;
}

template <class Map>
typename Map::mapped_type entry_of(const Result<Map>& map, int index) {
  if (!map) {
    return {};
  }
  const auto entry = map->find(index);
  return entry == map->end() ? typename Map::mapped_type() : entry->second;
}

class LiveLinkQuery final : public LinkQuery {
 public:
  LiveLinkQuery()
      : ethtool_(net::Ethtool::open()),
        addresses_(net::dump_addresses()),
        qdiscs_(net::dump_qdiscs()) {}

  LinkAnswers ask(const std::string& interface) const override {
    const int index = static_cast<int>(if_nametoindex(interface.c_str()));
    LinkAnswers answers{.qdiscs = entry_of(qdiscs_, index),
                        .addresses = entry_of(addresses_, index)};
    if (!ethtool_) {
      return answers;
    }
    answers.driver = optional_of(ethtool_->driver(interface));
    answers.modes = optional_of(ethtool_->modes(interface));
    answers.rings = optional_of(ethtool_->rings(interface));
    answers.channels = optional_of(ethtool_->channels(interface));
    answers.coalescing = optional_of(ethtool_->coalescing(interface));
    answers.pause = optional_of(ethtool_->pause(interface));
    answers.pfc = optional_of(net::priority_flow_control(interface));
    answers.features = ethtool_->features(interface).value_or(std::vector<net::Feature>());
    answers.statistics = statistics(*ethtool_, interface).value_or(std::vector<net::Statistic>());
    return answers;
  }

  std::string source() const override { return "ethtool"; }

  std::optional<std::string> problem() const override {
    if (!ethtool_) {
      return describe(ethtool_.error());
    }
    return addresses_ ? std::nullopt : std::optional(describe(addresses_.error()));
  }

 private:
  Result<net::Ethtool> ethtool_;
  Result<net::AddressesByIndex> addresses_;
  Result<net::QdiscsByIndex> qdiscs_;
};

}  // namespace

std::unique_ptr<LinkQuery> live_link_query() { return std::make_unique<LiveLinkQuery>(); }

std::unique_ptr<LinkQuery> link_query_for(const sys::Root& root) {
  return root.is_live() ? live_link_query() : recorded_link_query(root);
}

}  // namespace chokepoint::host
