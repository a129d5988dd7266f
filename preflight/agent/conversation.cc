#include "preflight/agent/conversation.h"

#include <poll.h>

#include <algorithm>

#include "base/control/fields.h"
#include "base/control/message.h"
#include "preflight/agent/child.h"

namespace chokepoint::preflight {
namespace {

using control::Json;
using control::Message;
using control::Type;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = net::Patience::Clock;

// A coordinator of thousands may be a while at it.
constexpr seconds kAnswer{30};
// Names are looked at this often, and a child's end of time.
constexpr milliseconds kLook{20};
// A coordinator of thousands has most of them wait for the others; one that forgets about this host
// leaves it to others some time.
constexpr hours kMostIdle{1};
// One that never stops talking has its turn, and then comes what else there is to look at.
constexpr int kMessagesInTurn = 16;

Result<> granted(const Task& task, const control::Limits& limits) {
  for (const Result<>& result :
       {control::check_time(limits, task.time), control::check_streams(limits, task.streams),
        task.kind == TaskKind::Loss ? control::check_rate(limits, task.rate_bits_per_s)
                                    : Result<>()}) {
    if (!result) {
      return result;
    }
  }
  return {};
}

}  // namespace

Result<Json> Conversation::hold(const HostFacts& facts) {
  if (const Result<> said = say({Type::Ready, {{"facts", json_of(facts)}}}); !said) {
    return std::unexpected(said.error());
  }
  while (true) {
    TRY(wait());
    const Result<bool> is_over = hear();
    if (!is_over || *is_over) {
      return is_over ? Result<Json>(Json::object()) : std::unexpected(is_over.error());
    }
    TRY(look());
    if (!job_ && Clock::now() - idle_since_ > kMostIdle) {
      return fail(ErrorKind::Timeout, "preflight", "", "nothing was asked for an hour");
    }
  }
}

Result<> Conversation::wait() const {
  std::vector<pollfd> watched{{session_.channel().descriptor(), POLLIN, 0},
                              {session_.surroundings().stop, POLLIN, 0}};
  for (const int fd : job_ ? job_->watched() : std::vector<int>()) {
    watched.push_back({fd, POLLIN, 0});
  }
  const milliseconds most = job_ ? kLook : milliseconds(1000);
  ::poll(watched.data(), watched.size(), static_cast<int>(most.count()));
  return watched[1].revents == 0
             ? Result<>()
             : fail(ErrorKind::Interrupted, "preflight", "", "this server was stopped");
}

Result<bool> Conversation::hear() {
  for (int message = 0; message < kMessagesInTurn; ++message) {
    const Result<std::optional<Message>> said = session_.channel().poll();
    if (!said || !*said) {
      return said ? Result<bool>(false) : std::unexpected(said.error());
    }
    if ((*said)->type == Type::Stop) {
      return true;
    }
    TRY(hear(**said));
  }
  return false;
}

Result<> Conversation::hear(const Message& message) {
  if (message.type == Type::Begin) {
    return begin(message.body);
  }
  if (message.type != Type::Note) {
    return fail(ErrorKind::Malformed, "read message", session_.channel().peer(),
                "it came in the midst of a preflight");
  }
  control::Fields in(message.body, "note");
  const std::int64_t number = in.integer("task", 0, UINT32_MAX);
  TRY(const std::int64_t given_up, in.finish(number));
  // It may have ended in the meantime.
  if (!job_ || given_up != number_) {
    return {};
  }
  job_.reset();
  idle_since_ = Clock::now();
  // Nobody waits for this, but for a sign that this host is still there.
  return report(number_, fail(ErrorKind::Refused, "", "", "given up"));
}

Result<> Conversation::begin(const Json& body) {
  control::Fields in(body, "task");
  const std::int64_t read = in.integer("task", 0, UINT32_MAX);
  TRY(const std::int64_t number, in.finish(read));
  if (job_) {
    return fail(ErrorKind::Malformed, "read message", session_.channel().peer(),
                "a task came while another was on");
  }
  number_ = static_cast<Number>(number);
  const Result<Task> task = task_in(body);
  Result<std::unique_ptr<Job>> job = task ? start(*task) : std::unexpected(task.error());
  if (!job) {
    return report(number_, std::unexpected(job.error()));
  }
  job_ = std::move(*job);
  return {};
}

Result<std::unique_ptr<Job>> Conversation::start(const Task& task) const {
  TRY(granted(task, session_.limits()));
  if (task.kind == TaskKind::Names) {
    return std::make_unique<Names>(task.hosts, longest(task), system_resolver(), lookups_);
  }
  return Child::start(
      task, {.program = program_, .key = session_.surroundings().key, .longest = longest(task)},
      session_.surroundings().clock);
}

Result<> Conversation::look() {
  if (!job_) {
    return {};
  }
  const Result<std::optional<Json>> looked = job_->look();
  if (looked && !*looked) {
    return {};
  }
  job_.reset();
  idle_since_ = Clock::now();
  return report(number_, looked ? Result<Json>(**looked) : std::unexpected(looked.error()));
}

Result<> Conversation::report(Number number, const Result<Json>& result) {
  Json body{{"task", number}};
  if (result) {
    body["document"] = *result;
  } else {
    body["error"] = control::body_of(result.error());
  }
  return say({Type::Report, std::move(body)});
}

Result<> Conversation::say(const Message& message) {
  return session_.channel().send(message, session_.patience(kAnswer));
}

}  // namespace chokepoint::preflight
