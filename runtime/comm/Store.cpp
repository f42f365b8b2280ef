//===- Store.cpp - The store as one rank sees it --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Store.h"
#include "runtime/comm/StoreServer.h"
#include "runtime/core/Error.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ff::rt {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

/// How long a failing rank waits for the answer to its abort.
constexpr std::chrono::seconds abortTimeout{3};

std::string endpoint(const LaunchInfo &info) {
  return fmt::format("{}:{}", info.masterAddress, info.masterPort);
}

/// A socket that listens on the port of the job, on every interface.
int listenOn(const LaunchInfo &info) {
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool ipv4 = fd < 0; // a machine without IPv6
  if (ipv4)
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int yes = 1, no = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_in);
  auto port = htons(static_cast<uint16_t>(info.masterPort));
  if (ipv4) {
    auto *address = reinterpret_cast<sockaddr_in *>(&storage);
    address->sin_family = AF_INET;
    address->sin_port = port;
  } else {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    auto *address = reinterpret_cast<sockaddr_in6 *>(&storage);
    address->sin6_family = AF_INET6;
    address->sin6_port = port;
    size = sizeof(sockaddr_in6);
  }
  if (bind(fd, reinterpret_cast<sockaddr *>(&storage), size) != 0 ||
      listen(fd, SOMAXCONN) != 0)
    fail("rank 0 cannot listen on port {}: {}; fix: set MASTER_PORT to a free "
         "port, on all ranks",
         info.masterPort, std::strerror(errno));
  return fd;
}

int tryConnect(const LaunchInfo &info) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  std::string port = std::to_string(info.masterPort);
  int error =
      getaddrinfo(info.masterAddress.c_str(), port.c_str(), &hints, &found);
  if (error != 0)
    return -1;
  int fd = -1;
  for (addrinfo *it = found; it && fd < 0; it = it->ai_next) {
    fd = socket(it->ai_family, it->ai_socktype, it->ai_protocol);
    if (fd >= 0 && connect(fd, it->ai_addr, it->ai_addrlen) != 0) {
      close(fd);
      fd = -1;
    }
  }
  freeaddrinfo(found);
  return fd;
}

int connectToStore(const LaunchInfo &info) {
  auto deadline = steady_clock::now() + joinTimeout;
  for (;;) {
    int fd = tryConnect(info);
    if (fd >= 0) {
      configureSocket(fd);
      return fd;
    }
    if (stopRequested())
      fail("stopped by a signal before all ranks had joined");
    if (steady_clock::now() > deadline)
      fail("cannot reach rank 0 at {} within {} s; fix: MASTER_ADDR and "
           "MASTER_PORT, and a network that lets the ranks connect",
           endpoint(info), joinTimeout.count());
    std::this_thread::sleep_for(milliseconds(50));
  }
}

enum class Receive { Message, Timeout, Closed };

Receive receiveMessage(int socket, std::string &bytes, Message &message,
                       milliseconds timeout) {
  auto deadline = steady_clock::now() + timeout;
  while (!takeMessage(bytes, message)) {
    auto left = std::chrono::duration_cast<milliseconds>(deadline -
                                                         steady_clock::now());
    if (left.count() <= 0)
      return Receive::Timeout;
    pollfd poller{socket, POLLIN, 0};
    int ready =
        poll(&poller, 1, static_cast<int>(std::min<long>(left.count(), 1000)));
    if (ready <= 0)
      continue;
    char buffer[4096];
    ssize_t n = recv(socket, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return Receive::Closed;
    bytes.append(buffer, static_cast<size_t>(n));
  }
  return Receive::Message;
}

/// Ends this process without a message: another rank has said why.
[[noreturn]] void endQuietly(bool servesStore) {
  // What the server sent to the others is on its way; closing its sockets while
  // they still write could take it back.
  if (servesStore)
    std::this_thread::sleep_for(milliseconds(200));
  _exit(1);
}

} // namespace

RankStore::RankStore(const LaunchInfo &launchInfo) : info(launchInfo) {
  if (info.rank == 0)
    server = std::make_unique<StoreServer>(
        info.storeSocket >= 0 ? info.storeSocket : listenOn(info), info.world);
  requestSocket = connectToStore(info);
  controlSocket = connectToStore(info);
  sendMessage(controlSocket, {HelloMessage, std::to_string(info.world),
                              std::to_string(info.rank)});
  watchdog = std::thread([this] { watch(); });
  setAbortHook(
      [this](const std::string &message) { return tellOthers(message); });
  // Not an exception: the watchdog needs this object.
  orFatal([this] { join(); });
}

RankStore::~RankStore() {
  setAbortHook(nullptr);
  shutdown(controlSocket, SHUT_RDWR);
  watchdog.join();
  close(controlSocket);
  close(requestSocket);
}

