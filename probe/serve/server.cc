#include "probe/serve/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <new>

#include "base/control/deadlines.h"
#include "base/control/message.h"
#include "base/control/session.h"
#include "base/json/codec.h"
#include "base/net/socket.h"
#include "base/sys/thread.h"

namespace chokepoint::probe::serve {
namespace {

using control::Json;
using control::Message;
using control::Service;
using control::Services;
using control::Session;
using control::TestQueue;
using control::Type;
using std::chrono::seconds;

constexpr seconds kBetweenRequests{60};
constexpr seconds kAdmission{5};

struct Sharing {
  bool share = false;
};

struct Request {
  std::string kind = {};
  Sharing parameters = {};
};

}  // namespace
}  // namespace chokepoint::probe::serve

template <>
struct chokepoint::Fields<chokepoint::probe::serve::Sharing> {
  static constexpr FieldList kList{
      field("share", &probe::serve::Sharing::share, "may run beside other tests that share")
          .or_default()};
};

// The service of that kind reads the other parameters.
template <>
struct chokepoint::Fields<chokepoint::probe::serve::Request> {
  using R = probe::serve::Request;
  static constexpr FieldList kList{
      field("kind", &R::kind, "the kind of test").up_to_bytes(64),
      field("parameters", &R::parameters, "what the test is asked for")};
};

namespace chokepoint::probe::serve {
namespace {

Result<Request> read_request(const Message& message) {
  if (message.type != Type::Request) {
    return fail(ErrorKind::Malformed, "read message", "",
                fmt::format("a {} came where a request was expected", name_of(message.type)));
  }
  return json::from_json<Request>(message.body, "request");
}

Result<Service*> service_for(const Services& services, const std::string& kind) {
  for (const auto& service : services) {
    if (service->kind() == kind) {
      return service.get();
    }
  }
  return fail(ErrorKind::Unsupported, "", kind, "this server does not offer it",
              "see --offer of 'chokepoint serve': without a key it offers no collective and no "
              "preflight to other hosts");
}

// Fails once the client has closed the connection or sent anything.
Result<> still_waiting(Session& session) {
  TRY(const std::optional<Message> message, session.channel().poll());
  return message ? fail(ErrorKind::Interrupted, "wait", session.channel().peer(), "it gave up")
                 : Result<>{};
}

Result<> wait_for_turn(Session& session, TestQueue& test_queue, TestQueue::Turn& turn) {
  const net::Deadline deadline = session.deadline(control::kMaxQueueTime);
  std::string reported;
  while (true) {
    const Result<> taken = turn.take();
    const bool is_final = taken || deadline.over() ||
                          (test_queue.exclusive() && taken.error().kind != ErrorKind::Exhausted);
    if (is_final) {
      return taken;
    }
    if (taken.error().reason != reported) {
      reported = taken.error().reason;
      TRY(session.send(Type::Queued, control::body_of(taken.error())));
    }
    const Result<> waited = net::wait_for(session.channel().descriptor(), POLLIN,
                                          deadline.at_most(control::kTurnInterval), "wait", "turn");
    if (!waited && waited.error().kind == ErrorKind::Interrupted) {
      return waited;
    }
    TRY(still_waiting(session));
  }
}

Result<Json> perform(Session& session, const Services& services, TestQueue& test_queue,
                     const Request& request, const Json& parameters) {
  TRY(Service * service, service_for(services, request.kind));
  TRY(const control::Demand demand, service->check(parameters, session.limits()));
  if (demand.weight == control::Weight::None) {
    return service->serve(session, parameters);
  }
  TRY(test_queue.check(demand));
  TestQueue::Turn turn(test_queue,
                       {.demand = demand,
                        .share = request.parameters.share,
                        .who = fmt::format("{} by {}", request.kind, session.peer().address.text()),
                        .owner = session.client().host});
  TRY(wait_for_turn(session, test_queue, turn));
  return service->serve(session, parameters);
}

// A test that throws has failed; the session goes on, and so do the others.
Result<Json> perform_or_fail(Session& session, const Services& services, TestQueue& test_queue,
                             const Request& request, const Json& parameters) {
  try {
    return perform(session, services, test_queue, request, parameters);
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::Exhausted, "test", request.kind, "the server has no memory left for it");
  } catch (const std::exception& error) {
    return fail(ErrorKind::Io, "test", request.kind, error.what());
  }
}

// False once the conversation is over.
bool answer(Session& session, const Services& services, TestQueue& test_queue, const Log& log,
            const Message& message) {
  const Result<Request> request = read_request(message);
  session.begin_test();
  const Result<Json> result =
      request ? perform_or_fail(session, services, test_queue, *request, message.body["parameters"])
              : std::unexpected(request.error());
  log(fmt::format("{}: {}: {}", session.peer().address.text(), request ? request->kind : "request",
                  result ? "done" : describe(result.error())));
  const Result<> sent = result ? session.send(Type::Result, *result)
                               : session.send(Type::Failed, control::body_of(result.error()));
  return sent && request;
}

}  // namespace

Server::Server(ServerOptions options, control::ServerContext context,
               const control::Services& services, Log log)
    : options_(std::move(options)),
      context_(std::move(context)),
      services_(services),
      log_(std::move(log)),
      test_queue_(options_.exclusive, options_.capacity) {}

