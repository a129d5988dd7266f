#include "probe/pcie/peer_survey.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "probe/pcie/bench.h"
#include "probe/pcie/pattern.h"
#include "probe/pcie/stopwatch.h"

namespace chokepoint::probe::pcie {
namespace {

constexpr std::uint64_t kThere = 3;  // seeds
constexpr std::uint64_t kBack = 4;

Result<> write_pattern(const gpu::Memory& memory, std::uint64_t seed) {
  std::vector<std::byte> bytes(memory.bytes());
  fill_pattern(bytes, seed);
  return memory.gpu().write(memory.address(), bytes);
}

class Pair {
 public:
  Pair(const Bench& one, const Bench& other, const Pace& pace)
      : one_(one), other_(other), pace_(pace) {}

  Result<> copy(const std::string& how, PeerCopies& copies, Verified& verified) const {
    const Lane there = lane(one_.first(), one_, other_);
    const Lane back = lane(other_.first(), other_, one_);
    const Lane back_beside = lane(one_.second(), other_, one_);
    auto done = once(std::array{there}, copies.there_mbps);
    if (done) {
      done = verify(other_.gpu(), other_.in(), kThere, how + " there", verified);
    }
    if (done) {
      done = once(std::array{back}, copies.back_mbps);
    }
    if (done) {
      done = verify(one_.gpu(), one_.in(), kBack, how + " back", verified);
    }
    if (done) {
      done = once(std::array{there, back_beside}, copies.both_mbps);
    }
    return done ? verify_both(how + " both ways", verified) : done;
  }

  Result<> prepare() const {
    auto done = write_pattern(one_.out(), kThere);
    return done ? write_pattern(other_.out(), kBack) : done;
  }

  Result<> reach(bool directly) const {
    auto done = one_.gpu().reach(other_.gpu(), directly);
    return done ? other_.gpu().reach(one_.gpu(), directly) : done;
  }

 private:
  static Lane lane(const gpu::Stream& stream, const Bench& from, const Bench& to) {
    return {.stream = &stream, .copy = [&stream, &from, &to] {
              return stream.between(to.gpu(), to.in().address(), from.gpu(), from.out().address(),
                                    from.out().bytes());
            }};
  }

  Result<> verify_both(const std::string& how, Verified& verified) const {
    auto done = verify(other_.gpu(), other_.in(), kThere, how + ", there", verified);
    return done ? verify(one_.gpu(), one_.in(), kBack, how + ", back", verified) : done;
  }

  // Nothing of an earlier copy may be taken for what arrives now.
  Result<> clear() const {
    Result<> done;
    for (const Bench* bench : {&one_, &other_}) {
      if (done) {
        done = bench->first().fill(bench->in().address(), 0,
                                   bench->in().bytes() / sizeof(std::uint32_t));
      }
      if (done) {
        done = bench->first().finish();
      }
    }
    return done;
  }

  Result<> once(std::span<const Lane> lanes, std::optional<double>& rate) const {
    if (auto done = clear(); !done) {
      return done;
    }
    TRY(const auto measured, measure(lanes, one_.out().bytes(), pace_));
    rate = measured;
    return {};
  }

  const Bench& one_;
  const Bench& other_;
  const Pace& pace_;
};

void note(const Result<>& done, const std::string& what, PeerOutcome& outcome) {
  if (!done && done.error().kind != ErrorKind::Interrupted) {
    outcome.problems.push_back(fmt::format("{}: {}", what, describe(done.error())));
  }
}

void copy_both_manners(const Pair& pair, const Pace& pace, PeerOutcome& outcome,
                       Verified& verified) {
  auto done = pair.prepare();
  if (done) {
    done = pair.copy("through the host", outcome.staged, verified);
  }
  note(done, "through the host", outcome);
  if (!outcome.reachable.value_or(false) || pace.stopped()) {
    return;
  }
  done = pair.reach(true);
  if (done) {
    done = pair.copy("directly", outcome.direct, verified);
  }
  note(done, "directly", outcome);
  static_cast<void>(pair.reach(false));
}

}  // namespace

PeerOutcome survey_peers(const gpu::Cuda& one, const gpu::Cuda& other, const Pace& pace) {
  PeerOutcome outcome{.one = one.pci_address().value_or(one.name()),
                      .other = other.pci_address().value_or(other.name()),
                      .bytes = pace.bytes};
  const auto there = one.can_reach(other);
  const auto back = other.can_reach(one);
  if (there && back) {
    outcome.reachable = *there && *back;
  }
  const auto here = Bench::make(one, pace.bytes);
  if (!here) {
    outcome.problems.push_back(describe(here.error()));
    return outcome;
  }
  const auto beyond = Bench::make(other, pace.bytes);
  if (!beyond) {
    outcome.problems.push_back(describe(beyond.error()));
    return outcome;
  }
  Verified verified;
  copy_both_manners(Pair(*here, *beyond, pace), pace, outcome, verified);
  outcome.verified_bytes = verified.bytes;
  outcome.wrong = std::move(verified.wrong);
  return outcome;
}

}  // namespace chokepoint::probe::pcie
