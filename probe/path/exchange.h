// What two ends that survey one path tell each other over the control connection: what is asked
// for, and what the server found. Values and pure functions; what a peer says is bounded.
#pragma once

#include <chrono>
#include <string>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "probe/path/survey.h"

namespace chokepoint::probe::path {

// What either end waits for the other's word, and how often it looks for one meanwhile.
inline constexpr std::chrono::seconds kAnswer{10};
inline constexpr std::chrono::milliseconds kLookForWord{50};

struct Parameters {
  Protocol protocol = Protocol::Udp;
  std::uint16_t port = 0;  // which the server tries to connect to, with Protocol::Tcp
  int max_hops = 30;
  int probes = 3;
  std::chrono::nanoseconds time = std::chrono::seconds(20);
  bool search_mtu = true;
};

control::Json body_of(const Parameters& parameters);
Result<Parameters> parameters_in(const control::Json& body);
Result<> check(const Parameters& parameters, const control::Limits& limits);

SurveyOptions survey_options(const Parameters& parameters);

control::Json body_of(const Survey& survey);
Result<Survey> survey_in(const control::Json& body);

}  // namespace chokepoint::probe::path
