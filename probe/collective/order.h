// What the conductor tells every rank to do, and what a rank answers; each is one value of the
// store. A rank believes no figure in an order before it was checked.
//
//   order/RANK   Prepare ─▶ Check ─▶ Run … ─▶ Prepare … ─▶ Tell ─▶ End
//   answer/RANK  {}         {wrong}  {times}  {}            {way}
//
// Values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probe/collective/communicator.h"
#include "probe/collective/pattern.h"

namespace chokepoint::probe::collective {

enum class Task { Prepare, Check, Run, Tell, End };

inline constexpr int kMostRanks = 4096;
inline constexpr int kMostIterations = 1000;  // of one order: its answer is one message

struct Order {
  Task task = Task::End;
  Operation operation = {};  // Prepare
  int lead = 0;              // Run: iterations before those that count
  int times = 0;             // Run
};

struct Answer {
  std::vector<double> times_us = {};  // Check: of its one run; Run: of those that count
  std::optional<Wrong> wrong = {};
  Way way = {};
};

std::string order_key(int rank);
std::string answer_key(int rank);

std::string to_text(const Order& order);
Result<Order> parse_order(const std::string& text);
std::string to_text(const Answer& answer);
// `rank` is whose it is.
Result<Answer> parse_answer(const std::string& text, int rank);

}  // namespace chokepoint::probe::collective
