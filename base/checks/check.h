// One judgement about this host: what was found, what it should be, why that matters and the exact
// command that fixes it. doctor, preflight and rdma devices print them, and their documents have
// lists of them. Values.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/cli/context.h"
#include "base/json/fields.h"

namespace chokepoint::checks {

// From good to bad: the verdict over many checks is the worst of them. Unknown stands below
// Warning, because what could not be seen is no finding.
enum class Status { Pass, Info, Unknown, Warning, Critical };

struct Check {
  std::string id = {};  // "nic.mtu": stable, documented in docs/reference/doctor.md
  Status status = Status::Pass;
  std::string subject = {};  // "eth0"; "host" for the host itself
  std::string found = {};    // "1500"; empty where nothing could be read
  std::string wanted = {};   // "9000"; empty where nothing is asked for
  std::string why = {};
  std::string next_step = {};  // a command where there is one; empty where nothing is to be done
};

using Checks = std::vector<Check>;

}  // namespace chokepoint::checks

template <>
struct chokepoint::EnumNames<chokepoint::checks::Status> {
  using S = checks::Status;
  static constexpr std::string_view kWhat = "a status: PASS, INFO, UNKNOWN, WARNING or CRITICAL";
  static constexpr auto kNames = std::to_array<EnumName<S>>({{S::Pass, "PASS"},
                                                             {S::Info, "INFO"},
                                                             {S::Unknown, "UNKNOWN"},
                                                             {S::Warning, "WARNING"},
                                                             {S::Critical, "CRITICAL"}});
};

template <>
struct chokepoint::Fields<chokepoint::checks::Check> {
  using C = checks::Check;
  static constexpr FieldList kList{
      field(
          "id", &C::id,
          "which check: docs/reference/doctor.md and docs/reference/preflight-checks.md list them"),
      field("status", &C::status, "what it comes to"),
      field("subject", &C::subject, "which interface, device, setting or host it is about"),
      field("found", &C::found, "what is there; null where nothing could be read").null_if_empty(),
      field("wanted", &C::wanted, "what it should be; null where nothing is asked for")
          .null_if_empty(),
      field("why", &C::why, "why that matters").or_default(),
      field("next_step", &C::next_step, "the command that fixes it; null where none does")
          .null_if_empty()};
  static const char* wrong(const C& check) { return check.id.empty() ? "an id" : nullptr; }
};

namespace chokepoint::checks {

using chokepoint::name_of;

Status worst(const Checks& checks);

// How checks look to people.

// What is wrong, the worst first, with the reason and what to do; the rest in a line each. With
// `all` every finding in full, and what passed.
void print_page(const cli::Context& context, const Checks& checks, bool all);

// Checks in one line, for a reason that a scheduler shows and a script passes on. Pure functions.

// "nic.speed eth0: 1000 Mb/s, wanted 10000 Mb/s"
std::string brief(const Check& check);

// Those that are as bad as this or worse, the worst first and no more than a line holds; empty
// where there are none.
std::string summary(const Checks& checks, Status least);

}  // namespace chokepoint::checks
