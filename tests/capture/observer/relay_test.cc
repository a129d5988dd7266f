#include "capture/observer/relay.h"

#include <gmock/gmock.h>

#include <numeric>
#include <thread>

namespace chokepoint::capture::observer {
namespace {

std::vector<int> take_all(Relay<int>& relay, std::size_t taker) {
  std::vector<int> taken;
  while (const int* item = relay.next(taker)) {
    taken.push_back(*item);
    relay.release(taker);
  }
  return taken;
}

std::vector<int> numbers(int count) {
  std::vector<int> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

TEST(Relay, EveryTakerSeesEveryItemInOrder) {
  constexpr int kItems = 20'000;
  Relay<int> relay(4, 3);
  std::array<std::vector<int>, 3> taken;
  std::vector<std::thread> takers;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    takers.emplace_back([&, i] { taken.at(i) = take_all(relay, i); });
  }
  for (int i = 0; i < kItems; ++i) {
    relay.fill() = i;
    relay.give();
  }
  relay.close();
  for (std::thread& taker : takers) {
    taker.join();
  }
  EXPECT_THAT(taken, testing::Each(numbers(kItems)));
}

TEST(Relay, NothingGivenIsTheEndAtOnce) {
  Relay<int> relay(4, 1);
  relay.close();
  EXPECT_EQ(relay.next(0), nullptr);
}

TEST(Relay, WhatWasGivenBeforeTheEndIsStillTaken) {
  Relay<int> relay(4, 1);
  for (int i = 0; i < 3; ++i) {
    relay.fill() = i;
    relay.give();
  }
  relay.close();
  EXPECT_EQ(take_all(relay, 0), numbers(3));
}

TEST(Relay, AnItemIsNotFilledAgainBeforeTheSlowestTakerHasLetGo) {
  Relay<int> relay(2, 2);
  for (int i = 0; i < 2; ++i) {
    relay.fill() = i;
    relay.give();
  }
  const int* held = relay.next(1);
  relay.next(0);
  relay.release(0);
  std::thread giver([&] {
    relay.fill() = 2;  // waits for taker 1
    relay.give();
    relay.close();
  });
  EXPECT_EQ(*held, 0);
  relay.release(1);
  EXPECT_THAT(take_all(relay, 1), testing::ElementsAre(1, 2));
  EXPECT_THAT(take_all(relay, 0), testing::ElementsAre(1, 2));
  giver.join();
}

}  // namespace
}  // namespace chokepoint::capture::observer
