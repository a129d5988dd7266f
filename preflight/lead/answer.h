// An agent's document, looked at field by field with types and bounds: an agent may be broken or
// hostile, and then its document is malformed as a whole. What is absent or null was not measured.
// One thread.
//
//   Answer in(document, "chokepoint.probe.latency/1");
//   pair.rtt_ms = in.figure("idle_ms.median", 0, kLongestMs);
//   return in.finish();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/control/message.h"
#include "base/sys/error.h"
#include "preflight/result/figures.h"

namespace chokepoint::preflight::lead {

class Answer {
 public:
  Answer(const control::Json& document, std::string_view schema);

  // A place is a field's name, or names of objects in one another: "cpu.sender_percent".
  std::optional<double> number(std::string_view place, double least, double most);
  std::optional<std::int64_t> integer(std::string_view place, std::int64_t most);  // from 0 on
  Figure figure(std::string_view place, double least, double most);
  std::string text(std::string_view place, std::size_t longest);
  std::optional<bool> boolean(std::string_view place);
  // Empty where there is none.
  const control::Json& list(std::string_view place, std::size_t most);
  bool has(std::string_view place) { return find(place) != nullptr; }

  void wrong(std::string_view place, std::string_view wanted);
  Result<> finish() const;

 private:
  const control::Json* find(std::string_view place);

  const control::Json& document_;
  std::string_view schema_;
  std::optional<Error> error_;
};

}  // namespace chokepoint::preflight::lead
