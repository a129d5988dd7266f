#include "preflight/agent/names.h"

#include <algorithm>

#include "base/control/message.h"
#include "base/net/address.h"

namespace chokepoint::preflight {
namespace {

using control::Json;
using Clock = net::Patience::Clock;

constexpr std::size_t kAtOnce = 16;
// A resolver asks each of its servers for 5 s before it takes the next.
constexpr std::chrono::seconds kEach{8};
constexpr std::size_t kMostAddresses = 64;

Json body_of(const std::string& name, const Names::Answer& answer) {
  Json addresses = Json::array();
  if (answer) {
    for (std::size_t i = 0; i < std::min(answer->size(), kMostAddresses); ++i) {
      addresses.push_back((*answer)[i].text());
    }
  }
  return {{"name", name},
          {"addresses", std::move(addresses)},
          {"error", answer ? Json() : control::body_of(answer.error())}};
}

Names::Answer late(const std::string& name) {
  return fail(ErrorKind::Timeout, "resolve", name, "the resolver did not answer in time",
              "are the name servers in /etc/resolv.conf reachable from there?");
}

}  // namespace

Names::Names(std::vector<std::string> names, std::chrono::milliseconds longest, Resolve resolve,
             UnderWay under_way)
    : names_(std::move(names)),
      deadline_(Clock::now() + longest),
      resolve_(std::move(resolve)),
      under_way_(std::move(under_way)),
      answers_(names_.size()) {}

sys::Late<Names::Answer> Names::ask(const std::string& name) const {
  ++*under_way_;
  return sys::Late<Answer>([resolve = resolve_, under_way = under_way_, name] {
    Answer answer = resolve(name);
    --*under_way;
    return answer;
  });
}

void Names::ask_some() {
  while (asked_ < names_.size() && open_.size() < kAtOnce && *under_way_ < kMostUnderWay &&
         Clock::now() < deadline_) {
    open_.push_back({.index = asked_,
                     .deadline = std::min(deadline_, Clock::now() + kEach),
                     .late = ask(names_[asked_])});
    ++asked_;
  }
}

bool Names::take(Question& question) {
  const auto now = Clock::now();
  const std::optional<Answer> answer = question.late.by(now);
  if (!answer && now < question.deadline) {
    return false;
  }
  const std::string& name = names_[question.index];
  answers_[question.index] = body_of(name, answer ? *answer : late(name));
  return true;
}

Result<std::optional<Json>> Names::look() {
  ask_some();
  std::erase_if(open_, [&](Question& question) { return take(question); });
  const bool is_late = Clock::now() >= deadline_;
  if (!open_.empty() || (asked_ < names_.size() && !is_late)) {
    return std::nullopt;
  }
  for (; asked_ < names_.size(); ++asked_) {
    answers_[asked_] = body_of(names_[asked_], late(names_[asked_]));
  }
  return Json{{"schema", kNamesSchema}, {"answers", answers_}};
}

Names::Resolve system_resolver() {
  return [](const std::string& name) { return net::resolve(name, std::nullopt); };
}

}  // namespace chokepoint::preflight
