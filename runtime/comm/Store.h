//===- Store.h - How ranks meet, and end together ------------- -*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rank 0 serves a small key-value store over TCP, through which the ranks find
// each other. Each rank keeps a second connection to it open while it runs. An
// error travels over it to rank 0 and from there to every rank; a connection
// that closes without a goodbye is a rank that died. So nobody waits for a rank
// that is gone, with or without a parent that watches the processes.
//
// A message in either direction is: kind (1 byte), length of the key, length of
// the value (4 bytes each, little endian), key, value.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMM_STORE_H
#define FF_RUNTIME_COMM_STORE_H

#include "runtime/launch/Launch.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ff::rt {

class StoreServer;

/// How long a rank waits for the others at the start.
constexpr std::chrono::seconds joinTimeout{300};

/// The store as one rank sees it. Rank 0 also runs the server.
class RankStore {
public:
  /// Connects, and returns when all ranks have. From then on fatal() ends all
  /// ranks, and the end of any rank ends this process.
  explicit RankStore(const LaunchInfo &info);
  /// Without leave() before, the others take it for the death of this rank.
  ~RankStore();

  void set(const std::string &key, const std::vector<char> &data);
  std::vector<char> get(const std::string &key);
  void wait(const std::vector<std::string> &keys);
  void wait(const std::vector<std::string> &keys,
            const std::chrono::milliseconds &timeout);

  /// The address by which other ranks reach this machine.
  std::string localAddress() const;

  /// Says goodbye: the connection may close now. Rank 0 waits for the others.
  void leave();

private:
  std::string request(char kind, const std::string &key,
                      const std::string &value,
                      std::chrono::milliseconds timeout);
  void join();
  void watch();
  bool tellOthers(const std::string &message);

  const LaunchInfo info;
  std::unique_ptr<StoreServer> server; ///< of rank 0
  bool joined = false; ///< all ranks have; until then a signal ends this one
  std::mutex requestMutex;
  int requestSocket = -1, controlSocket = -1;

  std::mutex controlMutex;
  std::condition_variable answered;
  bool leaving = false;
  bool failing = false; ///< fatal() waits for the answer to its abort
  int wasFirst = -1;    ///< the answer to our abort: -1 none yet
  std::thread watchdog; // last: it uses all of the above
};

} // namespace ff::rt

#endif // FF_RUNTIME_COMM_STORE_H
