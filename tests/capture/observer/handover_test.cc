#include "capture/observer/handover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace chokepoint::capture::observer {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{60'000};

TEST(ThreadTasks, AreRunByTheThreadThatIsAsked) {
  ThreadTasks tasks;
  std::atomic<bool> is_over = false;
  std::thread worker([&] {
    while (!is_over) {
      tasks.run();
      std::this_thread::yield();
    }
  });
  std::thread::id ran_by;
  EXPECT_TRUE(tasks.ask([&] { ran_by = std::this_thread::get_id(); }, kPatience));
  EXPECT_EQ(ran_by, worker.get_id());
  is_over = true;
  worker.join();
}

TEST(ThreadTasks, AreWithdrawnWhereNobodyComesBy) {
  ThreadTasks tasks;
  bool has_run = false;
  EXPECT_FALSE(tasks.ask([&] { has_run = true; }, milliseconds(0)));
  tasks.run();
  EXPECT_FALSE(has_run);
}

TEST(ThreadTasks, AreRunOnce) {
  ThreadTasks tasks;
  std::atomic<int> runs = 0;
  std::thread asker([&] { tasks.ask([&] { ++runs; }, kPatience); });
  while (runs == 0) {
    tasks.run();
  }
  asker.join();
  tasks.run();
  EXPECT_EQ(runs, 1);
}

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
