"""Gives the images of handwritten digits prompts, and writes those that samples are drawn for.

usage: make_data.py VOCAB DIGITS OUT

VOCAB is the vocab.txt of the encoder, DIGITS a safetensors file with `image` and `label`. OUT, a folder, gets

  train.safetensors     image, label, ids, mask: each image COPIES times, with one of the training wordings each
  prompts.safetensors   ids, mask, label: every held-out wording, with the ten digits as words, then as numerals
  prompts.txt           the same as text, a line for each
"""

import sys
import tomllib
from pathlib import Path

import numpy

from text import Tokenizer, load, save

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
FORMS = [WORDS, [str(digit) for digit in range(10)]]
COPIES = 8


def main():
    vocab, digits, out = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    wordings = tomllib.loads((Path(__file__).parent / "wordings.toml").read_text())
    # For each digit, every prompt; and for each held-out prompt, its digit.
    known = [[w.format(form[digit]) for w in wordings["train"] for form in FORMS] for digit in range(10)]
    asked = [(w.format(form[digit]), digit) for w in wordings["held_out"] for form in FORMS for digit in range(10)]
    assert not {prompt for prompts in known for prompt in prompts} & {prompt for prompt, _ in asked}
    assert not set(wordings["train"]) & set(wordings["held_out"])

    tokenizer = Tokenizer(vocab)
    data = load(digits)
    label = numpy.tile(data["label"], COPIES)
    random = numpy.random.default_rng(7)
    prompts = [known[digit][random.integers(len(known[digit]))] for digit in label]
    image = numpy.tile(data["image"], [COPIES, 1, 1, 1])
    save(out / "train.safetensors", {"image": image, "label": label, **tokenizer.batch(prompts)})

    prompts = [prompt for prompt, _ in asked]
    label = numpy.array([digit for _, digit in asked])
    save(out / "prompts.safetensors", {**tokenizer.batch(prompts), "label": label})
    (out / "prompts.txt").write_text("".join(prompt + "\n" for prompt in prompts))
    print(f"{len(image)} images with {sum(map(len, known))} prompts, {len(asked)} other prompts")


main()
