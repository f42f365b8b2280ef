"""Prints the TOML that a document shows, with what it leaves out to be a whole spec.

usage: spec_of.py document.md root
"""

import re
import sys

text = open(sys.argv[1]).read()
spec = "\n".join(re.findall(r"^```toml\n(.*?)^```", text, re.S | re.M))
rest = {
    "[pipeline]": 'name = "document"',
    "[data]": f'files = "{sys.argv[2]}/examples/digits/digits.safetensors"',
    "[train]": "steps = 2\nglobal_batch = 8",
    "[bundle.": 'module = "Mlp"\nconfig = { dim = 8, hidden = 16 }',
    "[program.train]": 'inputs = ["image: [B, C, H, W]"]\nforward = "return mean(square(mlp(reshape(image, [B, H, W]))))"',
}
print(spec)
for section, keys in rest.items():
    if section not in spec:
        print(("[bundle.mlp]" if section == "[bundle." else section) + "\n" + keys)
