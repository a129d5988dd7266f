#include "probe/collective/launch/rank_thread.h"

#include <poll.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace chokepoint::probe::collective {
namespace {

// Before a rank reports its own error: another rank's may be the cause, and about to arrive.
constexpr int kCauseMs = 300;

bool is_closed(int fd, int wait_ms) {
  pollfd watched{fd, POLLRDHUP, 0};
  ::poll(&watched, 1, wait_ms);
  return watched.revents != 0;
}

}  // namespace

Error leader_vanished() {
  return {.kind = ErrorKind::Io,
          .operation = "",
          .subject = "",
          .reason = "who led the ranks ended without a word",
          .next_step = "what became of rank 0?"};
}

struct RankThread::State {
  State(Job the_job, MemberOptions the_options)
      : job(std::move(the_job)), options(std::move(the_options)) {}

  void run() {
    Result<std::unique_ptr<Member>> joined = Member::join(options);
    std::optional<Error> failed;
    bool reported = false;
    if (!joined) {
      failed = joined.error();
    } else {
      {
        const std::lock_guard lock(mutex);
        member = std::move(*joined);
      }
      const Result<> worked = work(job, *member, [&](const Error& own) {
        const bool over = is_closed(member->descriptor(), kCauseMs);
        if (!over) {
          member->fail(own);
        }
        reported = over && member->last_words();
        failed = over && !reported ? leader_vanished() : own;
      });
      if (worked) {
        member->bye();
      }
    }
    const std::lock_guard lock(mutex);
    error = std::move(failed);
    is_known = reported;
    done = true;
    changed.notify_all();
  }

  const Job job;
  const MemberOptions options;
  std::thread thread;

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::unique_ptr<Member> member;
  std::optional<Error> error;
  bool is_known = false;
  bool done = false;
};

RankThread::RankThread(Job job, MemberOptions options)
    : state_(std::make_shared<State>(std::move(job), std::move(options))) {
  state_->thread = std::thread([state = state_] { state->run(); });
}

RankThread::~RankThread() {
  if (wait_for({})) {
    state_->thread.join();
  } else {
    state_->thread.detach();
  }
}

bool RankThread::wait_for(std::chrono::nanoseconds wait) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, wait, [&] { return state_->done; });
}

bool RankThread::is_over() const {
  const std::lock_guard lock(state_->mutex);
  return state_->member && is_closed(state_->member->descriptor(), 0);
}

bool RankThread::has_met() const {
  const std::lock_guard lock(state_->mutex);
  return state_->member != nullptr;
}

std::optional<Error> RankThread::error() const {
  const std::lock_guard lock(state_->mutex);
  return state_->error;
}

bool RankThread::has_heard_why() const {
  const std::lock_guard lock(state_->mutex);
  return state_->member && state_->member->last_words();
}

bool RankThread::is_known() const {
  const std::lock_guard lock(state_->mutex);
  return state_->is_known;
}

}  // namespace chokepoint::probe::collective
