// What the conductor orders every rank to do, and what a rank answers; each is one value of the
// store. Parsing checks every figure.
//
//   order/RANK   Prepare ─▶ Check ─▶ Run … ─▶ Prepare … ─▶ Tell ─▶ End
//   answer/RANK  {}         {wrong}  {times}  {}            {way, settings}
//
// Values.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/host/settings.h"
#include "probe/collective/communicator.h"
#include "probe/collective/pattern.h"

namespace chokepoint::probe::collective {

enum class Task {
  Prepare,
  Check,
  Run,
  Describe,  // the path that the data took, and the settings of the host
  End
};

inline constexpr int kMaxRanks = 4096;
// Of one order, so that its answer fits into one message.
inline constexpr int kMaxIterations = 1000;

struct Order {
  Task task = Task::End;
  Operation operation = {};  // Prepare
  int lead = 0;              // Run: iterations before the measured ones
  int times = 0;             // Run
};

struct Answer {
  // Check: of its one run; Run: of the measured ones.
  std::vector<std::chrono::nanoseconds> times = {};
  std::optional<Wrong> wrong = {};
  DataPath data_path = {};
  host::Settings settings = {};  // Describe: of the host, from one rank of each
};

std::string order_key(int rank);
std::string answer_key(int rank);

std::string to_text(const Order& order);
Result<Order> parse_order(const std::string& text);
std::string to_text(const Answer& answer);
// `rank` is the one that answered.
Result<Answer> parse_answer(const std::string& text, int rank);

}  // namespace chokepoint::probe::collective
