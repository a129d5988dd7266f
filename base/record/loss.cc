#include "base/record/loss.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/record/names.h"

namespace chokepoint::record {
namespace {

// An episode of loss is over once no row was lost for so long.
constexpr std::int64_t kEpisodeEndNs = 5'000'000'000;

void extend(Loss& loss, std::uint64_t rows, std::int64_t now_ns) {
  loss.rows += rows;
  loss.until_ns = now_ns;
}

}  // namespace

void LossBook::note(const std::string& subject, const std::string& reason, std::uint64_t rows,
                    std::int64_t now_ns) {
  if (rows == 0) {
    return;
  }
  total_ += rows;
  const auto is_same = [&](const Loss& loss) {
    return loss.subject == subject && loss.reason == reason;
  };
  auto sum = std::ranges::find_if(sums_, is_same);
  if (sum == sums_.end()) {
    sum = sums_.insert(sum, Loss{subject, reason, 0, now_ns, now_ns});
  }
  extend(*sum, rows, now_ns);
  auto episode = std::ranges::find_if(episodes_, is_same, &Episode::loss);
  if (episode == episodes_.end()) {
    episode = episodes_.insert(episode, Episode{.loss = {subject, reason, 0, now_ns, now_ns}});
  }
  extend(episode->loss, rows, now_ns);
  episode->is_reported = false;
}

bool LossBook::has_news() const { return !std::ranges::all_of(episodes_, &Episode::is_reported); }

std::vector<Entity> LossBook::events(std::int64_t session,
                                     const std::function<std::int64_t()>& new_id) {
  std::vector<Entity> events;
  for (Episode& episode : episodes_) {
    if (episode.is_reported) {
      continue;
    }
    episode.event = episode.event == 0 ? new_id() : episode.event;
    const nlohmann::ordered_json detail{{"reason", episode.loss.reason},
                                        {"rows", episode.loss.rows},
                                        {"until_ns", episode.loss.until_ns}};
    events.emplace_back(Event{episode.event, session, episode.loss.from_ns, std::string(kDropped),
                              episode.loss.subject, detail.dump()});
  }
  return events;
}

void LossBook::settle(std::int64_t now_ns) {
  for (Episode& episode : episodes_) {
    episode.is_reported = true;
  }
  std::erase_if(episodes_, [&](const Episode& episode) {
    return now_ns - episode.loss.until_ns > kEpisodeEndNs;
  });
}

}  // namespace chokepoint::record
