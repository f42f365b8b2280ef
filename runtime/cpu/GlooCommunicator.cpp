//===- GlooCommunicator.cpp - Collectives over Gloo -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gloo's point-to-point messages carry collectives of our own, because they fit
// flat groups better than Gloo's: the groups of a unit go out in one launch, a
// reduce-scatter adds straight into the gradient slice in f32 whatever the type
// on the wire, and the order of every sum is fixed.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/GlooCommunicator.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <thread>

namespace ff::rt {

namespace {

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

/// Our store in Gloo's terms.
class GlooStore : public gloo::rendezvous::Store {
public:
  explicit GlooStore(RankStore &store) : store(store) {}

  void set(const std::string &key, const std::vector<char> &data) override {
    store.set(key, data);
  }
  std::vector<char> get(const std::string &key) override {
    return store.get(key);
  }
  void wait(const std::vector<std::string> &keys) override { store.wait(keys); }
  void wait(const std::vector<std::string> &keys,
            const std::chrono::milliseconds &timeout) override {
    store.wait(keys, timeout);
  }

private:
  RankStore &store;
};

/// The ranks of one axis, or of the world, with their own connections.
struct Channel {
  std::shared_ptr<gloo::rendezvous::Context> context;
  uint64_t slot = 0; ///< each message of this channel has its own number

  int rank() const { return context->rank; }
  int size() const { return context->size; }
  Buffer buffer(void *data, size_t bytes) const {
    return context->createUnboundBuffer(data, bytes);
  }
};

/// Runs `body`, whose exceptions mean that a rank is gone.
template <typename Body> auto guarded(Body &&body) -> decltype(body()) {
  try {
    return body();
  } catch (const Error &) {
    throw;
  } catch (const std::exception &e) {
    // The rank that ended first has a better message; it ends this process
    // while we wait here.
    std::string what = e.what();
    std::this_thread::sleep_for(std::chrono::seconds(6));
    fail("lost the connection to another rank: {}", what);
  }
}

class GlooCommunicator : public HostCommunicator {
public:
  GlooCommunicator(int rank, MeshShape mesh, RankStore &store)
      : HostCommunicator(rank, mesh) {
    std::string address = store.localAddress();
    gloo::transport::tcp::attr attr(address.c_str());
    device = gloo::transport::tcp::CreateDevice(attr);
    worldChannel = connect(store, "world", rank, world());
    if (mesh.shard > 1)
      shardChannel = connect(store, fmt::format("shard/{}", replicateIndex()),
                             shardIndex(), static_cast<int>(mesh.shard));
    if (mesh.replicate > 1)
      replicateChannel =
          connect(store, fmt::format("replicate/{}", shardIndex()),
                  replicateIndex(), static_cast<int>(mesh.replicate));
  }

  void allGather(const std::vector<GatherPart> &parts) override {
    if (mesh.shard > 1)
      guarded([&] { gather(shardChannel, parts); });
  }

  void reduceScatter(const std::vector<ReducePart> &parts, void *scratch,
                     size_t scratchBytes) override {
    for (const ReducePart &part : parts) {
      const char *own = static_cast<const char *>(part.buffer) +
                        static_cast<size_t>(part.owned * shardIndex()) *
                            dtypeSize(part.dtype);
      auto combine = part.overwrite ? convertElements : addElements;
      combine(part.dtype, own, part.sumDtype, part.sum, part.owned);
    }
    if (mesh.shard > 1)
      guarded([&] {
        for (const ReducePart &part : parts)
          addChunks(shardChannel, part, part.owned * mesh.shard, scratch,
                    scratchBytes);
      });
  }

  void allReduce(Axis axis, DType dtype, void *data, int64_t n, void *scratch,
                 size_t scratchBytes) override {
    if (size(axis) == 1 || n == 0)
      return;
    Channel &channel = axis == Axis::Shard ? shardChannel : replicateChannel;
    int64_t chunk = (n + size(axis) - 1) / size(axis);
    size_t element = dtypeSize(dtype);
    char *bytes = static_cast<char *>(data);
    int64_t first = std::min(chunk * channel.rank(), n);
    // The sum of the own chunk is made in place: no other rank needs what was
    // there, and the rest of the buffer is only read until it is gathered.
    ReducePart part{
        dtype, data, chunk, dtype, bytes + static_cast<size_t>(first) * element,
        false};
    guarded([&] {
      addChunks(channel, part, n, scratch, scratchBytes);
      gatherUneven(channel, bytes, static_cast<size_t>(n) * element,
                   static_cast<size_t>(chunk) * element);
    });
  }

  std::vector<std::string> exchange(const std::string &mine) override {
    return guarded([&] { return exchangeStrings(worldChannel, mine); });
  }

private:
  Channel connect(RankStore &store, const std::string &name, int index,
                  int size) {
    return guarded([&] {
      GlooStore adapted(store);
      gloo::rendezvous::PrefixStore prefixed(name, adapted);
      Channel channel{std::make_shared<gloo::rendezvous::Context>(index, size),
                      0};
      channel.context->setTimeout(joinTimeout);
      channel.context->connectFullMesh(prefixed, device);
      // The watchdog ends ranks that wait for one that is gone; a rank that is
      // slow is not an error.
      channel.context->setTimeout(std::chrono::hours(24 * 30));
      return channel;
    });
  }