void RankStore::join() {
  set(fmt::format("join/{}", info.rank), {'1'});
  auto deadline = steady_clock::now() + joinTimeout;
  for (int rank = 0; rank < info.world; ++rank) {
    auto left = std::chrono::duration_cast<milliseconds>(deadline -
                                                         steady_clock::now());
    try {
      wait({fmt::format("join/{}", rank)}, left);
    } catch (const Error &) {
      if (stopRequested())
        throw;
      fail("rank {} of {} did not join at {} within {} s; fix: start all "
           "ranks, with the same MASTER_ADDR and MASTER_PORT",
           rank, info.world, endpoint(info), joinTimeout.count());
    }
  }
  joined = true;
}

std::string RankStore::request(char kind, const std::string &key,
                               const std::string &value, milliseconds timeout) {
  std::lock_guard<std::mutex> lock(requestMutex);
  std::string bytes;
  Message answer;
  if (!sendMessage(requestSocket, {kind, key, value}))
    fail("lost the connection to rank 0 at {}", endpoint(info));
  // In short waits, since a signal must end a rank that waits for others. What
  // has come of the answer stays in `bytes`.
  auto deadline = steady_clock::now() + timeout;
  for (;;) {
    Receive received =
        receiveMessage(requestSocket, bytes, answer, milliseconds(200));
    if (received == Receive::Message)
      return answer.value;
    if (received == Receive::Closed)
      break;
    if (!joined && stopRequested())
      fail("stopped by a signal before all ranks had joined");
    if (steady_clock::now() > deadline)
      fail("no rank gave '{}' within {} s", key, timeout.count() / 1000);
  }
  fail("lost the connection to rank 0 at {}", endpoint(info));
}

void RankStore::set(const std::string &key, const std::vector<char> &data) {
  request(SetMessage, key, std::string(data.begin(), data.end()), joinTimeout);
}

std::vector<char> RankStore::get(const std::string &key) {
  std::string value = request(GetMessage, key, std::string(), joinTimeout);
  return {value.begin(), value.end()};
}

void RankStore::wait(const std::vector<std::string> &keys) {
  wait(keys, joinTimeout);
}

void RankStore::wait(const std::vector<std::string> &keys,
                     const milliseconds &timeout) {
  for (const std::string &key : keys)
    request(GetMessage, key, std::string(), timeout);
}

std::string RankStore::localAddress() const {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  char text[NI_MAXHOST];
  auto *address = reinterpret_cast<sockaddr *>(&storage);
  if (getsockname(requestSocket, address, &size) != 0 ||
      getnameinfo(address, size, text, sizeof text, nullptr, 0,
                  NI_NUMERICHOST) != 0)
    fail("cannot find the address of this machine: {}", std::strerror(errno));
  std::string name = text;
  // What an IPv6 socket calls an IPv4 peer.
  return name.compare(0, 7, "::ffff:") == 0 ? name.substr(7) : name;
}

void RankStore::leave() {
  {
    std::lock_guard<std::mutex> lock(controlMutex);
    if (leaving)
      return;
    leaving = true;
  }
  sendMessage(controlSocket, {ByeMessage, std::string(), std::string()});
  if (server)
    server->waitForGoodbyes(10);
}

bool RankStore::tellOthers(const std::string &message) {
  {
    std::lock_guard<std::mutex> lock(controlMutex);
    failing = true;
  }
  if (!sendMessage(controlSocket,
                   {AbortMessage, std::to_string(info.rank), message}))
    return true;
  std::unique_lock<std::mutex> lock(controlMutex);
  answered.wait_for(lock, abortTimeout, [&] { return wasFirst >= 0; });
  return wasFirst != 0;
}

void RankStore::watch() {
  std::string bytes;
  for (;;) {
    Message message;
    Receive result =
        receiveMessage(controlSocket, bytes, message, std::chrono::hours(1));
    if (result == Receive::Timeout)
      continue;
    if (result == Receive::Closed) {
      {
        std::lock_guard<std::mutex> lock(controlMutex);
        // A message of this rank is better than that rank 0 is gone.
        if (failing) {
          wasFirst = 1;
          answered.notify_all();
        }
        if (failing || leaving)
          return;
      }
      // One of the others says that rank 0 is gone.
      if (info.rank == 1 && !info.supervised)
        std::fprintf(stderr, "error: [rank 0] ended without a message\n");
      endQuietly(info.rank == 0);
    }
    if (message.kind == AbortMessage) {
      if (message.key == std::to_string(info.rank))
        std::fprintf(stderr, "error: [rank %d] %s\n", info.rank,
                     message.value.c_str());
      else if (message.value.empty() && info.rank == 0 && !info.supervised)
        std::fprintf(stderr, "error: [rank %s] ended without a message\n",
                     message.key.c_str());
      endQuietly(info.rank == 0);
    }
    if (message.kind == AnswerMessage) {
      std::lock_guard<std::mutex> lock(controlMutex);
      wasFirst = message.value == "1";
      answered.notify_all();
    }
  }
}

} // namespace ff::rt
