//===- StoreServer.cpp - The server side of the store ---------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/StoreServer.h"
#include "runtime/core/Error.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ff::rt {

namespace {
constexpr size_t frameBytes = 9;

/// Not the rank of any connection.
constexpr int noRank = -2;

void putLength(std::string &bytes, size_t length) {
  for (int shift = 0; shift < 32; shift += 8)
    bytes.push_back(static_cast<char>(length >> shift));
}

size_t getLength(const char *bytes) {
  size_t length = 0;
  for (int i = 0; i < 4; ++i)
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[i]))
              << (8 * i);
  return length;
}
} // namespace

bool sendMessage(int socket, const Message &message) {
  std::string bytes(1, message.kind);
  putLength(bytes, message.key.size());
  putLength(bytes, message.value.size());
  bytes += message.key + message.value;
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n =
        send(socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool takeMessage(std::string &bytes, Message &message) {
  if (bytes.size() < frameBytes)
    return false;
  size_t key = getLength(bytes.data() + 1), value = getLength(bytes.data() + 5);
  if (bytes.size() < frameBytes + key + value)
    return false;
  message.kind = bytes[0];
  message.key = bytes.substr(frameBytes, key);
  message.value = bytes.substr(frameBytes + key, value);
  bytes.erase(0, frameBytes + key + value);
  return true;
}

void configureSocket(int socket) {
  auto set = [&](int level, int name, int value) {
    setsockopt(socket, level, name, &value, sizeof value);
  };
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 3);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  // A peer that reads nothing must not stop the server for ever.
  timeval timeout{5, 0};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

StoreServer::StoreServer(int listener, int world)
    : listener(listener), world(world) {
  if (pipe2(wakeUp, O_CLOEXEC) != 0)
    fail("cannot create a pipe: {}", std::strerror(errno));
  thread = std::thread([this] { orFatal([this] { loop(); }); });
}

StoreServer::~StoreServer() {
  close(wakeUp[1]);
  thread.join();
  close(wakeUp[0]);
  for (const Connection &connection : connections)
    close(connection.socket);
  close(listener);
}

void StoreServer::waitForGoodbyes(double seconds) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait_for(lock, std::chrono::duration<double>(seconds),
                   [&] { return goodbyes >= world; });
}

void StoreServer::loop() {
  std::vector<pollfd> polls;
  for (;;) {
    polls.assign({{wakeUp[0], POLLIN, 0}, {listener, POLLIN, 0}});
    for (const Connection &connection : connections)
      polls.push_back({connection.socket, POLLIN, 0});
    if (poll(polls.data(), polls.size(), -1) < 0 && errno != EINTR)
      fail("the store of rank 0 failed: {}", std::strerror(errno));
    if (polls[0].revents)
      return;
    for (size_t i = polls.size(); i-- > 2;) {
      if (!polls[i].revents || receive(connections[i - 2]))
        continue;
      Connection connection = std::move(connections[i - 2]);
      connections.erase(connections.begin() + static_cast<long>(i - 2));
      closed(connection);
    }
    if (polls[1].revents)
      accept();
  }
}

void StoreServer::accept() {
  int socket = ::accept(listener, nullptr, nullptr);
  if (socket < 0)
    return;
  configureSocket(socket);
  connections.push_back({socket, -1, false, std::string()});
}

bool StoreServer::receive(Connection &connection) {
  char buffer[4096];
  ssize_t n = recv(connection.socket, buffer, sizeof buffer, MSG_DONTWAIT);
  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return true;
  if (n <= 0)
    return false;
  connection.received.append(buffer, static_cast<size_t>(n));
  Message message;
  while (takeMessage(connection.received, message))
    handle(connection, message);
  return true;
}

void StoreServer::handle(Connection &connection, const Message &message) {
  switch (message.kind) {
  case SetMessage: {
    values[message.key] = message.value;
    auto range = waiting.equal_range(message.key);
    for (auto it = range.first; it != range.second; ++it)
      sendMessage(it->second, {ValueMessage, std::string(), message.value});
    waiting.erase(range.first, range.second);
    sendMessage(connection.socket,
                {ValueMessage, std::string(), std::string()});
    return;
  }
  case GetMessage: {
    auto it = values.find(message.key);
    if (it == values.end())
      waiting.emplace(message.key, connection.socket);
    else
      sendMessage(connection.socket, {ValueMessage, std::string(), it->second});
    return;
  }
  case HelloMessage:
    return hello(connection, message);
  case AbortMessage:
    return abort(connection.rank, message.value);
  case ByeMessage: {
    connection.goodbye = true;
    std::lock_guard<std::mutex> lock(mutex);
    ++goodbyes;
    changed.notify_all();
    return;
  }
  default:
    return; // not one of ours
  }
}

void StoreServer::hello(Connection &connection, const Message &message) {
  int rank = std::atoi(message.value.c_str());
  std::string problem;
  if (message.key != std::to_string(world))
    problem = fmt::format("was started as one of {} ranks, rank 0 as one of {}",
                          message.key, world);
  for (const Connection &other : connections)
    if (other.rank == rank)
      problem = "was started twice";
  if (problem.empty()) {
    connection.rank = rank;
    return;
  }
  // The newcomer says what is wrong; the ranks that have joined end with it.
  sendMessage(connection.socket, {AbortMessage, std::to_string(rank), problem});
  abort(noRank, problem);
}

void StoreServer::abort(int rank, const std::string &message) {
  // The rank that reports itself gets an answer, the others what it says. Rank
  // 0 is last: this server ends with it.
  bool first = !aborted;
  aborted = true;
  auto tell = [&](const Connection &connection) {
    if (connection.rank == rank && !message.empty())
      sendMessage(connection.socket,
                  {AnswerMessage, std::string(), first ? "1" : "0"});
    else if (first && connection.rank >= 0)
      sendMessage(connection.socket,
                  {AbortMessage, std::to_string(rank), message});
  };
  for (const Connection &connection : connections)
    if (connection.rank != 0)
      tell(connection);
  for (const Connection &connection : connections)
    if (connection.rank == 0)
      tell(connection);
}

void StoreServer::closed(const Connection &connection) {
  close(connection.socket);
  for (auto it = waiting.begin(); it != waiting.end();)
    it = it->second == connection.socket ? waiting.erase(it) : std::next(it);
  if (connection.rank >= 0 && !connection.goodbye)
    abort(connection.rank, std::string());
}

} // namespace ff::rt
