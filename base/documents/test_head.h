// What the documents of all tests have in common, and a test's requested settings. Documents are
// not trusted. Pure; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/documents/document.h"
#include "base/documents/host_facts.h"
#include "base/json/fields.h"

namespace chokepoint {

namespace documents {

struct TestedPeer {
  std::string host = {};
  std::string name = {};
  std::string family = {};
};

// Of tests of one host there is no peer.
struct TestHead {
  std::string schema = {};
  std::string host = {};
  std::string started_at = {};
  std::optional<TestedPeer> peer = {};
  bool interrupted = false;
  std::optional<HostFacts> host_facts = {};
};

// "tcp" of chokepoint.probe.tcp/1, "rdma" of chokepoint.rdma/1.
std::string kind_of(std::string_view schema);

// A text of a document as it may stand in a label: cut off where it is long.
std::string label_of(const std::string& text);

// What the test of this document was asked for, by kMainSettings: what a test repeats agrees in.
std::map<std::string, std::string> settings_of(const Json& document, std::string_view schema);

}  // namespace documents

template <>
struct Fields<documents::TestedPeer> {
  using P = documents::TestedPeer;
  static constexpr FieldList kList{field("host", &P::host).or_default(),
                                   field("name", &P::name).null_if_empty(),
                                   field("family", &P::family).or_default()};
};

template <>
struct Fields<documents::TestHead> {
  using H = documents::TestHead;
  static constexpr FieldList kList{
      field("schema", &H::schema).or_default(),           field("host", &H::host).or_default(),
      field("started_at", &H::started_at).or_default(),   field("peer", &H::peer),
      field("interrupted", &H::interrupted).or_default(), field("host_facts", &H::host_facts)};
};

}  // namespace chokepoint
