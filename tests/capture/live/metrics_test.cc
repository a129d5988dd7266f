#include "capture/live/metrics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/net/socket.h"
#include "tests/base/metrics/exposition_checker.h"
#include "tests/capture/live/figures.h"

namespace chokepoint::capture::live {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

constexpr std::chrono::seconds kPatience{10};
constexpr const char* kAnyPort = "127.0.0.1:0";

net::Endpoint loopback(int port) {
  return {*net::Address::parse("127.0.0.1"), static_cast<std::uint16_t>(port)};
}

// What a scraper gets, headers included.
std::string scraped(int port, const std::string& what = "GET /metrics") {
  const net::Deadline deadline = net::Deadline::of(kPatience);
  const auto connection = net::connect(loopback(port), {}, deadline);
  EXPECT_TRUE(connection) << describe(connection.error());
  const std::string request = what + " HTTP/1.0\r\nHost: localhost\r\n\r\n";
  EXPECT_TRUE(net::send_all(connection->get(), std::as_bytes(std::span(request)), deadline, ""));
  std::string response;
  std::array<char, 4096> part{};
  for (;;) {
    const auto count =
        net::receive_some(connection->get(), std::as_writable_bytes(std::span(part)), deadline, "");
    if (!count || *count == 0) {
      return response;
    }
    response.append(part.data(), *count);
  }
}

// "name{labels}" to value.
std::map<std::string, double> samples_of(const std::string& response) {
  std::map<std::string, double> samples;
  std::istringstream lines(response);
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t space = line.rfind(' '); line.starts_with("chokepoint_")) {
      samples[line.substr(0, space)] = std::stod(line.substr(space));
    }
  }
  return samples;
}

TEST(Metrics, AreServedByHttpAsTheyWereLastUpdated) {
  const auto metrics = Metrics::serve(kAnyPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());
  Figures figures = training();
  (*metrics)->update(figures);
  EXPECT_THAT(scraped((*metrics)->port()),
              HasSubstr("chokepoint_steps_total{source=\"marks\"} 1120"));

  figures.steps.count = 1121;
  (*metrics)->update(figures);
  const std::string response = scraped((*metrics)->port());
  EXPECT_THAT(response, HasSubstr("HTTP/1.1 200 OK"));
  EXPECT_THAT(response, HasSubstr("# TYPE chokepoint_steps_total counter"));
  EXPECT_THAT(response, HasSubstr("chokepoint_steps_total{source=\"marks\"} 1121"));
}

