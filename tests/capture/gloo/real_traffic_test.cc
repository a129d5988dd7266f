// What PyTorch's Gloo really sent, against what the ranks said that they did.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include <nlohmann/json.hpp>

#include "capture/gloo/arrival.h"
#include "tests/capture/gloo/capture_reading.h"
#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::gloo {
namespace {

using fakes::kMs;

struct Action {
  std::uint32_t group = 0;
  Kind kind = Kind::Unknown;
  std::uint32_t number = 0;
  std::uint64_t bytes = 0;
  bool has_late_rank = false;
  std::int64_t own_begin_ns = 0;
  std::int64_t first_begin_ns = 0;
  std::int64_t last_begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct Truth {
  std::size_t ranks = 0;
  std::vector<Action> actions{};
};

Kind kind_named(const std::string& name) {
  static const std::map<std::string, Kind> kinds = {
      {"all_reduce", Kind::AllReduce}, {"all_gather", Kind::AllGather},
      {"broadcast", Kind::Broadcast},  {"reduce", Kind::Reduce},
      {"gather", Kind::Gather},        {"scatter", Kind::Scatter},
      {"barrier", Kind::Barrier},      {"all_to_all", Kind::AllToAll},
      {"send", Kind::PointToPoint}};
  return kinds.at(name);
}

// The actions of rank 0, widened by when the others did theirs.
Truth truth_of(const std::string& capture) {
  std::ifstream file(std::string(CHOKEPOINT_FIXTURES "/captures/") + capture + ".jsonl");
  Truth truth;
  std::size_t place = 0;
  for (std::string line; std::getline(file, line);) {
    const auto entry = nlohmann::json::parse(line);
    const std::size_t rank = entry["rank"];
    place = rank + 1 == truth.ranks ? place : 0;
    truth.ranks = rank + 1;
    const std::int64_t begin = entry["begun_ns"];
    if (rank == 0) {
      Action action;
      action.group = entry["group"];
      action.kind = kind_named(entry["kind"]);
      action.number = entry["ordinal"].is_null() ? 77 : entry["ordinal"].get<std::uint32_t>();
      action.bytes = entry["bytes"];
      action.has_late_rank = !entry["late_rank"].is_null();
      action.own_begin_ns = begin;
      action.first_begin_ns = action.last_begin_ns = begin;
      action.end_ns = entry["ended_ns"];
      truth.actions.push_back(action);
      continue;
    }
    Action& action = truth.actions.at(place++);
    action.first_begin_ns = std::min(action.first_begin_ns, begin);
    action.last_begin_ns = std::max(action.last_begin_ns, begin);
    action.end_ns = std::max(action.end_ns, entry["ended_ns"].get<std::int64_t>());
  }
  return truth;
}

struct Volume {
  double sent = 0;
  double received = 0;
};

// What Gloo's algorithms make rank 0, the root, send and receive.
Volume volume_of(const Action& action, std::size_t ranks) {
  const auto bytes = static_cast<double>(action.bytes);
  const auto others = static_cast<double>(ranks - 1);
  const double part = bytes * others / static_cast<double>(ranks);
  switch (action.kind) {
    case Kind::AllReduce:
      return {2 * part, 2 * part};
    case Kind::Reduce:
      return {part, 2 * part};
    case Kind::AllGather:
    case Kind::AllToAll:
      return {bytes * others, bytes * others};
    case Kind::Broadcast:
    case Kind::Scatter:
      return {bytes * others, 0};
    case Kind::Gather:
      return {0, bytes * others};
    case Kind::PointToPoint:
      return {bytes, 0};
    case Kind::Barrier:
    case Kind::Unknown:
      return {};
  }
  return {};
}

const Collective* find(const Followed& followed, const Action& action) {
  const auto found = std::ranges::find_if(followed.collectives, [&](const Collective& each) {
    return each.group == action.group && each.kind == action.kind && each.number == action.number;
  });
  return found == followed.collectives.end() ? nullptr : &*found;
}

class RealTraffic : public testing::TestWithParam<const char*> {
 protected:
  Truth truth = truth_of(GetParam());
  std::vector<StreamPiece> pieces = read_pieces(std::string(GetParam()) + ".pcap.zst");
  Followed followed = follow(pieces, rank_zero());
  // Ready messages leave behind other data in one frame, where they are not captured.
  bool is_queue_full = std::string(GetParam()).ends_with("200mbit");
};

TEST_P(RealTraffic, EveryCollectiveIsFoundOnceAndNoOther) {
  for (const Action& action : truth.actions) {
    EXPECT_NE(find(followed, action), nullptr)
        << static_cast<int>(action.kind) << " number " << action.number;
  }
  EXPECT_EQ(followed.collectives.size(), truth.actions.size());
}

TEST_P(RealTraffic, BytesAreWhatTheAlgorithmMoves) {
  for (const Action& action : truth.actions) {
    const Collective* found = find(followed, action);
    ASSERT_NE(found, nullptr);
    const Volume expected = volume_of(action, truth.ranks);
    SCOPED_TRACE(testing::Message() << static_cast<int>(action.kind) << ' ' << action.number);
    EXPECT_NEAR(static_cast<double>(found->sent_bytes()), expected.sent, 4 + expected.sent / 500);
    EXPECT_NEAR(static_cast<double>(found->received_bytes()), expected.received,
                4 + expected.received / 500);
  }
}

TEST_P(RealTraffic, ACollectiveLiesBetweenTheFirstRanksBeginAndTheLastOnesEnd) {
  for (const Action& action : truth.actions) {
    const Collective* found = find(followed, action);
    ASSERT_NE(found, nullptr);
    SCOPED_TRACE(testing::Message() << static_cast<int>(action.kind) << ' ' << action.number);
    EXPECT_GE(found->start_ns, action.first_begin_ns);
    EXPECT_LE(found->end_ns, action.end_ns + kMs);
    EXPECT_GE(found->end_ns, found->start_ns);
  }
}

TEST_P(RealTraffic, ALateRankIsTheOneWhoseReadyMessagesCameLate) {
  std::size_t late = 0;
  for (const Action& action : truth.actions) {
    const Collective* found = find(followed, action);
    if (!action.has_late_rank || found == nullptr) {
      continue;
    }
    ++late;
    const Arrival arrival = arrival_at(*found);
    EXPECT_GE(arrival.peer_ns, action.last_begin_ns);
    EXPECT_LE(arrival.peer_ns, action.last_begin_ns + 10 * kMs);
    if (!is_queue_full) {
      EXPECT_GE(arrival.own_ns, action.own_begin_ns);
      EXPECT_LE(arrival.own_ns, action.own_begin_ns + 10 * kMs);
      EXPECT_GE(arrival.peer_ns - arrival.own_ns, 20 * kMs);
    }
  }
  EXPECT_EQ(late, 2U);
}

TEST_P(RealTraffic, OnlyGloosOwnConnectionsAreFollowed) {
  std::uint32_t groups = 0;
  for (const Action& action : truth.actions) {
    groups = std::max(groups, action.group + 1);
  }
  EXPECT_EQ(followed.connections, groups * (truth.ranks - 1)) << "the store's is none";
}

// One piece in fifty never reaches the capture.
TEST_P(RealTraffic, MostCollectivesAreFoundWithPiecesMissing) {
  const Followed seen =
      follow(pieces, rank_zero(), [](std::size_t number) { return number % 50 == 49; });
  std::size_t found = 0;
  for (const Action& action : truth.actions) {
    found += find(seen, action) != nullptr ? 1U : 0U;
  }
  EXPECT_GE(found * 100, truth.actions.size() * 95);
  EXPECT_LE(seen.collectives.size(), truth.actions.size());
}

INSTANTIATE_TEST_SUITE_P(Captures, RealTraffic,
                         testing::Values("gloo-two-ranks", "gloo-two-ranks-segments",
                                         "gloo-two-ranks-200mbit", "gloo-three-ranks"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace chokepoint::capture::gloo
