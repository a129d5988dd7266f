// Real servers, and the tests that they start: this program itself, on loopback.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <fstream>

#include "base/control/client.h"
#include "base/json/codec.h"
#include "base/net/socket.h"
#include "preflight/agent/service.h"
#include "preflight/coordinator/readings.h"
#include "preflight/task/host_facts.h"
#include "preflight/task/task.h"
#include "tests/preflight/agent/made_program.h"

namespace chokepoint::preflight {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kKey = "0123456789abcdef0123";

// One that was free a moment ago.
std::uint16_t free_port() {
  const net::Endpoint any{net::Address::parse("127.0.0.1").value(), 0};
  const sys::Descriptor listener = std::move(net::listen(any, 1, {}).value());
  return net::local_endpoint(listener.get())->port;
}

bool ends(pid_t pid) {
  for (int i = 0; i < 400 && kill(pid, 0) == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(25));
  }
  return kill(pid, 0) != 0;
}

// Of a parent that has ended, and left it to this process.
bool ends_as_orphan(pid_t pid) {
  pid_t ended = 0;
  for (int i = 0; i < 400 && ended == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(25));
    ended = waitpid(pid, nullptr, WNOHANG);
  }
  return ended == pid;
}

class Processes : public testing::Test {
 protected:
  void TearDown() override {
    if (server_ && server_->poll().value() == std::nullopt) {
      std::ignore = server_->signal(SIGTERM);
      std::ignore = server_->wait();
    }
  }

  // What it is to read from standard input is written there, and it stays open.
  void serve(std::vector<std::string> flags, const std::string& input = "") {
    std::array<int, 2> fds{};
    ASSERT_EQ(pipe2(fds.data(), O_CLOEXEC), 0);
    const sys::Descriptor in(fds[0]);
    input_.reset(fds[1]);
    ASSERT_EQ(write(fds[1], input.data(), input.size()), std::ssize(input));
    const sys::Descriptor out(open(out_.path().c_str(), O_WRONLY | O_CLOEXEC));
    std::vector<std::string> command{CHOKEPOINT_PROGRAM, "serve", "--quiet",
                                     "--port=" + std::to_string(port_)};
    command.insert(command.end(), flags.begin(), flags.end());
    server_ = std::move(
        sys::Process::start({.command = command, .in = in.get(), .out = out.get()}).value());
  }

