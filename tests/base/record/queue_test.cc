#include "base/record/queue.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

namespace chokepoint::record {
namespace {

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  double all = 0;
  double resident = 0;
  statm >> all >> resident;
  return resident * 4096 / 1e6;
}

TEST(Queue, KeepsRowsWholeAndInOrderBetweenTwoThreads) {
  constexpr std::int64_t kRows = 300'000;
  Queue queue(1 << 16);
  std::thread producer([&] {
    for (std::int64_t row = 0; row < kRows;) {
      const bool is_taken = row % 3 == 0
                                ? queue.push(SocketSample{.t_ns = row, .unsent_bytes = row})
                                : queue.push(CounterSample{.t_ns = row});
      row += is_taken ? 1 : 0;
    }
  });
  Words words;
  std::int64_t next = 0;
  while (next < kRows) {
    words.clear();
    queue.drain(words, 4096);
    for (std::size_t at = 0; at < words.size();) {
      at += unpack(&words[at], [&]<class Row>(const Row& row) {
        if constexpr (requires { row.t_ns; }) {
          ASSERT_EQ(row.t_ns, next);
          ++next;
        }
        if constexpr (std::is_same_v<Row, SocketSample>) {
          ASSERT_EQ(row.unsent_bytes, row.t_ns);
        }
      });
    }
  }
  producer.join();
  EXPECT_TRUE(queue.empty());
}

TEST(Queue, TakesNoMoreThanItsRoomAndAllOfItOnceEmptied) {
  Queue queue(1 << 16);
  std::size_t first = 0;
  while (queue.push(SocketSample{})) {
    ++first;
  }
  EXPECT_FALSE(queue.has_room<SocketSample>());
  EXPECT_GT(first * sizeof(SocketSample), std::size_t{1} << 15);
  EXPECT_LE(first * sizeof(SocketSample), std::size_t{1} << 16);
  Words words;
  EXPECT_EQ(queue.drain(words, first * kWordsOf<SocketSample>), first);
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.has_room<SocketSample>());
  std::size_t second = 0;
  while (queue.push(SocketSample{})) {
    ++second;
  }
  EXPECT_GT(second * 10, first * 9) << "less what is left of the piece that was not full";
}

// In a watch of days a producer of some rows a second would else touch one page after the other.
TEST(Queue, ThatIsKeptShortTouchesLittleOfItsRoom) {
  constexpr std::size_t kRoom = std::size_t{64} << 20;
  Queue queue(kRoom);
  Words words;
  words.reserve(1024);
  const double before_mb = resident_mb();
  for (std::size_t pushed = 0; pushed < 2 * kRoom; pushed += sizeof(SocketSample)) {
    ASSERT_TRUE(queue.push(SocketSample{}));
    words.clear();
    ASSERT_EQ(queue.drain(words, 1024), 1U);
  }
  EXPECT_LT(resident_mb() - before_mb, 8);
}

}  // namespace
}  // namespace chokepoint::record
