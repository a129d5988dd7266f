#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>
#include <thread>
#include <unordered_map>

#include "base/sys/clock.h"
#include "base/sys/process.h"

namespace chokepoint::sys {
namespace {

using namespace std::chrono_literals;

// A process stuck in the kernel outlives SIGKILL for as long as it is stuck: not waited for longer.
constexpr auto kPatience = 1000ms;

using Children = std::unordered_map<pid_t, std::vector<pid_t>>;

std::optional<pid_t> number_of(std::string_view text) {
  pid_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && number > 0 ? std::optional(number) : std::nullopt;
}

struct Stat {
  pid_t parent = 0;
  char state = 0;
};

// "pid (comm) state ppid …"; comm may hold spaces and brackets, so from the last one on.
std::optional<Stat> stat_of(const Root& root, const std::string& pid) {
  const std::optional<std::string> stat = root.text("/proc/" + pid + "/stat");
  const std::size_t close = stat ? stat->rfind(") ") : std::string::npos;
  if (close == std::string::npos || stat->size() < close + 5) {
    return std::nullopt;
  }
  const std::optional<pid_t> parent = number_of(std::string_view(*stat).substr(close + 4));
  return Stat{parent.value_or(0), (*stat)[close + 2]};
}

Children living_children(const Root& root) {
  Children children;
  for (const std::string& name : root.list("/proc")) {
    const std::optional<pid_t> pid = number_of(name);
    if (!pid) {
      continue;
    }
    const std::optional<Stat> stat = stat_of(root, name);
    if (stat && stat->state != 'Z' && stat->state != 'X') {
      children[stat->parent].push_back(*pid);
    }
  }
  return children;
}

// Parents before children.
std::vector<pid_t> all_below(pid_t pid, const Children& children) {
  std::vector<pid_t> found{pid};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const auto below = children.find(found[next]);
    if (below != children.end()) {
      found.insert(found.end(), below->second.begin(), below->second.end());
    }
  }
  found.erase(found.begin());
  return found;
}

bool is_running(pid_t pid, const Root& root) {
  const std::optional<Stat> stat = stat_of(root, std::to_string(pid));
  return stat && stat->state != 'Z' && stat->state != 'X';
}

template <class Condition>
void await(Condition condition, std::chrono::milliseconds patience, const Clock& clock) {
  const std::int64_t deadline = clock.monotonic_ns() + std::chrono::nanoseconds(patience).count();
  while (!condition() && clock.monotonic_ns() < deadline) {
    std::this_thread::sleep_for(1ms);
  }
}

// A process and those below it, remembered although their parents die.
class Tree {
 public:
  Tree(pid_t top, const Root& root) : root_(root), members_{top} { grow(); }

  // True where it found members that it did not know.
  bool grow() {
    const std::size_t before = members_.size();
    const Children children = living_children(root_);
    for (const pid_t member : std::vector(members_.begin(), members_.end())) {
      const std::vector<pid_t> below = all_below(member, children);
      members_.insert(below.begin(), below.end());
    }
    return members_.size() > before;
  }

  std::vector<pid_t> running() const {
    std::vector<pid_t> list;
    std::ranges::copy_if(members_, std::back_inserter(list),
                         [&](pid_t one) { return is_running(one, root_); });
    return list;
  }

  std::vector<pid_t> in_motion() const {
    std::vector<pid_t> list = running();
    std::erase_if(list, [&](pid_t one) {
      const std::optional<Stat> stat = stat_of(root_, std::to_string(one));
      return !stat || stat->state == 'T';
    });
    return list;
  }

  void await_end(std::chrono::milliseconds patience, const Clock& clock) const {
    await([&] { return running().empty(); }, patience, clock);
  }

  // Zombies that are this process's own children; another's stay its own. A process shows as one as
  // soon as its first thread is gone, and is to be had once the last one is.
  void reap(const Clock& clock) const {
    const auto is_left = [](pid_t member) { return waitpid(member, nullptr, WNOHANG) == 0; };
    await([&] { return std::ranges::count_if(members_, is_left) == 0; }, kPatience, clock);
  }

 private:
  const Root& root_;
  std::set<pid_t> members_;
};

void signal_all(const std::vector<pid_t>& pids, int number) {
  for (const pid_t pid : pids) {
    kill(pid, number);
  }
}

// What is stopped cannot fork, so that none slips away between the look and the kill.
void freeze(Tree& tree, const Clock& clock) {
  do {
    signal_all(tree.running(), SIGSTOP);
    await([&] { return tree.in_motion().empty(); }, kPatience, clock);
  } while (tree.grow());
}

}  // namespace

Result<> adopt_orphans() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return fail(from_errno(errno, "adopt orphans", "this process"));
  }
  return {};
}

std::vector<pid_t> descendants(pid_t pid, const Root& root) {
  return all_below(pid, living_children(root));
}

std::size_t end_tree(pid_t pid, std::chrono::milliseconds grace, const Root& root,
                     const Clock& clock) {
  // Found before the first signal: once a parent is gone its children belong to somebody else.
  Tree tree(pid, root);
  signal_all(tree.running(), SIGTERM);
  tree.await_end(grace, clock);
  freeze(tree, clock);
  const std::vector<pid_t> victims = tree.running();
  signal_all(victims, SIGKILL);
  tree.await_end(kPatience, clock);
  tree.reap(clock);
  return victims.size();
}

}  // namespace chokepoint::sys