TEST(Metrics, AreAllThatIsServed) {
  const auto metrics = Metrics::serve(kAnyPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());
  const int port = (*metrics)->port();
  for (int times = 0; times < 2; ++times) {
    std::istringstream lines(scraped(port));
    for (std::string line; std::getline(lines, line) && line != "\r";) {
    }
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(line.starts_with("# ") || line.starts_with("chokepoint_")) << line;
      EXPECT_THAT(line, Not(HasSubstr("Nan")));
    }
  }
  EXPECT_THAT(scraped(port, "GET /"), HasSubstr("<a href=\"/metrics\">"));
  EXPECT_THAT(scraped(port, "GET /etc/passwd"), HasSubstr("HTTP/1.1 404"));
  EXPECT_THAT(scraped(port, "POST /metrics"), HasSubstr("HTTP/1.1 405"));
  const std::string head = scraped(port, "HEAD /metrics");
  EXPECT_THAT(head, HasSubstr("HTTP/1.1 200 OK"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
}

enum class Slowness { SendsNothing, SendsAByte, NeverReads };

sys::Descriptor slow_client(int port, Slowness slowness) {
  const net::Deadline deadline = net::Deadline::of(kPatience);
  auto connection = net::connect(loopback(port), {.buffer_bytes = 1}, deadline);
  EXPECT_TRUE(connection);
  const std::string_view text = slowness == Slowness::SendsAByte   ? "G"
                                : slowness == Slowness::NeverReads ? "GET /metrics HTTP/1.1\r\n\r\n"
                                                                   : "";
  EXPECT_TRUE(net::send_all(connection->get(), std::as_bytes(std::span(text)), deadline, ""));
  return std::move(*connection);
}

TEST(Metrics, SlowClientsKeepNoScrapeOut) {
  const auto metrics = Metrics::serve(kAnyPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());
  const int port = (*metrics)->port();
  std::vector<sys::Descriptor> clients;
  for (const std::size_t count : {20U, 100U}) {
    for (const auto slowness :
         {Slowness::SendsNothing, Slowness::SendsAByte, Slowness::NeverReads}) {
      clients.clear();
      while (clients.size() < count) {
        clients.push_back(slow_client(port, slowness));
      }
      EXPECT_THAT(scraped(port), HasSubstr("HTTP/1.1 200 OK"))
          << count << " clients of kind " << static_cast<int>(slowness);
    }
  }
}

TEST(Metrics, ASlowClientIsLetGo) {
  const auto metrics = Metrics::serve(kAnyPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());
  const sys::Descriptor client = slow_client((*metrics)->port(), Slowness::SendsAByte);
  std::array<std::byte, 1> end{};
  const auto count = net::receive_some(client.get(), end, net::Deadline::of(kPatience), "");
  ASSERT_TRUE(count) << describe(count.error());
  EXPECT_EQ(*count, 0U);
}

TEST(Metrics, WhatIsNoRequestIsRefused) {
  const auto metrics = Metrics::serve(kAnyPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());
  EXPECT_THAT(scraped((*metrics)->port(), "nonsense"), HasSubstr("400 Bad Request"));
  EXPECT_THAT(scraped((*metrics)->port(), "GET /metrics " + std::string(10'000, 'x')),
              HasSubstr("400 Bad Request"));
  EXPECT_THAT(scraped((*metrics)->port(), "GET /metrics?format=text"), HasSubstr("200 OK"));
}

TEST(Metrics, AProcessWithoutARankIsKnownByItsPid) {
  const auto metrics = Metrics::serve(kAnyPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());
  Figures figures = training();
  figures.counters.waits = {{.rank = 3, .write_s = 1}, {.pid = 4711, .write_s = 2}, {.pid = 4712}};
  (*metrics)->update(figures);
  const auto samples = samples_of(scraped((*metrics)->port()));
  EXPECT_THAT(samples, Contains(Pair("chokepoint_storage_wait_seconds_total{rank=\"3\"}", 1)));
  EXPECT_THAT(samples,
              Contains(Pair("chokepoint_storage_wait_seconds_total{process=\"4711\"}", 2)));
  EXPECT_THAT(samples,
              Not(Contains(Key("chokepoint_storage_wait_seconds_total{process=\"4712\"}"))));
}

TEST(Metrics, InterfacesThatCarryNothingAreLeftOut) {
  const auto metrics = Metrics::serve(kAnyPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());
  Figures figures = training();
  figures.counters.nics.push_back({.name = "ifb0"});
  (*metrics)->update(figures);
  EXPECT_THAT(scraped((*metrics)->port()), Not(HasSubstr("ifb0")));
}

TEST(Metrics, HaveTheUnitsThatPrometheusExpects) {
  const auto metrics = Metrics::serve(kAnyPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());
  (*metrics)->update(training());
  const auto samples = samples_of(scraped((*metrics)->port()));
  EXPECT_THAT(samples, Contains(Pair("chokepoint_step_seconds{source=\"marks\"}", 0.1824)));
  EXPECT_THAT(samples, Contains(Pair("chokepoint_job_sent_bytes_total{interface=\"eth0\"}",
                                     24'087'500'000)));
  EXPECT_THAT(samples, Contains(Pair("chokepoint_retransmitted_packets_total", 1500)));
  EXPECT_THAT(samples, Contains(Pair("chokepoint_limited_ratio{by=\"receive_window\"}", 0.61)));
  EXPECT_THAT(samples,
              Contains(Pair("chokepoint_nic_dropped_packets_total{interface=\"eth0\"}", 3)));
  EXPECT_THAT(samples, Contains(Pair("chokepoint_own_cpu_ratio", 0.008)));
  EXPECT_THAT(samples,
              Contains(Pair("chokepoint_run_info{version=\"0.1.0\",node=\"node1\",volume_source="
                            "\"packets\",label_batch_size=\"16\",label_setup=\"2x2\"}",
                            1)));
}

TEST(Metrics, AnswerBeforeAnythingIsKnown) {
  const auto metrics = Metrics::serve(kAnyPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());
  EXPECT_THAT(samples_of(scraped((*metrics)->port())), Contains(Key("chokepoint_job_processes")));
}

TEST(Metrics, FreeTheirPortWhenTheyGo) {
  auto metrics = Metrics::serve(kAnyPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());
  const std::string address = "127.0.0.1:" + std::to_string((*metrics)->port());
  EXPECT_FALSE(Metrics::serve(address));
  metrics->reset();
  EXPECT_TRUE(Metrics::serve(address));
}

// A port, and no other listener on those behind it as far as this host shows.
sys::Descriptor taken_port() {
  for (int port = 21'000;; port += Metrics::kPorts) {
    auto listener = net::listen(loopback(port), 1, {});
    if (listener && net::listen(loopback(port + 1), 1, {})) {
      return *std::move(listener);
    }
  }
}

TEST(Metrics, TakeTheNextFreePortOfASetting) {
  const sys::Descriptor taken = taken_port();
  const net::Endpoint first = *net::local_endpoint(taken.get());
  const auto metrics = Metrics::serve(first.text(), Metrics::IfTaken::NextPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());
  EXPECT_TRUE((*metrics)->is_chosen());
  EXPECT_EQ((*metrics)->port(), first.port + 1);
  EXPECT_EQ((*metrics)->address(), fmt::format("127.0.0.1:{}", first.port + 1));
  EXPECT_THAT(scraped((*metrics)->port()), HasSubstr("200 OK"));
  EXPECT_FALSE(Metrics::serve(first.text())) << "a port that was named is that port";
}

TEST(Metrics, TakeThePortThatASettingNamesIfItIsFree) {
  std::string address;
  {
    const sys::Descriptor taken = taken_port();
    address = net::local_endpoint(taken.get())->text();
  }
  const auto metrics = Metrics::serve(address, Metrics::IfTaken::NextPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());
  EXPECT_FALSE((*metrics)->is_chosen());
  EXPECT_EQ((*metrics)->address(), address);
}

TEST(Metrics, SearchNoFurtherThanScrapersDo) {
  std::vector<std::unique_ptr<Metrics>> all;
  for (int count = 0; count <= Metrics::kPorts; ++count) {
    auto metrics = Metrics::serve("127.0.0.3:auto");
    if (!metrics) {
      EXPECT_EQ(metrics.error().kind, ErrorKind::Busy);
      EXPECT_THAT(describe(metrics.error()), HasSubstr("127.0.0.3:9464 to 9479"));
      break;
    }
    EXPECT_TRUE((*metrics)->is_chosen());
    EXPECT_GE((*metrics)->port(), Metrics::kFirstPort);
    EXPECT_LT((*metrics)->port(), Metrics::kFirstPort + Metrics::kPorts);
    all.push_back(*std::move(metrics));
  }
  EXPECT_LE(all.size(), static_cast<std::size_t>(Metrics::kPorts));
  EXPECT_GT(all.size(), 2U);
}

TEST(Metrics, SayWhoseMistakeAPortInUseIs) {
  const auto taken = net::listen(loopback(0), 1, {});
  ASSERT_TRUE(taken);
  const auto metrics = Metrics::serve(net::local_endpoint(taken->get())->text());
  ASSERT_FALSE(metrics);
  EXPECT_EQ(metrics.error().kind, ErrorKind::Busy);
  EXPECT_THAT(describe(metrics.error()), HasSubstr("--metrics"));
  EXPECT_THAT(metrics.error().next_step, Not(""));
}

// The signals that each thread of this name has blocked: see proc(5), SigBlk. By name, since
// threads of earlier tests may still be listed after they were joined.
std::vector<std::uint64_t> blocked_by(const std::string& name) {
  std::vector<std::uint64_t> masks;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string line;
    if (!std::getline(status, line) || line != "Name:\t" + name) {
      continue;
    }
    // One that the kernel is freeing has no group of threads, and no mask any more.
    while (std::getline(status, line) && line != "Threads:\t0") {
      if (line.starts_with("SigBlk:")) {
        masks.push_back(std::stoull(line.substr(line.find('\t') + 1), nullptr, 16));
      }
    }
  }
  return masks;
}

TEST(Metrics, LeaveSignalsAsTheyWere) {
  struct sigaction pipe{};
  pipe.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &pipe, nullptr);
  auto metrics = Metrics::serve(kAnyPort);
  ASSERT_TRUE(metrics) << describe(metrics.error());

  std::vector<std::uint64_t> masks;
  for (int look = 0; masks.empty() && look < 1000; ++look) {  // it names itself once it runs
    masks = blocked_by("pages");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  constexpr std::uint64_t kTerminate = std::uint64_t{1} << (SIGTERM - 1);
  EXPECT_THAT(masks, testing::Not(testing::IsEmpty()));
  EXPECT_TRUE(std::ranges::all_of(masks, [](std::uint64_t mask) { return mask & kTerminate; }));
  metrics->reset();
  sigaction(SIGPIPE, nullptr, &pipe);
  EXPECT_EQ(pipe.sa_handler, SIG_DFL);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_FALSE(sigismember(&mask, SIGTERM));
}

TEST(Metrics, AreForAllAddressesOrThisHostAlone) {
  const auto all = Metrics::serve(":0");
  ASSERT_TRUE(all) << describe(all.error());
  const auto alone = Metrics::serve("0");
  ASSERT_TRUE(alone) << describe(alone.error());
  const net::Endpoint elsewhere{*net::Address::parse("127.0.0.2"), 0};
  const auto reaches = [&](int port) {
    net::Endpoint peer = elsewhere;
    peer.port = static_cast<std::uint16_t>(port);
    return net::connect(peer, {}, net::Deadline::of(kPatience)).has_value();
  };
  EXPECT_TRUE(reaches((*all)->port()));
  EXPECT_FALSE(reaches((*alone)->port()));
}

TEST(Metrics, RefuseWhatIsNoAddress) {
  for (const char* text : {"", ":", "x", "127.0.0.1", "127.0.0.1:http", ":70000", "[::1]:9464",
                           "256.0.0.1.:1", ":9464,:9465", "automatic", "127.0.0.1:Auto"}) {
    const auto metrics = Metrics::serve(text);
    ASSERT_FALSE(metrics) << text;
    EXPECT_EQ(metrics.error().kind, ErrorKind::Usage) << text;
  }
}

TEST(MetricFamilies, HaveNamesAfterPrometheusConventions) {
  Figures figures = training();
  figures.counters.gpu_percent = 50;
  figures.counters.slowed_gpus = {{"thermal", 1}};
  figures.counters.waits = {{.rank = 3, .read_s = 1}};
  figures.counters.busiest_thread_percent = 50;
  std::set<std::string> names;
  const metrics::MetricText metrics = metrics_of(figures);
  for (const metrics::MetricText::Family& family : metrics.families()) {
    EXPECT_THAT(family.name, testing::MatchesRegex("chokepoint_[a-z_]+"));
    EXPECT_EQ(family.is_counter, family.name.ends_with("_total"));
    EXPECT_FALSE(family.samples.empty()) << family.name;
    EXPECT_THAT(family.help, EndsWith("."));
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
  }
}

TEST(MetricFamilies, HaveCollectivesAndRanks) {
  Figures figures;
  figures.steps = {.source = record::StepSource::Marks, .ranks = {{4, 10}, {5, 9}}};
  figures.collectives = {
      .collectives = {{.library = record::CollectiveSource::Nccl,
                       .kind = record::CollectiveKind::ReduceScatter,
                       .communicator = "4194305",
                       .count = 8,
                       .bytes = 64e6,
                       .timed = 2,
                       .seconds = 0.5}},
      .ranks = {{.rank = "4", .count = 8, .measured = 2, .waited_s = 0.25, .kept_waiting_s = 0.5},
                {.rank = "5", .count = 8, .compared = 4, .late_s = 0.125}}};
  const std::string text = metrics_of(figures).text();
  const auto samples = samples_of(text);
  const std::string labels = R"({library="nccl",kind="reduce-scatter",communicator="4194305"})";
  EXPECT_EQ(samples.at("chokepoint_collectives_total" + labels), 8);
  EXPECT_EQ(samples.at("chokepoint_collective_bytes_total" + labels), 64e6);
  EXPECT_EQ(samples.at("chokepoint_timed_collectives_total" + labels), 2);
  EXPECT_EQ(samples.at("chokepoint_collective_seconds_total" + labels), 0.5);
  EXPECT_EQ(samples.at(R"(chokepoint_rank_steps_total{rank="5"})"), 9);
  EXPECT_EQ(samples.at(R"(chokepoint_rank_waited_seconds_total{rank="4"})"), 0.25);
  EXPECT_EQ(samples.at(R"(chokepoint_rank_kept_waiting_seconds_total{rank="4"})"), 0.5);
  EXPECT_EQ(samples.at(R"(chokepoint_rank_late_seconds_total{rank="5"})"), 0.125);
  EXPECT_FALSE(samples.contains(R"(chokepoint_rank_late_seconds_total{rank="4"})"))
      << "it was compared with nobody";
  const metrics::ExpositionChecker checker(text);
}

TEST(MetricFamilies, KeepToTheFormatWhateverThingsAreCalled) {
  for (const std::string name : {"a\"b", "a\nb", "a\\", "}\n# TYPE x", "\xFF", "x} 1\ny{"}) {
    Figures figures = training();
    figures.node = name;
    figures.labels = {{name, name}};
    figures.volumes.front().interface = name;
    figures.counters.nics.front().name = name;
    figures.counters.busiest_thread = name;
    figures.counters.busiest_thread_percent = 1;
    figures.counters.slowed_gpus = {{name, 1}};
    figures.collectives.collectives = {{.communicator = name, .count = 1}};
    figures.collectives.ranks = {{.rank = name, .count = 1, .compared = 1}};
    figures.counters.series =
        std::make_shared<const std::vector<counter::SeriesValue>>(std::vector<counter::SeriesValue>{
            {record::describe_series(record::kDiskBusy), name, 1},
            {record::describe_series(record::kNfsRequests), name, 1}});
    const metrics::ExpositionChecker checker(metrics_of(figures).text());
    EXPECT_GT(checker.samples(), 30U);
  }
}

// As many as a hostile job can cause.
TEST(MetricFamilies, AreBounded) {
  Figures figures;
  for (int number = 0; number < 500; ++number) {
    figures.counters.nics.push_back(
        {.name = "veth" + std::to_string(number), .sent_bytes = 1, .received_bytes = 1});
  }
  for (const metrics::MetricText::Family& family : metrics_of(figures).families()) {
    EXPECT_LE(family.samples.size(), counter::kMaxSubjects) << family.name;
  }
}

TEST(MetricFamilies, KeepLabelsApartThatPrometheusCouldNot) {
  Figures figures;
  figures.labels = {{"a-b", "1"}, {"a.b", "2"}, {"ä", "x\"y\n"}};
  const metrics::MetricText metrics = metrics_of(figures);
  std::set<std::string> names;
  for (const auto& [name, value] : metrics.families().front().samples.front().labels) {
    EXPECT_THAT(name, testing::MatchesRegex("[a-z_]+"));
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_THAT(metrics.text(), HasSubstr(R"(,label_a_b="1",label___="x\"y\n"} 1)"
                                        "\n"));
}

TEST(MetricFamilies, HaveNoSampleOfWhatIsNotKnown) {
  const metrics::MetricText metrics = metrics_of({});
  EXPECT_THAT(metrics.families(), Not(testing::IsEmpty()));
  for (const metrics::MetricText::Family& family : metrics.families()) {
    EXPECT_THAT(family.name, Not(testing::AnyOf(HasSubstr("step"), HasSubstr("nic"),
                                                HasSubstr("core"), HasSubstr("limited"))));
  }
}

}  // namespace
}  // namespace chokepoint::capture::live
