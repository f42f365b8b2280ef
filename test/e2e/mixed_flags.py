"""Starts two ranks as a launcher does, the second with more flags, and prints what they say. Both must fail within a minute.

usage: mixed_flags.py command... -- flags of rank 1...
"""

import os
import socket
import subprocess
import sys


def main():
    at = sys.argv.index("--")
    command, more = sys.argv[1:at], sys.argv[at + 1 :]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = []
    for rank in (0, 1):
        environment = {
            **os.environ,
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": "2",
            "LOCAL_WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
        extra = more if rank else []
        ranks.append(subprocess.Popen(command + extra, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    texts = [process.communicate(timeout=60)[0] for process in ranks]
    print("\n".join(texts))
    if any(process.returncode == 0 for process in ranks):
        sys.exit("a rank ended with 0")


main()
