#include "preflight/agents/name_lookups.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/sys/descriptor.h"

namespace chokepoint::preflight {

struct NameLookups::Queue {
  AgentPoolOptions::Resolve resolve;
  std::optional<net::Family> only;
  sys::Descriptor answered;  // an eventfd, written for each answer

  std::mutex mutex = {};
  std::deque<std::pair<HostIndex, std::string>> asked = {};
  std::vector<Answer> answers = {};
  std::size_t threads = 0;

  // Nothing once there is no more to do: the thread ends.
  std::optional<std::pair<HostIndex, std::string>> next() {
    const std::lock_guard lock(mutex);
    if (asked.empty()) {
      --threads;
      return std::nullopt;
    }
    auto first = std::move(asked.front());
    asked.pop_front();
    return first;
  }

  void answer(Answer answer) {
    const std::lock_guard lock(mutex);
    answers.push_back(std::move(answer));
    const std::uint64_t one = 1;
    std::ignore = write(answered.get(), &one, sizeof(one));
  }
};

Result<NameLookups> NameLookups::make(AgentPoolOptions::Resolve resolve,
                                      std::optional<net::Family> only) {
  sys::Descriptor answered(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!answered) {
    return fail(from_errno(errno, "look names up", "eventfd"));
  }
  auto queue = std::make_shared<Queue>();
  queue->resolve = std::move(resolve);
  queue->only = only;
  queue->answered = std::move(answered);
  return NameLookups(std::move(queue));
}

NameLookups::NameLookups(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}

NameLookups::~NameLookups() {
  if (queue_) {
    const std::lock_guard lock(queue_->mutex);
    queue_->asked.clear();
  }
}

int NameLookups::descriptor() const { return queue_->answered.get(); }

void NameLookups::ask(HostIndex host, const std::string& name) {
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->asked.emplace_back(host, name);
    if (queue_->threads >= kMaxThreads) {
      return;
    }
    ++queue_->threads;
  }
  std::thread([queue = queue_] { work(queue); }).detach();
}

void NameLookups::work(const std::shared_ptr<Queue>& queue) {
  while (const auto asked = queue->next()) {
    queue->answer({.host = asked->first, .addresses = queue->resolve(asked->second, queue->only)});
  }
}

std::vector<NameLookups::Answer> NameLookups::take() {
  const std::lock_guard lock(queue_->mutex);
  std::uint64_t count = 0;
  std::ignore = read(queue_->answered.get(), &count, sizeof(count));
  return std::exchange(queue_->answers, {});
}

}  // namespace chokepoint::preflight