  /// All parts of all ranks in one go: every message is in flight at once.
  static void gather(Channel &channel, const std::vector<GatherPart> &parts) {
    int rank = channel.rank(), size = channel.size();
    std::vector<Buffer> buffers;
    for (const GatherPart &part : parts) {
      buffers.push_back(channel.buffer(
          part.buffer, part.bytesPerRank * static_cast<size_t>(size)));
      uint64_t slot = channel.slot++;
      for (int step = 1; step < size; ++step) {
        int from = (rank - step + size) % size, to = (rank + step) % size;
        buffers.back()->recv(from, slot,
                             part.bytesPerRank * static_cast<size_t>(from),
                             part.bytesPerRank);
        buffers.back()->send(to, slot,
                             part.bytesPerRank * static_cast<size_t>(rank),
                             part.bytesPerRank);
      }
    }
    for (Buffer &buffer : buffers)
      for (int step = 1; step < size; ++step) {
        buffer->waitRecv();
        buffer->waitSend();
      }
  }

  /// The chunks of `bytes` bytes, of which the last ones may be short or empty.
  static void gatherUneven(Channel &channel, char *data, size_t bytes,
                           size_t chunk) {
    int rank = channel.rank(), size = channel.size();
    auto begin = [&](int index) {
      return std::min(chunk * static_cast<size_t>(index), bytes);
    };
    auto length = [&](int index) { return begin(index + 1) - begin(index); };
    Buffer buffer = channel.buffer(data, bytes);
    uint64_t slot = channel.slot++;
    int receives = 0, sends = 0;
    for (int step = 1; step < size; ++step) {
      int from = (rank - step + size) % size, to = (rank + step) % size;
      if (length(from)) {
        buffer->recv(from, slot, begin(from), length(from));
        ++receives;
      }
      if (length(rank)) {
        buffer->send(to, slot, begin(rank), length(rank));
        ++sends;
      }
    }
    for (; receives; --receives)
      buffer->waitRecv();
    for (; sends; --sends)
      buffer->waitSend();
  }

  /// Sends each rank its chunk of part.buffer, which has `total` elements, and
  /// adds to part.sum the own chunks of the ranks before this one: rank - 1,
  /// rank - 2, and so on. One chunk arrives while another one is added.
  static void addChunks(Channel &channel, const ReducePart &part, int64_t total,
                        void *scratch, size_t scratchBytes) {
    int rank = channel.rank(), size = channel.size();
    size_t element = dtypeSize(part.dtype);
    auto begin = [&](int index) {
      return static_cast<size_t>(std::min(part.owned * index, total)) * element;
    };
    auto length = [&](int index) { return begin(index + 1) - begin(index); };
    size_t half = scratchBytes / 2, own = length(rank);
    Buffer outgoing = channel.buffer(const_cast<void *>(part.buffer),
                                     static_cast<size_t>(total) * element);
    Buffer incoming[2] = {
        channel.buffer(scratch, half),
        channel.buffer(static_cast<char *>(scratch) + half, half)};
    uint64_t slot = channel.slot++;
    auto receive = [&](int step) {
      if (own && step < size)
        incoming[step % 2]->recv((rank - step + size) % size, slot, 0, own);
    };
    receive(1);
    int sends = 0;
    for (int step = 1; step < size; ++step) {
      int to = (rank + step) % size;
      if (!length(to))
        continue;
      outgoing->send(to, slot, begin(to), length(to));
      ++sends;
    }
    for (int step = 1; own && step < size; ++step) {
      receive(step + 1);
      incoming[step % 2]->waitRecv();
      addElements(part.dtype, incoming[step % 2]->ptr, part.sumDtype, part.sum,
                  static_cast<int64_t>(own / element));
    }
    for (; sends; --sends)
      outgoing->waitSend();
  }

  static std::vector<std::string> exchangeStrings(Channel &channel,
                                                  const std::string &mine) {
    auto ranks = static_cast<size_t>(channel.size());
    auto self = static_cast<size_t>(channel.rank());
    std::vector<uint64_t> sizes(ranks);
    sizes[self] = mine.size();
    gather(channel, {{sizes.data(), sizeof(uint64_t)}});
    std::vector<std::string> all(ranks);
    all[self] = mine;
    uint64_t slot = channel.slot++;
    std::vector<Buffer> receives;
    for (size_t i = 0; i < ranks; ++i) {
      if (i == self || !sizes[i])
        continue;
      all[i].resize(sizes[i]);
      receives.push_back(channel.buffer(all[i].data(), sizes[i]));
      receives.back()->recv(static_cast<int>(i), slot);
    }
    if (!mine.empty()) {
      Buffer send =
          channel.buffer(const_cast<char *>(mine.data()), mine.size());
      for (size_t i = 0; i < ranks; ++i)
        if (i != self)
          send->send(static_cast<int>(i), slot);
      for (size_t i = 1; i < ranks; ++i)
        send->waitSend();
    }
    for (Buffer &buffer : receives)
      buffer->waitRecv();
    return all;
  }

  std::shared_ptr<gloo::transport::Device> device;
  Channel worldChannel, shardChannel, replicateChannel;
};

} // namespace

std::unique_ptr<HostCommunicator>
makeGlooCommunicator(const LaunchInfo &info, MeshShape mesh, RankStore &store) {
  return std::make_unique<GlooCommunicator>(info.rank, mesh, store);
}

} // namespace ff::rt
