// Moves data between ranks, after all have shown the same call.
#include "tools/standin/nccl/Transfer.h"

#include <cstring>

namespace standin::nccl {

extern const char *const kindNames[];
const char *const kindNames[] = {"",
                                 "ncclAllReduce",
                                 "ncclReduce",
                                 "ncclBroadcast",
                                 "ncclAllGather",
                                 "ncclReduceScatter",
                                 "ncclCommSplit",
                                 "ncclSend",
                                 "ncclRecv"};

std::string Call::text() const {
  static const char *ops[] = {"sum", "prod", "max", "min", "avg"};
  std::string s = std::string(kindNames[kind]) + "(count " +
                  std::to_string(count) + ", " + typeName(type);
  if (op >= 0)
    s += std::string(", ") + ops[op];
  if (root >= 0)
    s += ", root " + std::to_string(root);
  return s + ")" + (sequence ? " as call " + std::to_string(sequence) : "");
}

namespace {
uint8_t *memory(const Call &c, uint64_t p, uint64_t bytes, bool reads) {
  if (!bytes)
    return nullptr;
  auto *m =
      (uint8_t *)ffStandinMemory(kindNames[c.kind], p, bytes, reads, !reads);
  if (!m)
    throw Error{ncclInvalidArgument, c.text() + ": wrong memory, see above"};
  return m;
}

} // namespace

void collective(Job &j) {
  Segment &s = *j.comm->segment;
  const Call &c = j.call;
  int n = s.ranks, me = s.rank;
  s.slot(me).call[0] = c;
  s.barrier(0, c.text());
  for (int r = 0; r < n; ++r)
    if (!c.matches(s.slot(r).call[0])) {
      throw Error{ncclInvalidUsage, "the ranks make different calls: rank " +
                                        std::to_string(me) + " " + c.text() +
                                        ", rank " + std::to_string(r) + " " +
                                        s.slot(r).call[0].text()};
    }
  uint64_t e = bytesOf(c.type),
           all =
               c.kind == AllGather || c.kind == ReduceScatter ? (uint64_t)n : 1;
  bool isRoot = c.root == me;
  uint8_t *in = nullptr, *out = nullptr;
  if (c.kind != Broadcast || isRoot)
    in = memory(c, j.send, c.count * e * (c.kind == ReduceScatter ? all : 1),
                true);
  if (c.kind != Reduce || isRoot)
    out =
        memory(c, j.recv, c.count * e * (c.kind == AllGather ? all : 1), false);
  uint64_t step =
      (c.kind == ReduceScatter ? chunkBytes / n : chunkBytes) / 16 * 16 / e;
  std::vector<const void *> parts((size_t)n);
  for (uint64_t at = 0; at < c.count; at += step) {
    uint64_t k = std::min(step, c.count - at);
    if (c.kind == ReduceScatter)
      for (int r = 0; r < n; ++r)
        memcpy(s.chunk(me) + r * step * e, in + (r * c.count + at) * e, k * e);
    else if (in)
      memcpy(s.chunk(me), in + at * e, k * e);
    s.barrier(0, c.text());
    for (int r = 0; r < n; ++r)
      parts[r] = s.chunk(r) + (c.kind == ReduceScatter ? me * step * e : 0);
    switch (c.kind) {
    case AllGather:
      for (int r = 0; r < n; ++r)
        memcpy(out + (r * c.count + at) * e, parts[r], k * e);
      break;
    case Broadcast:
      memcpy(out + at * e, parts[c.root], k * e);
      break;
    default:
      if (out)
        reduce(out + at * e, parts.data(), n, k, c.type, c.op);
    }
    s.barrier(0, c.text());
  }
  if (!c.count)
    s.barrier(0, c.text()); // the calls have been read
}

namespace {
// Moves what it can of one message; true when anything moved.
bool progress(Segment &s, Message &m) {
  bool sends = m.kind == Send;
  Mail &box = sends ? s.mail(s.rank, m.peer) : s.mail(m.peer, s.rank);
  uint64_t head = box.head, tail = box.tail;
  auto bytes = [&](uint8_t *p, uint64_t n, uint64_t at, bool in) {
    for (uint64_t i = 0; i < n;) {
      uint64_t k = std::min(n - i, mailBytes - (at + i) % mailBytes);
      in ? memcpy(box.data + (at + i) % mailBytes, p + i, k)
         : memcpy(p + i, box.data + (at + i) % mailBytes, k);
      i += k;
    }
  };
  if (sends) {
    if (!m.headed) {
      if (mailBytes - (head - tail) < sizeof(Call))
        return false;
      bytes((uint8_t *)&m.call, sizeof(Call), head, true);
      box.head = head += sizeof(Call);
      m.headed = true;
    }
    uint64_t k = std::min(m.bytes - m.done, mailBytes - (head - tail));
    if (!k)
      return false;
    bytes(m.host + m.done, k, head, true);
    box.head = head + k, m.done += k;
    return true;
  }
  if (!m.headed) {
    if (head - tail < sizeof(Call))
      return false;
    Call theirs;
    bytes((uint8_t *)&theirs, sizeof(Call), tail, false);
    box.tail = tail += sizeof(Call);
    m.headed = true;
    if (theirs.count != m.call.count || theirs.type != m.call.type) {
      s.abort(); // the sender learns of it
      throw Error{ncclInvalidUsage, "rank " + std::to_string(s.rank) + " " +
                                        m.call.text() + ", but rank " +
                                        std::to_string(m.peer) + " " +
                                        theirs.text()};
    }
  }
  uint64_t k = std::min(m.bytes - m.done, head - tail);
  if (!k)
    return false;
  bytes(m.host + m.done, k, tail, false);
  box.tail = tail + k, m.done += k;
  return true;
}
} // namespace

void pointToPoint(Job &j) {
  Segment &s = *j.comm->segment;
  for (Message &m : j.messages)
    m.host = memory(m.call, m.buffer, m.bytes, m.kind == Send);
  auto pending = [&](const Message &m) {
    return m.done < m.bytes || !m.headed;
  };
  for (;;) {
    bool any = false;
    s.wait(
        [&] {
          bool moved = false;
          any = false;
          for (size_t i = 0; i < j.messages.size(); ++i) {
            Message &m = j.messages[i];
            bool blocked = false; // messages of one pair go in order
            for (size_t k = 0; k < i; ++k)
              blocked |= pending(j.messages[k]) &&
                         j.messages[k].peer == m.peer &&
                         j.messages[k].kind == m.kind;
            if (!blocked && pending(m)) {
              bool headed = m.headed;
              moved |= progress(s, m) || headed != m.headed;
            }
            any |= pending(m);
          }
          return moved || !any;
        },
        [&] {
          std::string t = "rank " + std::to_string(s.rank) + " waits in";
          for (const Message &m : j.messages)
            if (pending(m))
              t += " " + m.call.text() +
                   (m.kind == Send ? " to rank " : " from rank ") +
                   std::to_string(m.peer) + ",";
          t.pop_back();
          return t;
        },
        [&](int r) {
          for (const Message &m : j.messages)
            if (pending(m) && m.peer == r)
              return true;
          return false;
        });
    if (!any)
      return;
  }
}

} // namespace standin::nccl
