//===- StoreServer.h - The server side of the store -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMM_STORESERVER_H
#define FF_RUNTIME_COMM_STORESERVER_H

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ff::rt {

/// Kinds of messages of the store; see Store.h.
enum MessageKind : char {
  SetMessage = 'S',    ///< key, value
  GetMessage = 'G',    ///< key; answered with ValueMessage once it is set
  ValueMessage = 'V',  ///< value
  HelloMessage = 'H',  ///< key: world size, value: rank; a control connection
  AbortMessage = 'A',  ///< key: rank, value: message; empty: the rank died
  AnswerMessage = 'K', ///< value: "1" where the abort was the first, else "0"
  ByeMessage = 'B',    ///< the control connection may close
};

struct Message {
  char kind = 0;
  std::string key, value;
};

/// Sends a whole message; false where the connection is gone.
bool sendMessage(int socket, const Message &message);

/// Takes the first whole message from the front of `bytes`; false where there
/// is none yet.
bool takeMessage(std::string &bytes, Message &message);

/// Closes a socket on exec, sends small messages at once, and finds out within
/// seconds when the other machine is gone.
void configureSocket(int socket);

/// Serves the store on a thread.
class StoreServer {
public:
  /// `listener` is a listening socket, which the server owns from now on.
  StoreServer(int listener, int world);
  ~StoreServer();

  /// Returns when all ranks have said goodbye, or after `seconds`.
  void waitForGoodbyes(double seconds);

private:
  struct Connection {
    int socket;
    int rank = -1; ///< of a control connection
    bool goodbye = false;
    std::string received;
  };

  void loop();
  void accept();
  bool receive(Connection &connection);
  void handle(Connection &connection, const Message &message);
  void hello(Connection &connection, const Message &message);
  void abort(int rank, const std::string &message);
  void closed(const Connection &connection);

  int listener;
  const int world;
  int wakeUp[2]; ///< a pipe that ends the loop
  std::vector<Connection> connections;
  std::map<std::string, std::string> values;
  std::multimap<std::string, int> waiting; ///< sockets of unanswered gets
  bool aborted = false;
  std::mutex mutex;
  std::condition_variable changed;
  int goodbyes = 0;
  std::thread thread; // last: it uses all of the above
};

} // namespace ff::rt

#endif // FF_RUNTIME_COMM_STORESERVER_H