Server::~Server() { join_all(); }

Result<> Server::run(std::vector<sys::Descriptor> listeners) {
  Result<control::Acceptor> acceptor =
      control::Acceptor::open(std::move(listeners), {.own = options_.own}, *this);
  const Result<> ran = acceptor ? acceptor->run(context_.stop) : std::unexpected(acceptor.error());
  join_all();
  return ran;
}

Result<> Server::enter(sys::Descriptor& fd, control::ServerHandshake& handshake) {
  try {
    return admit(fd, handshake);
  } catch (const std::bad_alloc&) {
    clients_.remove_if([](const ClientThread& client) { return !client.thread.joinable(); });
    return fail(ErrorKind::Exhausted, "enter", "", "the server has no memory left for a client",
                "try again later");
  }
}

Result<> Server::admit(sys::Descriptor& fd, control::ServerHandshake& handshake) {
  tidy();
  if (!make_room()) {
    return fail(ErrorKind::Busy, "enter", "",
                fmt::format("the server has its {} clients", options_.most_clients),
                "try again later, or start it with a larger --max-clients");
  }
  TRY(const net::Endpoint peer, net::peer_endpoint(fd.get()));
  const std::string id = control::random_id();
  const control::Message admitted =
      control::ServerHandshake::admit(id, peer.address.unmapped().text(), context_.limits);
  TRY(std::unique_ptr<control::Session> session,
      control::Session::make(std::move(fd), id, handshake, context_));
  ClientThread& client = clients_.emplace_back();
  client.session = std::move(session);
  Result<std::thread> thread =
      sys::start_thread("session", [this, &client, admitted] { live(client, admitted); });
  if (!thread) {
    log_(fmt::format("{}: not admitted: {}", peer.address.text(), describe(thread.error())));
    const Error busy{.kind = ErrorKind::Busy,
                     .operation = "enter",
                     .subject = "",
                     .reason = "the server can start no thread for another client",
                     .next_step = "try again later"};
    std::ignore =
        client.session->channel().send(control::refused(busy), client.session->deadline({}));
    clients_.pop_back();
    return {};
  }
  client.thread = *std::move(thread);
  return {};
}

void Server::live(ClientThread& client, const control::Message& admitted) {
  Session& session = *client.session;
  try {
    if (session.channel().send(admitted, session.deadline(kAdmission))) {
      converse(client);
    }
  } catch (const std::exception& error) {
    log_(fmt::format("{}: session ended: {}", session.peer().address.text(), error.what()));
  }
  client.done = true;
}

void Server::converse(ClientThread& client) {
  Session& session = *client.session;
  while (true) {
    client.idle_since_ns = context_.clock.monotonic_ns();
    const Result<Message> message = session.channel().receive(session.deadline(kBetweenRequests));
    client.idle_since_ns = kBusy;
    if (!message && message.error().kind == ErrorKind::Malformed) {
      // The client may still listen, so it gets the reason why the server hangs up.
      std::ignore = session.send(Type::Failed, control::body_of(message.error()));
    }
    if (!message || message->type == Type::Bye ||
        !answer(session, services_, test_queue_, log_, *message)) {
      return;
    }
  }
}

// Where all places are taken, the client that has been idle the longest goes.
bool Server::make_room() {
  std::size_t count = 0;
  ClientThread* idlest = nullptr;
  std::int64_t since = context_.clock.monotonic_ns() - options_.idle.count();
  for (ClientThread& client : clients_) {
    if (client.is_expelled) {
      continue;
    }
    ++count;
    const std::int64_t idle_since = client.idle_since_ns;
    if (idle_since != kBusy && idle_since <= since) {
      since = idle_since;
      idlest = &client;
    }
  }
  if (count < options_.most_clients) {
    return true;
  }
  if (idlest == nullptr) {
    return false;
  }
  idlest->is_expelled = true;
  shutdown(idlest->session->channel().descriptor(), SHUT_RDWR);
  return true;
}

void Server::attach(const control::Attachment& attachment, sys::Descriptor fd) {
  const auto client = std::ranges::find_if(
      clients_, [&](const ClientThread& each) { return each.session->id() == attachment.session; });
  if (client == clients_.end()) {
    return;
  }
  control::Session& session = *client->session;
  const std::uint64_t test = session.test();
  if (control::proves(attachment, session.secret(), test)) {
    session.arrived(test, attachment.index, std::move(fd));
  }
}

// Clients that were admitted stay.
void Server::look_for_keys() {
  const auto news =
      options_.key_folder ? options_.key_folder->news(context_.clock.monotonic_ns()) : std::nullopt;
  if (!news) {
    return;
  }
  if (*news) {
    options_.keys = **news;
    log_("the keys of hosts have changed: read again");
  } else {
    log_("the keys of hosts have changed, the old ones stay in force: " + describe(news->error()));
  }
}

void Server::tidy() {
  look_for_keys();
  clients_.remove_if([](ClientThread& client) {
    if (!client.done) {
      return false;
    }
    client.thread.join();
    return true;
  });
}

void Server::join_all() {
  for (ClientThread& client : clients_) {
    client.thread.join();
  }
  clients_.clear();
}

}  // namespace chokepoint::probe::serve
