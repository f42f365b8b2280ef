"""Counts the launches of a function: launches.py MODULE FUNCTION AT-MOST. Attention that is no launch yet counts as one.

With --wide: each kernel that the function launches reads and writes 16 bytes at once.
"""

import re
import sys

LAUNCH = re.compile(r"ff\.launch_device @kernels::@(\w+)\((.*?)\)|ff\.(attention\w*) ")


def body_of(module, function):
    begin = module.index(f"func.func private @{function}(")
    return module[begin : module.index("\n  }\n", begin)]


def main(args):
    wide = args[0] == "--wide"
    path, function, *most = args[1:] if wide else args
    module = open(path, encoding="latin-1").read()
    launches = [match.group(1) or match.group(3) for match in LAUNCH.finditer(body_of(module, function))]
    print(f"{function}: {len(launches)} launches: {' '.join(launches)}")
    if not wide:
        return len(launches) > int(most[0])
    ptx = re.search(r'@ff_device_ptx\("(.*?)"\)', module).group(1).replace("\\0A", "\n").replace("\\09", "\t")
    kernels = {name: text for name, text in re.findall(r"\.visible \.entry (\w+)\((.*?\n})", ptx, re.S)}
    narrow = False
    for name in launches:
        if name not in kernels:  # attention
            continue
        wide = r"[.\w]*\.(v4\.[bfu]32|v2\.[bfu]64|b128)"
        # cp.async.cg copies 16 bytes at a time to shared memory.
        for access in (rf"ld\.global{wide}|cp\.async\.cg", rf"st\.global{wide}"):
            if not re.search(access, kernels[name]):
                print(f"error: {name} has no access of 16 bytes: {access}")
                narrow = True
    return narrow


sys.exit(main(sys.argv[1:]))
