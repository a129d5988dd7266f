#include "preflight/report/name_answers.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "preflight/report/json_parts.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;
using Key = std::tuple<HostIndex, std::vector<std::string>, std::string>;

constexpr std::size_t kMostAddresses = 256;  // of one name

Key key_of(const NameAnswer& answer) {
  return {answer.asked, answer.addresses, answer.error ? describe(*answer.error) : std::string()};
}

Json answer_json(const NameAnswer& answer) {
  return {{"asked", answer.asked},
          {"addresses", answer.addresses},
          {"error", json_of_error(answer.error)},
          {"by", Json::array()}};
}

Result<HostIndex> asked_in(const Json& json, std::size_t hosts) {
  const auto at = json.find("asked");
  const auto asked = at == json.end() ? std::nullopt : count_in(*at);
  if (!asked || *asked >= hosts) {
    return malformed("asked", "wanted the number of a host");
  }
  return static_cast<HostIndex>(*asked);
}

Result<> read_answer(const Json& json, std::vector<HostResult>& hosts) {
  if (!json.is_object()) {
    return malformed("names", "wanted an object for each answer");
  }
  const auto asked = asked_in(json, hosts.size());
  const auto addresses = texts_in(json, "addresses");
  const auto error = error_in(json, "error");
  const auto by = hosts_in(json, "by", hosts.size());
  if (!asked || !addresses || !error || !by) {
    return std::unexpected(!asked       ? asked.error()
                           : !addresses ? addresses.error()
                           : !error     ? error.error()
                                        : by.error());
  }
  if (addresses->size() > kMostAddresses) {
    return malformed("addresses", "more than a name has");
  }
  for (const HostIndex host : *by) {
    hosts[host].names.push_back({.asked = *asked, .addresses = *addresses, .error = *error});
  }
  return {};
}

}  // namespace

Json json_of_names(const std::vector<HostResult>& hosts) {
  std::map<Key, Json> answers;
  for (HostIndex host = 0; host < hosts.size(); ++host) {
    for (const NameAnswer& answer : hosts[host].names) {
      const auto [at, is_new] = answers.try_emplace(key_of(answer));
      if (is_new) {
        at->second = answer_json(answer);
      }
      at->second["by"].push_back(host);
    }
  }
  Json list = Json::array();
  for (auto& [key, answer] : answers) {
    list.push_back(std::move(answer));
  }
  return list;
}

Result<> read_names(const Json& json, std::vector<HostResult>& hosts) {
  if (json.is_null()) {
    return {};
  }
  if (!json.is_array()) {
    return malformed("names", "wanted a list");
  }
  for (const Json& each : json) {
    if (const Result<> read = read_answer(each, hosts); !read) {
      return read;
    }
  }
  for (HostResult& host : hosts) {
    std::ranges::stable_sort(host.names, {}, &NameAnswer::asked);
  }
  return {};
}

}  // namespace chokepoint::preflight