  Result<Client> connect(std::optional<control::Secret> key) const {
    const control::ClientOptions options{
        .peer = {"127.0.0.1", port_}, .key = key, .own = {"chokepoint test", "login1"}};
    for (int i = 0; i < 400; ++i) {
      Result<Client> client = Client::connect(options, soon());
      if (client || client.error().kind != ErrorKind::Refused || key.has_value() != had_key_) {
        return client;
      }
      std::this_thread::sleep_for(milliseconds(25));
    }
    return Client::connect(options, soon());
  }
  Client coordinator(const std::string& key = "") {
    had_key_ = !key.empty();
    Client client = std::move(
        connect(had_key_ ? std::optional(control::secret_of(key)) : std::nullopt).value());
    EXPECT_TRUE(client.request(std::string(kPreflightKind), Json::object(), soon(),
                               [](const std::string&) {}));
    return client;
  }
  static net::Deadline soon() { return net::Deadline::of(seconds(60)); }
  static void begin(Client& client, const Task& task) {
    Json body = json::to_json(task);
    body["task"] = 1;
    ASSERT_TRUE(client.channel().send({Type::Begin, std::move(body)}, soon()));
  }
  static Json done(Client& client, const Task& task) {
    begin(client, task);
    const Result<Message> said = client.channel().expect(Type::Report, soon());
    return said ? said->body : Json{{"none", describe(said.error())}};
  }
  Task to_itself(TaskKind kind) const {
    return {.kind = kind,
            .peer = "127.0.0.1",
            .port = port_,
            .time = milliseconds(200),
            .receives = true,
            .rate_bits_per_s = kind == TaskKind::Loss || kind == TaskKind::Flows ? 1e6 : 0};
  }
  // A test that takes its time, and the process that is at it.
  pid_t begin_a_long_one(Client& client) { return begin_a_long_one(client, port_); }
  pid_t begin_a_long_one(Client& client, std::uint16_t port) {
    Task task = to_itself(TaskKind::Tcp);
    task.port = port;
    task.time = seconds(60);
    begin(client, task);
    std::vector<pid_t> below;
    for (int i = 0; i < 400 && below.empty(); ++i) {
      std::this_thread::sleep_for(milliseconds(25));
      below = sys::descendants(server_->pid(), sys::Root("/"));
    }
    EXPECT_EQ(below.size(), 1U);
    return below.empty() ? -1 : below.front();
  }
  static bool runs_its_test(pid_t child) {
    const std::string status = "/proc/" + std::to_string(child) + "/status";
    for (int i = 0; i < 400 && content(status).contains("Threads:\t1\n"); ++i) {
      std::this_thread::sleep_for(milliseconds(25));
    }
    return !content(status).contains("Threads:\t1\n");
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fakes::TemporaryFile out_{""};
  std::uint16_t port_ = free_port();
  bool had_key_ = false;
  std::optional<sys::Process> server_;
  sys::Descriptor input_;
};

// The documents are read as the coordinator reads them: a field that its command no longer writes,
// or that has another unit, is missed here.
TEST_F(Processes, EveryTestIsDoneAndTheCoordinatorFindsItsFiguresInIt) {
  serve({});
  Client client = coordinator();
  const auto document = [&](TaskKind kind) {
    const Json report = done(client, to_itself(kind));
    EXPECT_TRUE(report.contains("document")) << report;
    return report.contains("document") ? report["document"] : Json::object();
  };
  HostResult host;
  const Json doctor = document(TaskKind::Doctor);
  ASSERT_TRUE(coordinator::read_doctor(doctor, host)) << doctor;
  ASSERT_EQ(host.doctor.size(), doctor["checks"].size());
  EXPECT_GT(host.doctor.size(), 20U);
  for (const checks::Check& check : host.doctor) {
    EXPECT_NE(check.id, "");
  }
  EXPECT_THAT(host.doctor, Contains(Field(&checks::Check::found, Not(IsEmpty()))));
  EXPECT_THAT(host.doctor, Contains(Field(&checks::Check::subject, Not(IsEmpty()))));

  PairResult pair;
  const Json latency = document(TaskKind::Latency);
  ASSERT_TRUE(coordinator::read_latency(latency, pair)) << latency;
  EXPECT_GT(pair.rtt_min_ms.value(), 0.001);
  EXPECT_LE(pair.rtt_min_ms.value(), pair.rtt_ms.value());
  EXPECT_LE(pair.rtt_ms.value(), pair.rtt_p99_ms.value());
  EXPECT_LT(pair.rtt_ms.value(), 50);

  const Json loss = document(TaskKind::Loss);
  ASSERT_TRUE(coordinator::read_loss(loss, pair)) << loss;
  for (const PathResult& path : {pair.there, pair.back}) {
    EXPECT_GT(path.packets, 10U);  // 1 Mbit/s for 0.2 s
    EXPECT_LE(path.lost, path.packets / 2);
  }
  EXPECT_LT(pair.clock_uncertainty_ms.value(), 50);
  EXPECT_NEAR(coordinator::monotonic_offset_ms(loss).value(), 0, 50);  // one host, so one clock

  const Json path = document(TaskKind::Path);
  ASSERT_TRUE(coordinator::read_path(path, pair)) << path;
  EXPECT_EQ(pair.ipv4, FamilyState::Works);
  EXPECT_FLOAT_EQ(pair.there.mtu_bytes.value(), 65535);
  EXPECT_FLOAT_EQ(pair.back.mtu_bytes.value(), 65535);
  EXPECT_FLOAT_EQ(pair.there.hops.value(), 1);
  EXPECT_FLOAT_EQ(pair.back.hops.value(), 1);
  EXPECT_FALSE(pair.there.black_hole_bytes);

  const Json together = document(TaskKind::Tcp);
  PathResult there;
  PathResult back;
  ASSERT_TRUE(coordinator::read_together(together, there, back)) << together;
  EXPECT_GT(there.together_mbps.value(), 50);
  EXPECT_GT(back.together_mbps.value(), 50);

  // Where there is no device, and where there is one: it is asked for as its command wants it.
  for (const TaskKind kind : {TaskKind::RdmaLatency, TaskKind::RdmaBandwidth}) {
    EXPECT_THAT(done(client, to_itself(kind)).dump(), Not(HasSubstr("--help")));
  }
}

TEST_F(Processes, OneWayOfTcpHasAllThatTheCoordinatorJudges) {
  serve({});
  Client client = coordinator();
  Task task = to_itself(TaskKind::Tcp);
  task.receives = false;
  task.time = milliseconds(1000);
  const Json document = done(client, task)["document"];
  PathResult path;
  ASSERT_TRUE(coordinator::read_tcp(document, path)) << document;
  EXPECT_GT(path.tcp_mbps.value(), 50);
  EXPECT_GE(path.retransmitted_percent.value(), 0);
  EXPECT_LT(path.retransmitted_percent.value(), 50);
  EXPECT_GE(path.window_share.value(), 0);
  EXPECT_LE(path.window_share.value(), 1);
  EXPECT_GE(path.send_buffer_share.value(), 0);
  EXPECT_LE(path.send_buffer_share.value(), 1);
  EXPECT_GT(path.largest_window_bytes.value(), 10'000);
  EXPECT_GT(path.sender_cpu_percent.value(), 0);
  EXPECT_GT(path.receiver_cpu_percent.value(), 0);
  EXPECT_LE(path.sender_cpu_percent.value(), 100.5);
  PathResult alone;
  ASSERT_TRUE(coordinator::read_alone(document, alone));
  EXPECT_EQ(alone.alone_mbps.value(), path.tcp_mbps.value());
}

TEST_F(Processes, ACollectiveIsLedWhereThereIsGloo) {
  serve({});
  had_key_ = false;
  Client client = std::move(connect(std::nullopt).value());
  const Result<Json> ready = client.request(std::string(kPreflightKind), Json::object(), soon(),
                                            [](const std::string&) {});
  if (!json::from_json<HostFacts>(ready.value()["facts"], "facts").value().has_gloo) {
    GTEST_SKIP() << "built without Gloo";
  }
  Task task = to_itself(TaskKind::Collective);
  task.hosts = {"127.0.0.1"};
  task.bytes = 65536;
  const Json document = done(client, task)["document"];
  CollectiveResult result;
  ASSERT_TRUE(coordinator::read_collective(document, result)) << document;
  EXPECT_EQ(result.backend, "gloo");
  EXPECT_EQ(result.ranks, std::ssize(document["members"]));
  EXPECT_EQ(result.bytes, 65536);
  EXPECT_GT(result.time_us.value(), 0);
  EXPECT_TRUE(result.bus_mbps);
}

TEST_F(Processes, WhatFailsIsToldInItsOwnWords) {
  serve({});
  Client client = coordinator();
  Task task = to_itself(TaskKind::Tcp);
  task.port = free_port();
  const Json error = done(client, task)["error"];
  EXPECT_EQ(error["operation"], "probe tcp");
  EXPECT_EQ(error["kind"], "refused");
  EXPECT_THAT(error["reason"].get<std::string>(), HasSubstr("connection refused"));
}

TEST_F(Processes, TestsProveTheServersKey) {
  const fakes::TemporaryFile key(std::string(kKey) + "\n");
  serve({"--key-file", key.path()});
  Client client = coordinator(kKey);
  // It is read once, so it may be out of reach by now.
  unlink(key.path().c_str());
  // Some of them connect more than once.
  for (const TaskKind kind : {TaskKind::Latency, TaskKind::Loss, TaskKind::Path, TaskKind::Tcp}) {
    EXPECT_TRUE(done(client, to_itself(kind)).contains("document")) << name_of(kind);
  }
  const Json path = done(client, to_itself(TaskKind::Path))["document"];
  EXPECT_THAT(path.dump(), Not(HasSubstr("a key has 16"))) << path;
  const pid_t child = begin_a_long_one(client);
  const std::string folder = "/proc/" + std::to_string(child);
  EXPECT_THAT(content(folder + "/cmdline"), HasSubstr("--key-file=/dev/stdin"));
  EXPECT_THAT(content(folder + "/cmdline") + content(folder + "/environ"), Not(HasSubstr(kKey)));
}

TEST_F(Processes, WhatAServerStartedEndsWithItsCoordinator) {
  serve({});
  pid_t child = -1;
  {
    Client client = coordinator();
    child = begin_a_long_one(client);
  }
  EXPECT_TRUE(ends(child));
}

TEST_F(Processes, WhatAServerStartedEndsWithItHoweverItGoes) {
  ASSERT_TRUE(sys::adopt_orphans());
  serve({});
  std::ignore = coordinator();
  // The test goes on where its other end is not the one that is killed.
  sys::Process other = std::move(*server_);
  const std::uint16_t there = std::exchange(port_, free_port());
  serve({});
  Client client = coordinator();
  const pid_t child = begin_a_long_one(client, there);
  ASSERT_TRUE(runs_its_test(child));  // before that it may not yet be tied to its parent
  ASSERT_TRUE(server_->signal(SIGKILL));
  ASSERT_TRUE(server_->wait());
  EXPECT_TRUE(ends_as_orphan(child));
  ASSERT_TRUE(other.signal(SIGTERM));
  EXPECT_TRUE(other.wait());
}

TEST_F(Processes, OnALeashTheKeyIsTheFirstLine) {
  serve({"--leash"}, std::string(kKey) + "\n");
  Client client = coordinator(kKey);
  EXPECT_EQ(done(client, to_itself(TaskKind::Tcp))["document"]["schema"], "chokepoint.probe.tcp/1");
  const Result<Client> stranger = connect(control::secret_of("another key, as long"));
  EXPECT_FALSE(stranger);
  EXPECT_EQ(content(out_.path()), "");
}

TEST_F(Processes, OnALeashItEndsWithItsInputAndAllThatItStarted) {
  serve({"--leash"}, std::string(kKey) + "\n");
  Client client = coordinator(kKey);
  const pid_t child = begin_a_long_one(client);
  input_.reset();
  EXPECT_EQ(server_->wait()->code, 0);
  EXPECT_TRUE(ends(child));
  EXPECT_EQ(content(out_.path()), "");
}

TEST_F(Processes, OnALeashATerminalThatGoesEndsItInOrder) {
  serve({"--leash"}, std::string(kKey) + "\n");
  Client client = coordinator(kKey);
  const pid_t child = begin_a_long_one(client);
  ASSERT_TRUE(server_->signal(SIGHUP));
  EXPECT_EQ(server_->wait()->code, 0);
  EXPECT_TRUE(ends(child));
}

TEST_F(Processes, OnALeashWithoutAKeyThereIsNoServer) {
  serve({"--leash"}, "short\n");
  EXPECT_EQ(server_->wait()->code, 2);
}

}  // namespace
}  // namespace chokepoint::preflight
