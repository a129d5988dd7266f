#include "analysis/load/flow_key.h"

#include <algorithm>

#include "base/net/address.h"

namespace chokepoint::analysis {

std::string plain_address(const std::string& text) {
  const std::string bare = text.substr(0, text.find_first_of("%/"));
  const Result<net::Address> address = net::Address::parse(bare);
  return address ? address->unmapped().text() : bare;
}

FlowEnd end_a(const record::Flow& row) {
  return {plain_address(row.a_address), row.a_port.value_or(-1)};
}

FlowEnd end_b(const record::Flow& row) {
  return {plain_address(row.b_address), row.b_port.value_or(-1)};
}

FlowKey key_of(const record::Flow& row) {
  FlowEnd first = end_a(row);
  FlowEnd second = end_b(row);
  if (second < first) {
    std::swap(first, second);
  }
  return {row.protocol, std::move(first), std::move(second)};
}

}  // namespace chokepoint::analysis
