#include "probe/host/memory_checks.h"

#include <fmt/format.h>

#include "base/math/units.h"

namespace chokepoint::probe {
namespace {

constexpr double kTooLittleFree = 0.05;
constexpr double kMuchForHugePages = 0.25;

std::string size_text(std::int64_t bytes) { return math::format_bytes(static_cast<double>(bytes)); }

void check_free(const host::Memory& memory, Checks& checks) {
  Check check{.id = "memory.free",
              .subject = "host",
              .wanted = "5 % of the memory available",
              .why = "without it the kernel reclaims pages while packets wait for buffers"};
  if (!memory.total_bytes || !memory.available_bytes) {
    check.status = Status::Unknown;
    check.next_step = "free -m";
  } else {
    check.found =
        fmt::format("{} of {}", size_text(*memory.available_bytes), size_text(*memory.total_bytes));
    if (static_cast<double>(*memory.available_bytes) <
        kTooLittleFree * static_cast<double>(*memory.total_bytes)) {
      check.status = Status::Warning;
      check.next_step = "ps axo pid,rss,comm --sort -rss | head";
    }
  }
  checks.push_back(std::move(check));
}

void check_huge_pages(const host::Memory& memory, Checks& checks) {
  const double unused = static_cast<double>(memory.free_huge_pages.value_or(0)) *
                        static_cast<double>(memory.huge_page_bytes.value_or(0));
  if (!memory.total_bytes ||
      unused < kMuchForHugePages * static_cast<double>(*memory.total_bytes)) {
    return;
  }
  checks.push_back({.id = "memory.huge-pages",
                    .status = Status::Warning,
                    .subject = "host",
                    .found = math::format_bytes(unused) + " set aside and not used",
                    .wanted = "less than a quarter of the memory",
                    .why = "pages set aside serve only programs that ask for them; all others, "
                           "and the page cache, go without",
                    .next_step = "sysctl -w vm.nr_hugepages=0"});
}

}  // namespace

void check_memory(const host::Memory& memory, Checks& checks) {
  check_free(memory, checks);
  check_huge_pages(memory, checks);
}

}  // namespace chokepoint::probe
