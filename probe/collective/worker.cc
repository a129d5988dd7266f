#include "probe/collective/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "base/math/units.h"
#include "probe/collective/order.h"
#include "probe/collective/pattern.h"

namespace chokepoint::probe::collective {
namespace {

std::vector<std::chrono::nanoseconds> nanoseconds_of(const std::vector<double>& times_us) {
  std::vector<std::chrono::nanoseconds> times;
  for (const double each : times_us) {
    times.emplace_back(std::llround(each * 1000));
  }
  return times;
}

class Worker {
 public:
  Worker(const Job& job, Group& group) : job_(job), group_(group) {}

  Result<> run() {
    TRY(auto opened, job_.open(job_.position, group_, job_.options));
    communicator_ = std::move(opened);
    // The first answer has no order: it reports that this rank is connected.
    TRY(answer({}));
    while (true) {
      TRY(const std::string text, group_.take(order_key(job_.position.rank)));
      TRY(const Order order, parse_order(text));
      if (order.task == Task::End) {
        return {};
      }
      TRY(const Answer done, perform(order));
      TRY(answer(done));
    }
  }

 private:
  Result<> answer(const Answer& answer) {
    return group_.set(answer_key(job_.position.rank), to_text(answer));
  }

  Result<Answer> perform(const Order& order) {
    switch (order.task) {
      case Task::Prepare:
        return prepare(order.operation);
      case Task::Check:
        return check();
      case Task::Run:
        return measure(order);
      case Task::Describe:
        return Answer{.data_path = communicator_->data_path(),
                      .settings = job_.settings ? job_.settings() : host::Settings()};
      case Task::End:
        break;
    }
    return Answer{};
  }

  Result<Answer> prepare(const Operation& operation) {
    if (operation.ranks != job_.position.ranks) {
      return fail(ErrorKind::Malformed, "prepare", "order", "is for another number of ranks");
    }
    operation_ = operation;
    TRY(check_memory());
    TRY(communicator_->prepare(operation));
    TRY(fill());
    return Answer{};
  }

  Result<> check_memory() const {
    // The library's two buffers, and the one that they are filled from or compared with.
    const std::uint64_t input = input_bytes(operation_);
    const std::uint64_t output = output_bytes(operation_);
    const std::uint64_t wanted = input + output + std::max(input, output);
    if (job_.memory_bytes == 0 || wanted <= job_.memory_bytes) {
      return {};
    }
    return fail(ErrorKind::Exhausted, "prepare",
                math::format_bytes(static_cast<double>(operation_.bytes)),
                fmt::format("its buffers take {}, {} are left for them on this host",
                            math::format_bytes(static_cast<double>(wanted)),
                            math::format_bytes(static_cast<double>(job_.memory_bytes))),
                "ask for a smaller size");
  }

  Result<std::vector<std::byte>> buffer(std::uint64_t bytes) const {
    try {
      return std::vector<std::byte>(bytes);
    } catch (const std::bad_alloc&) {
      return fail(ErrorKind::Exhausted, "prepare", math::format_bytes(static_cast<double>(bytes)),
                  "there is no such memory on this host", "ask for a smaller size");
    }
  }

  Result<> fill() {
    TRY(std::vector<std::byte> input, buffer(input_bytes(operation_)));
    Pattern(operation_, job_.position.rank).fill_input(input);
    return communicator_->write_input(input);
  }

  Result<Answer> check() {
    TRY(fill());
    TRY(std::vector<double> times, communicator_->run(1));
    TRY(std::vector<std::byte> output, buffer(output_bytes(operation_)));
    TRY(communicator_->read_output(output));
    return Answer{.times = nanoseconds_of(times),
                  .wrong = Pattern(operation_, job_.position.rank).check_output(output)};
  }

  Result<Answer> measure(const Order& order) {
    const int all = order.lead + order.times;
    TRY(std::vector<double> times, communicator_->run(all));
    if (times.size() != static_cast<std::size_t>(all)) {
      return fail(ErrorKind::Io, "run", "",
                  fmt::format("{} iterations were wanted, {} made", all, times.size()));
    }
    times.erase(times.begin(), times.begin() + order.lead);
    return Answer{.times = nanoseconds_of(times)};
  }

  const Job& job_;
  Group& group_;
  std::unique_ptr<Communicator> communicator_;
  Operation operation_;
};

}  // namespace

Result<> work(const Job& job, Group& group, const OnFailure& on_failure) {
  Worker worker(job, group);
  Result<> worked = worker.run();
  if (!worked && on_failure) {
    on_failure(worked.error());
  }
  return worked;
}

}  // namespace chokepoint::probe::collective
