"""Mutates the module of a compiled spec after each stage; the verifiers of the stage must reject every mutant and name what is wrong.

mutate.py FF_OPT DUMP_DIR [-v]
"""
import concurrent.futures
import glob
import re
import subprocess
import sys

# Mutants that no verifier can reject, with the reason. Empty: none is known among the mutations below.
JUSTIFIED = {}

SITES = 3  # of each mutation: the first, the last and one between


def spread(items):
    items = list(items)
    if len(items) <= SITES:
        return items
    return [items[0], items[len(items) // 2], items[-1]]


def edits(pattern, replacement, name=None):
    """Each match of `pattern`, replaced. `name` is what the message must hold: a pattern, expanded like `replacement`."""

    def mutate(text):
        for match in spread(re.finditer(pattern, text, re.M)):
            new = replacement(match, text) if callable(replacement) else match.expand(replacement)
            if new is None:
                continue
            wanted = name(match) if callable(name) else match.expand(name) if name else None
            yield text[: match.start()] + new + text[match.end() :], wanted

    return mutate


def program(text, name="train"):
    """The span of a program's body."""
    start = text.index("func.func @%s(" % name)
    return start, text.index("\n  }\n", start)


def inProgram(mutate, name="train"):
    def inner(text):
        start, end = program(text, name)
        for body, wanted in mutate(text[start:end]):
            yield text[:start] + body + text[end:], wanted

    return inner


def plus(n):
    return lambda m, _: m.group(1) + str(int(m.group(2)) + n) + m.group(3)


def insert(lines, name=None):
    """Lines before the return of the program that trains."""
    return inProgram(edits(r"^(?=    return )", lines, name))


def move(line, target):
    """The last line that matches `line` goes right behind the first that matches `target`."""

    def mutate(text):
        found = list(re.finditer(line, text, re.M))
        if found:
            match = found[-1]
            rest = text[: match.start()] + text[match.end() :]
            where = re.search(target.replace("NAME", re.escape(match.group(1))), rest, re.M)
            if where:
                yield rest[: where.end()] + match.group(0) + rest[where.end() :], None

    return mutate


def overlap(text):
    """An operation writes where its first operand lies."""
    sites = []
    for match in re.finditer(r"^    %\w+ = (?:ff\.matmul|ff\.launch @\w+)[ (]%(\w+)\b(?!#)[^\n]*ff\.offsets = array<i64: (\d+)>", text, re.M):
        # The same name stands for other values in other functions.
        function = text[text.rfind("\n  func.func", 0, match.start()) : match.start()]
        own = re.findall(r"^    %" + match[1] + r" = [^\n]*\{[^\n}]*ff\.offsets = array<i64: (\d+)>", function, re.M)
        if own and own[-1] != match[2]:
            sites.append(text[: match.start(2)] + own[-1] + text[match.end(2) :])
    for site in spread(sites):
        yield site, "overlap|outside"


PARAM = r"^    ff\.parameter @([\w.]+) : "
LINE = r"^ +%s.*\n"
SPEC = {
    "steps": edits(r"(total_steps = )(\d+)( :)", plus(1), "total_steps"),
    "batch": edits(r"(global_batch = )(\d+)( :)", plus(1), "global_batch"),
    "micro-batch": edits(r"(train = \{.*?micro_batch = )(\d+)( :)", plus(-2), "micro_batch"),
    "sample-batch": edits(r"(sample = \{.*?micro_batch = )(\d+)( :)", plus(1), "sample.micro_batch"),
    "mesh": edits(r"replicate = 1 :", "replicate = 0 :", "replicate"),
    "mesh-shard": edits(r" shard = 1 :", " shard = -2 :", "shard"),
    "train-program": edits(r'program = "train"', 'program = "tran"', "tran"),
    "field": edits(r'fields = \{image =', "fields = {picture =", "image"),
    "program-twice": edits(r'ff\.program = "sample"', 'ff.program = "train"', "train"),
}
RANDOM = {
    "site": inProgram(edits(r"(ff\.random .* site )1( )", r"\g<1>0\2", "site 0")),
    "site-of-other": inProgram(edits(r"(ff\.random .* site )(\d+)( )", plus(1 << 24), "site")),
    "random-in-region": insert("    %mc = arith.constant true\n    scf.if %mc {\n      %mr = ff.random <normal> site 9 : tensor<4xf32>\n    }\n", "region"),
    "random-in-block": edits(r'(func\.func private @(\w+)\(.*ff\.block.*\{\n)', r"\1    %mr = ff.random <normal> site 9 : tensor<4xf32>\n", r"\2"),
    "random-rows": insert("    %mr = ff.random <normal> site 9 : tensor<5x4xf32>\n", "5x4"),
}
TRAINABLE = {
    "thaw": edits(PARAM + r"(.*)(?=\n)", lambda m, _: None if "trainable" in m[2] or "@head" in m[0] or "enc" not in m[1] else m[0].rstrip() + " {trainable = true}", r"\1"),
    "freeze": edits(PARAM + r"(.*), trainable = true\}", r"    ff.parameter @\1 : \2}", r"\1"),
    "freeze-component": edits(r"(ff\.component @head .*)#ff\.train<full>", r"\1#ff.train<frozen>", "head|'w'"),
}
MANIFEST = {
    "save-rename": edits(r'#ff\.save<0, "([\w.]+)">', r'#ff.save<0, "module.\1">', r"\1"),
    "save-file": edits(PARAM + r"(.*)#ff\.save<0,", r"    ff.parameter @\1 : \2#ff.save<7,", r"file 7"),
    "save-drop": edits(PARAM + r'(.*)save = #ff\.save<0, "[^"]*">(, )?', r"    ff.parameter @\1 : \2", r"save table"),
    "save-twice": edits(PARAM + r'(.*)#ff\.save<0, "[^"]*lora_B[^"]*">', r'    ff.parameter @\1 : \2#ff.save<0, "w">', "saved as"),
    "save-frozen": edits(PARAM + r"(.*enc.*|tensor<16x64xbf16> .*)(?=\n)", r'    ff.parameter @\1 : \2 {save = #ff.save<0, "x">}', "save table"),
    "kind": edits(r'kind = "adapter"', 'kind = "full"', "adapter"),
    "kind-full": edits(r'kind = "full"', 'kind = "adapter"', "full"),
    "empty-file": edits(r'files = \["adapter_model.safetensors"', r'files = ["adapter_model.safetensors", "b.safetensors"', "b.safetensors"),
    "no-files": edits(r'save = \{files = \["adapter_model.safetensors"\]', "save = {files = []", "files"),
}
PRECISION = {
    "master": edits(PARAM + r"(.*trainable = true)\}", r"    ff.parameter @\1 : \2, master = f64}", r"master"),
    "frozen-master": edits(PARAM + r"(tensor<16x64xbf16> .*)(?=\n)", r"    ff.parameter @\1 : \2 {master = f32}", "master"),
    "reduce": edits(PARAM + r"(.*trainable = true)\}", r"    ff.parameter @\1 : \2, reduce = bf16}", "reduce"),
}
USE = {
    "use-in-branch": insert("    %mc = arith.constant true\n    scf.if %mc {\n      %mw = ff.param @head::@w : tensor<64xf32>\n    }\n", "region"),
    "use-in-block": edits(r'(func\.func private @\w+\(.*ff\.block.*\{\n)', r"\1    %mw = ff.param @head::@w : tensor<64xf32>\n", "outside a program|nothing uses"),
    "early-gather": insert("    %mu = ff.gather @head.root : !ff.gathered\n    ff.release %mu\n", "head.root|before sharding"),
    "forward-in-branch": inProgram(edits(r"^(?=    return )", "    %mc = arith.constant true\n    %mx = arith.constant dense<0.0> : tensor<3x64xf32>\n    scf.if %mc {\n      %mw = func.call @net_forward(%mx) : (tensor<3x64xf32>) -> tensor<3x64xf32>\n    }\n", "straight line|net_forward"), "sample"),
}
GROUPS = {
    "group-dtype": edits(r"(ff\.unit @[\w.]+ of .*?)#ff\.group<(bf16|f32)", lambda m, _: m[1] + "#ff.group<" + ("f32" if m[2] == "bf16" else "bf16"), "group of"),
    "group-trainable": edits(r"(ff\.unit @([\w.]+) of .*?)trainable = (true|false)", lambda m, _: m[1] + "trainable = " + ("true" if m[3] == "false" else "false"), "trainable"),
    "group-reduce": edits(r"(trainable = true, reduce = )f32", r"\1f64", "reduced"),
    "group-gather": edits(r", gather = bf16, numel", ", numel", "gathered"),
    "group-numel": edits(r"numel = \d+", "numel = 1", "numel|offset|ends at"),
    "group-offset": edits(r"offsets = \[0, \d+", "offsets = [0, 8", "multiple of 16"),
    "group-overlap": edits(r"offsets = \[0, (?!16\b)\d+", "offsets = [0, 16", "ends at|does not follow"),
    "param-dropped": edits(r'params = \["([\w.]+)", (.*?)\], offsets = \[\d+, (.*?)\]', r"params = [\2], offsets = [\3]", r"\1"),
    "param-twice": edits(r'(params = \[)("[\w.]+")(, .*?offsets = \[.*?\])', r"\1\2, \2\3", "params and|two groups"),
    "unit-dropped": edits(r"^  ff\.unit @[\w.]+ of .*params = \[\"([\w.]+)\".*\n", "", "unit"),
    "unit-renamed": edits(r"ff\.unit @([\w.]+) of", r"ff.unit @\1x of", "unit|lies in"),
    "unit-of-other": edits(r"ff\.unit @(net[\w.]+) of @net", r"ff.unit @\1 of @head", "not a parameter"),
    "unit-no-component": edits(r"ff\.unit @(net[\w.]+) of @net", r"ff.unit @\1 of @nett", "nett"),
    "root": edits(r" \{root\}", "", "lies in"),
}
GRADIENT = r"^    ff\.gradient @(\w+)::@([\w.]+), (%[\w#]+) : tensor<([\dx]+)xf32>\n"
BACKWARD = {
    "gradient-dropped": edits(GRADIENT, "", "no gradient"),
    "gradient-twice": edits(GRADIENT, lambda m, _: m[0] + m[0], r"second gradient"),
    "gradient-of-frozen": edits(GRADIENT, lambda m, _: m[0] + "    %mz = ff.loss_seed : tensor<f32>\n    %mg = ff.broadcast %mz dims [] : tensor<f32> to tensor<16xf32>\n    ff.gradient @net::@blocks.0.norm.weight, %mg : tensor<16xf32>\n", "norm.weight|frozen"),
    "gradient-of-other": edits(GRADIENT, lambda m, _: m[0].replace("blocks.0", "blocks.1") if "blocks.0" in m[0] else None, "second gradient"),
    "gradient-constant": edits(GRADIENT, lambda m, _: "    %%mg = arith.constant dense<0.0> : tensor<%sxf32>\n    ff.gradient @%s::@%s, %%mg : tensor<%sxf32>\n" % (m[4], m[1], m[2], m[4]), "does not depend|nothing uses"),
    "gradient-dtype": edits(GRADIENT, lambda m, _: "    %%mg = arith.truncf %s : tensor<%sxf32> to tensor<%sxbf16>\n    ff.gradient @%s::@%s, %%mg : tensor<%sxbf16>\n" % (m[3], m[4], m[4], m[1], m[2], m[4]), "dtype"),
    "gradient-in-sample": inProgram(edits(r"^(?=    return )", "    %mg = arith.constant dense<0.0> : tensor<64xf32>\n    ff.gradient @head::@w, %mg : tensor<64xf32>\n", "does not train|second"), "sample"),
    "gradient-dead": insert("    %mz = ff.loss_seed : tensor<f32>\n    %mg = arith.negf %mz : tensor<f32>\n", "nothing uses"),
    "gradient-branch": insert("    %mc = arith.constant true\n    scf.if %mc {\n      %mg = arith.constant dense<0.0> : tensor<64xf32>\n      ff.gradient @head::@w, %mg : tensor<64xf32>\n    }\n", "second gradient|region"),
    "backward-dead": edits(r"(func\.func private @(\w+_bwd\w*)\(%arg0: (tensor<[^>]*>).*\{\n)", r"\1    %mz = ff.stop_gradient %arg0 : \3\n", "nothing uses"),
    "recompute-other-value": inProgram(edits(r"(call @\w+_fwd\w*\()(%[\w#]+)(, .*ff\.recompute)", r"\1%mx\3", "again|mx")),
}
NARROW_SUM = {
    "gradient-narrow-sum": edits(GRADIENT, lambda m, _: "    %%ma = arith.truncf %s : tensor<%sxf32> to tensor<%sxbf16>\n    %%mb = arith.addf %%ma, %%ma : tensor<%sxbf16>\n    %%mg = arith.extf %%mb : tensor<%sxbf16> to tensor<%sxf32>\n    ff.gradient @%s::@%s, %%mg : tensor<%sxf32>\n" % (m[3], m[4], m[4], m[4], m[4], m[4], m[1], m[2], m[4]), r"adds up the gradient"),
}
REDUCE = r"^    ff\.reduce_gradients @([\w.]+)\((%[\w#]+)(.*)\n"
SHARD = {
    "release-dropped": edits(LINE % r"ff\.release %\w+", "", "release"),
    "release-twice": edits(LINE % r"ff\.release %\w+", lambda m, _: m[0] + m[0], "release"),
    "release-in-branch": edits(LINE % r"ff\.release %\w+", lambda m, _: "    %mc = arith.constant true\n    scf.if %mc {\n" + m[0] + "    }\n", "region"),
    "release-early": move(LINE % r"ff\.release %(\w+)", r"^ +%NAME = ff\.gather(_wait)? .*\n"),
    "reduce-dropped": edits(REDUCE, "", "nothing reduces|not under way"),
    "reduce-twice": edits(REDUCE, lambda m, _: m[0] + m[0], r"\1"),
    "reduce-in-branch": edits(REDUCE, lambda m, _: "    %mc = arith.constant true\n    scf.if %mc {\n" + m[0] + "    }\n", "region|nothing reduces"),
    "reduce-one-less": edits(r'(ff\.reduce_gradients @[\w.]+\()%[\w#]+, (.*\) \[)"([\w.]+)", (.*\] (?:\{.*\} )?: )tensor<[^>]*>, ', r"\1\2\4", r"\3"),
    "reduce-name-twice": edits(r'(ff\.reduce_gradients @[\w.]+\()(%[\w#]+), %[\w#]+(.*\) \[)("[\w.]+"), "[\w.]+"(.*: )(tensor<[^>]*>), tensor<[^>]*>', r"\1\2, \2\3\4, \4\5\6, \6", "twice|gradient"),
    "reduce-other-unit": edits(r"(ff\.reduce_gradients )@net\.blocks\.0(?=\()", r"\1@net.blocks.1", "blocks"),
    "reduce-no-unit": edits(r"(ff\.reduce_gradients )@net\.blocks\.0(?=\()", r"\1@net.blocks.9", "blocks.9"),
    "reduce-in-sample": inProgram(edits(r"^(?=    return )", '    %mg = arith.constant dense<0.0> : tensor<64xf32>\n    ff.reduce_gradients @head.root(%mg) ["w"] : tensor<64xf32>\n', "does not train|head.root"), "sample"),
    "view-other": edits(r'(ff\.view %\w+\["blocks\.)0(\.[\w.]+"\])', r"\g<1>1\2", "blocks.1"),
    "view-unknown": edits(r'(ff\.view %\w+\[")([\w.]+)("\])', r"\1\2x\3", r"\2x"),
    "param-left": insert("    %mw = ff.param @head::@w : tensor<64xf32>\n", "left after sharding"),
    "gradient-left": insert("    %mg = arith.constant dense<0.0> : tensor<64xf32>\n    ff.gradient @head::@w, %mg : tensor<64xf32>\n", "left after sharding"),
}
GATHER = {
    "gather-twice": edits(r"^( +)(%\w+) = (ff\.gather @[\w.]+ : !ff\.gathered\n)", r"\1\2 = \3\1%mu = \3\1ff.release %mu\n", "whole"),
    "gather-in-branch": edits(r"^( +)(%\w+) = (ff\.gather @[\w.]+ : !ff\.gathered\n)", r"\1\2 = \3    %mc = arith.constant true\n    scf.if %mc {\n      %mu = \3      ff.release %mu\n    }\n", "region"),
    "gather-in-block": edits(r'(func\.func private @\w+\(.*ff\.block.*\{\n)', r"\1    %mu = ff.gather @head.root : !ff.gathered\n    ff.release %mu\n", "outside a program"),
    "reduce-constant": edits(r'(ff\.reduce_gradients @[\w.]+\()(%[\w#]+)((?:, .*)?\) \["([\w.]+)".*: )(tensor<[^>]*>)', None, None),
}
START = {
    "start-twice": edits(r"^( +)(%\w+) = (ff\.gather_start @([\w.]+).*\n)", r"\1\2 = \3\1%mu = \3", r"\4"),
    "start-in-branch": edits(r"^( +)(%\w+) = (ff\.gather_start @([\w.]+).*\n)", r"\1\2 = \3    %mc = arith.constant true\n    scf.if %mc {\n      %mu = \3    }\n", "region|exactly one"),
    "start-other": edits(r"(ff\.gather_start )@net\.blocks\.0 ", r"\1@net.blocks.1 ", "blocks"),
    "reduce-wait-dropped": edits(LINE % r"ff\.reduce_wait @[\w.]+", "", "way|completed|slot"),
    "reduce-wait-twice": edits(LINE % r"ff\.reduce_wait @([\w.]+)", lambda m, _: m[0] + m[0], r"not under way"),
    "reduce-wait-in-branch": edits(LINE % r"ff\.reduce_wait @[\w.]+", lambda m, _: "    %mc = arith.constant true\n    scf.if %mc {\n" + m[0] + "    }\n", "region"),
    "unsplit": insert("    %mu = ff.gather @head.root : !ff.gathered\n    ff.release %mu\n", "left after scheduling"),
}
OFFSETS = r"(ff\.offsets = array<i64: )(\d+)"
PLAN = {
    "offset-outside": edits(OFFSETS, r"\g<1>1073741824", "outside the frame"),
    "offset-misaligned": edits(OFFSETS + r"(?=[,>])", lambda m, _: m[1] + str(int(m[2]) + 4), "aligned|overlap|outside"),
    "offset-none": edits(OFFSETS, r"\1-1", "without a place"),
    "offset-operand": overlap,
    "frame-none": edits(r"ff\.frame = \d+ : i64(, )?", "", "no place for the frame"),
    "frame-outside": edits(r"ff\.frame = \d+ :", "ff.frame = 1073741824 :", "outside the frame"),
    "frame-bytes": edits(r"ff\.frame_bytes = (?!0 )\d+ :", "ff.frame_bytes = 0 :", "outside the frame|frame"),
    "frame-bytes-none": edits(r"ff\.frame_bytes = \d+ : i64, ", "", "no planned frame"),
    "slot-none": edits(r"(ff\.gather_start @[\w.]+) \{slot = \d+ : i32\}", r"\1", "no slot"),
    "slot-other": edits(r"(ff\.gather_start @[\w.]+ \{slot = )(\d+)( :)", plus(1), "slot"),
    "slot-reduce": edits(r"(ff\.reduce_gradients .*\{slot = )(\d+)( :)", plus(1), "slot"),
    "slots-list": edits(r"(ff\.gather_slots = \[\[)@[\w.]+", r"\1@nothing", "does not list|slot"),
}


def reduceConstant(text):
    for match in spread(re.finditer(r'^    (ff\.reduce_gradients @[\w.]+\()(%[\w#]+)((?:, .*)?\) \["([\w.]+)".*: )(tensor<[^>]*>)', text, re.M)):
        new = "    %%mg = arith.constant dense<0.0> : %s\n    %s%%mg%s%s" % (match[5], match[1], match[3], match[5])
        yield text[: match.start()] + new + text[match.end() :], "does not depend"


GATHER["reduce-constant"] = reduceConstant
STAGES = {
    "import": [SPEC, RANDOM, TRAINABLE, MANIFEST, PRECISION, USE],
    "form-units": [GROUPS],
    "differentiate": [SPEC, RANDOM, TRAINABLE, PRECISION, GROUPS, BACKWARD, NARROW_SUM, USE],
    "kernels": [RANDOM, TRAINABLE, BACKWARD, USE],
    "shard": [SHARD, GATHER],
    "schedule": [SHARD, START],
    "plan-memory": [SHARD, START, PLAN],
}
# Mutations of what another stage than theirs writes, or that the verifiers of a stage do not look at, are not in its list.
SKIP = {
    ("differentiate", "mesh"), ("differentiate", "unit-dropped"), ("differentiate", "unit-renamed"), ("differentiate", "root"),
    ("differentiate", "param-dropped"),
    # Verified from ff-stage-shard on, where a gradient is in a reduction.
    ("schedule", "reduce-constant"), ("plan-memory", "reduce-constant"),
}


def run(job):
    ff_opt, stage, text = job
    done = subprocess.run([ff_opt, "-", "--ff-invariants-" + stage, "-o", "/dev/null"], input=text, capture_output=True, text=True)
    return done.returncode, done.stderr


def main():
    ff_opt, folder = sys.argv[1:3]
    jobs, labels = [], []
    for path in sorted(glob.glob(folder + "/*.mlir")):
        stage = re.match(r".*/\d+-(.*)\.mlir", path)[1]
        if stage not in STAGES:
            continue
        text = open(path).read()
        jobs.append((ff_opt, stage, text))
        labels.append((stage, "unchanged", 0, None))
        for table in STAGES[stage]:
            for name, mutate in table.items():
                if (stage, name) in SKIP:
                    continue
                count = 0
                for number, (mutant, wanted) in enumerate(mutate(text)):
                    count += 1
                    jobs.append((ff_opt, stage, mutant))
                    labels.append((stage, name, number, wanted))
                if not count:
                    print("error: %s: mutation '%s' applies nowhere" % (stage, name))
                    sys.exit(1)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(run, jobs))
    bad, killed = 0, 0
    for (stage, name, number, wanted), (code, message) in zip(labels, results):
        first = next((line for line in message.splitlines() if "error:" in line), message[:200])
        if "-v" in sys.argv:
            print("%s %s#%d: %d %s" % (stage, name, number, code, first))
        if name == "unchanged":
            if code:
                bad += 1
                print("error: %s: the module itself is rejected: %s" % (stage, first))
        elif code == 0:
            if (stage, name) not in JUSTIFIED:
                bad += 1
                print("error: %s: mutant '%s' %d survives" % (stage, name, number))
        elif code not in (1,):
            bad += 1
            print("error: %s: mutant '%s' %d crashes: %s" % (stage, name, number, message[-300:]))
        elif wanted and not re.search(wanted, message):
            bad += 1
            print("error: %s: mutant '%s' %d is rejected without naming '%s': %s" % (stage, name, number, wanted, first))
        else:
            killed += 1
    print("%d mutants, %d rejected" % (len(jobs) - len({label[0] for label in labels}), killed))
    sys.exit(1 if bad else 0)


main()
