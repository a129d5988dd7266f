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
  return {ErrorKind::Io,           "", "", 0, "the process that led the ranks ended without a word",
          "what became of rank 0?"};
}

struct RankThread::State {
  State(Job the_job, MemberOptions the_options)
      : job(std::move(the_job)), options(std::move(the_options)) {}

  void run() {
    RankEnd reached;
    if (Result<std::unique_ptr<Member>> joined = Member::join(options); !joined) {
      reached.error = joined.error();
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
        reached.is_reported = over && member->last_words();
        reached.error = over && !reached.is_reported ? leader_vanished() : own;
      });
      if (worked) {
        member->bye();
      }
    }
    const std::lock_guard lock(mutex);
    end = std::move(reached);
    changed.notify_all();
  }

  const Job job;
  const MemberOptions options;
  std::thread thread;

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::unique_ptr<Member> member;
  std::optional<RankEnd> end;
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

std::optional<RankEnd> RankThread::wait_for(std::chrono::nanoseconds wait) const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, wait, [&] { return state_->end.has_value(); });
  return state_->end;
}

bool RankThread::is_over() const {
  const std::lock_guard lock(state_->mutex);
  return state_->member && is_closed(state_->member->descriptor(), 0);
}

bool RankThread::has_met() const {
  const std::lock_guard lock(state_->mutex);
  return state_->member != nullptr;
}

bool RankThread::has_reason() const {
  const std::lock_guard lock(state_->mutex);
  return state_->member && state_->member->last_words();
}

}  // namespace chokepoint::probe::collective
