#include "preflight/agents/lookups.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/sys/descriptor.h"

namespace chokepoint::preflight {

struct Lookups::JudgeContext {
  CrewOptions::Resolve resolve;
  std::optional<net::Family> only;
  sys::Descriptor told;  // an eventfd, written for each answer

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
    std::ignore = write(told.get(), &one, sizeof(one));
  }
};

Result<Lookups> Lookups::make(CrewOptions::Resolve resolve, std::optional<net::Family> only) {
  sys::Descriptor told(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!told) {
    return fail(from_errno(errno, "look names up", "eventfd"));
  }
  auto desk = std::make_shared<JudgeContext>();
  desk->resolve = std::move(resolve);
  desk->only = only;
  desk->told = std::move(told);
  return Lookups(std::move(desk));
}

Lookups::Lookups(std::shared_ptr<JudgeContext> desk) : desk_(std::move(desk)) {}

Lookups::~Lookups() {
  if (desk_) {
    const std::lock_guard lock(desk_->mutex);
    desk_->asked.clear();
  }
}

int Lookups::descriptor() const { return desk_->told.get(); }

void Lookups::ask(HostIndex host, const std::string& name) {
  {
    const std::lock_guard lock(desk_->mutex);
    desk_->asked.emplace_back(host, name);
    if (desk_->threads >= kMostThreads) {
      return;
    }
    ++desk_->threads;
  }
  std::thread([desk = desk_] { work(desk); }).detach();
}

void Lookups::work(const std::shared_ptr<JudgeContext>& desk) {
  while (const auto asked = desk->next()) {
    desk->answer({.host = asked->first, .addresses = desk->resolve(asked->second, desk->only)});
  }
}

std::vector<Lookups::Answer> Lookups::take() {
  const std::lock_guard lock(desk_->mutex);
  std::uint64_t count = 0;
  std::ignore = read(desk_->told.get(), &count, sizeof(count));
  return std::exchange(desk_->answers, {});
}

}  // namespace chokepoint::preflight
