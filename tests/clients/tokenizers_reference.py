#!/usr/bin/env python3
"""Compares tokenizers with Hugging Face tokenizers, tiktoken and SentencePiece: ids, decoded texts
and learned merges.

  tokenizers_reference.py NINE_TESTS BPE    exit 0: the same, 1: different, 77 skipped: a package is missing

The texts are in the scripts of Debian's iso-codes (where they are installed), and in pieces that
this file has: emoji, code, white space of every kind, random characters. The tokenizers are those
that the packages train themselves, and those that mistral-common, litellm and openai-whisper bring,
where they are installed.
"""

import base64
import gettext
import glob
import importlib.util
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

try:
    import sentencepiece
    import tiktoken
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from tokenizers import processors, trainers
except ImportError as error:
    print(f"skipped: tokenizers, tiktoken or sentencepiece is not installed ({error})")
    sys.exit(77)

SPACE = "\u2581"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PIECES = [
    "Hello, world! It's 3.14159 and we've 1000000 tokens; they'LL SAY 'S '\u017f",
    "def f(x):\n    return x**2 + 1  # comment\n\n\tif (a == b) { c[0] = '\\n'; }\n\n\n",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f \U0001f600\U0001f600",
    "a\u00a0b\u2003c\u3000d\u200be\u180ef\u2028g\u2029h\x85i\x1cj\x0bk\x0cl",
    "   leading and trailing   ",
    "\r\n\r\n  \n \t\n x\r\ry",
    "\ufb01 \ufb02 \u2460 \uff21\u337f \u1e9b\u0323 e\u0301 \u00c5 \u212b \ud55c\uad6d \u1112\u1161\u11ab",
    "\u0645\u0631\u062d\u0628\u0627 \u0661\u0662 \u05e9\u05dc\u05d5\u05dd "
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0967\u0968 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u4f60\u597d\u3002",
    "\u3053\u3093\u306b\u3061\u306f \uc548\ub155 \u041f\u0440\u0438\u0432\u0435\u0442 \u0393\u03b5\u03b9\u03ac "
    "\u10e1\u10d0\u10da\u10d0\u10db\u10d8 \u0562\u0561\u0580\u0565\u0582 \u1230\u120b\u121d \u13e3\u13b3\u13a9",
    "----====----   ----- " + "a" * 28 + " !!!!!!!!!!?????",
    " ",
    "",
    "\n",
    "\n\n\n\n",
    "         \n",
    "x" * 700,
    "ab " * 300,
    "0123456789" * 20,
    "<|endoftext|> hi <|endoftext|>",
    "<s> a </s> <unk> <0x0A> \u2581",
    "\ud7ff\ue000\U0010ffff\U0001f600",
    "IV \u2163 \u00bd \u00b2 \u09ea",
    "don't DON'T I'll I'LL he's HE'S",
]
POOL = (
    [chr(c) for c in range(0x20, 0x7F)] * 3
    + [chr(c) for a, b in ((0xA0, 0x250), (0x370, 0x600), (0x900, 0xA00)) for c in range(a, b)]
    + [chr(c) for a, b in ((0x2000, 0x2070), (0x3040, 0x3100)) for c in range(a, b)]
    + [chr(c) for a, b in ((0x4E00, 0x4F00), (0x1F600, 0x1F650)) for c in range(a, b)]
    + list("\t\n\r\x85\xa0") * 20
)
# Texts of these have many cuts of one score, where they are user-defined symbols.
TIES = ["a", "b", "ab", "ba", "bab", "\u00e9", "\u00e9\u00e9", "xx", "x" * 10, "x" * 14]


def texts_of(count, seed):
    rng = random.Random(seed)
    scripts = []
    for path in sorted(glob.glob("/usr/share/locale/*/LC_MESSAGES/iso_*.mo")):
        with open(path, "rb") as file:
            catalog = gettext.GNUTranslations(file)._catalog
        words = [value for key, value in catalog.items() if key and isinstance(value, str)]
        if words:
            scripts.append(words)
    out = list(PIECES)
    for _ in range(count if scripts else 0):
        words = rng.choice(scripts)
        joint = rng.choice([" ", "\n", "  ", ", ", "\t"])
        out.append(joint.join(rng.choice(words) for _ in range(rng.randint(1, 8))))
    for _ in range(count // 2):
        out.append("".join(rng.choice(POOL) for _ in range(rng.randint(1, 60))))
        out.append("".join(rng.choice(" \t\n\r.,'-ab1\u00e9") for _ in range(rng.randint(1, 30))))
        out.append("".join(rng.choice(TIES) for _ in range(rng.randint(1, 30))))
    return out


class Comparison:
    def __init__(self, nine_tests, bpe, folder):
        self.nine_tests, self.bpe, self.folder = nine_tests, bpe, folder
        self.wrong = 0
        self.texts = texts_of(3000, 1)

    def path(self, name):
        return os.path.join(self.folder, name)

    def ours(self, tokenizer, how):
        """(ids, decoded bytes) of each text."""
        path = self.path("texts")
        with open(path, "wb") as out:
            for text in self.texts:
                data = text.encode()
                out.write(struct.pack("<I", len(data)) + data)
        subprocess.run(
            [self.nine_tests, "--test-case=tokenizers: for other programs"],
            env={
                **os.environ,
                "NINE_TOKENIZER": tokenizer,
                "NINE_TOKENIZER_TEXTS": path,
                "NINE_TOKENIZER_HOW": how,
            },
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with open(path + ".ids", "rb") as file:
            answer = file.read()
        os.remove(path + ".ids")
        at, fields = 0, []
        while at < len(answer):
            (size,) = struct.unpack_from("<I", answer, at)
            fields.append(answer[at + 4 : at + 4 + size])
            at += 4 + size
        ids = [list(struct.unpack(f"<{len(f) // 4}i", f)) for f in fields[::2]]
        return list(zip(ids, fields[1::2]))

    def check(self, name, found, ids, decoded=None):
        differ = [i for i in range(len(self.texts)) if found[i][0] != list(ids[i])]
        for i in differ[:3]:
            print(f"  {self.texts[i][:60]!r}: {found[i][0][:12]}, expected {list(ids[i])[:12]}")
        back = [i for i, text in enumerate(decoded or []) if found[i][1].decode() != text]
        for i in back[:3]:
            print(f"  {found[i][1][:60]!r}, expected {decoded[i][:60]!r}")
        print(f"{name}: {len(ids)} texts, {len(differ)} differ in ids, {len(back)} decoded")
        self.wrong += len(differ) + len(back)

    def check_hugging_face(self, name, path):
        tokenizer = Tokenizer.from_file(path)
        encoded = [e.ids for e in tokenizer.encode_batch(self.texts)]
        decoded = [tokenizer.decode(ids, skip_special_tokens=False) for ids in encoded]
        self.check(name, self.ours(path, "sa"), encoded, decoded)

    def check_tiktoken(self, name, path, pattern):
        with open(path, "rb") as file:
            fields = [line.split() for line in file if line.strip()]
        ranks = {base64.b64decode(token): int(rank) for token, rank in fields if token != b"="}
        encoding = tiktoken.Encoding(
            name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
        )
        ids = [encoding.encode_ordinary(text) for text in self.texts]
        self.check(name, self.ours(path, "2" if pattern == GPT2 else ""), ids, self.texts)

    def check_sentencepiece(self, name, path):
        model = sentencepiece.SentencePieceProcessor(model_file=path)
        self.check(name, self.ours(path, ""), [model.encode(text) for text in self.texts])

    def check_converted(self, name, path):
        """The tokenizer.json of a SentencePiece model: read by Hugging Face tokenizers, and beside
        the tokenizer that transformers makes of the model."""
        written = self.path("converted.json")
        subprocess.run([self.bpe, "convert", "--tokenizer", path, "--output", written], check=True)
        self.check_hugging_face(f"{name}, converted", written)
        tokenizer = Tokenizer.from_file(written)
        # Where transformers has no special tokens, and normalises what spells these.
        plain = [
            text for text in self.texts if not any(s in text for s in ("<s>", "</s>", "<unk>"))
        ]
        ids = [e.ids for e in tokenizer.encode_batch(plain, add_special_tokens=False)]
        if importlib.util.find_spec("transformers") is not None:
            theirs = of_transformers(path)
            other = [e.ids for e in theirs.encode_batch(plain)]
            wrong = [i for i in range(len(plain)) if other[i] != ids[i]]
            for i in wrong[:3]:
                print(f"  {plain[i][:60]!r}: {ids[i][:12]}, transformers {other[i][:12]}")
            text = lambda tokenizer, i: tokenizer.decode(ids[i], skip_special_tokens=False)
            back = [i for i in range(len(plain)) if text(theirs, i) != text(tokenizer, i)]
            print(f"{name}, by transformers: {len(wrong)} differ in ids, {len(back)} decoded")
            self.wrong += len(wrong) + len(back)
        model = sentencepiece.SentencePieceProcessor(model_file=path)
        own = model.encode(plain)
        unlike = [i for i in range(len(plain)) if own[i] != ids[i]]
        for i in unlike[: int(os.environ.get("SHOWN", "0"))]:
            print(f"  {plain[i][:60]!r}: {ids[i][:12]}, SentencePiece {own[i][:12]}")
        unknown = model.unk_id()
        whole = [i for i in range(len(plain)) if own[i] == ids[i] and unknown not in own[i]]
        back = [i for i in whole if model.decode(own[i]) != tokenizer.decode(ids[i])]
        print(
            f"{name}, converted, beside the model: {len(unlike)} of {len(plain)} texts differ in "
            f"ids; of {len(whole)} others without unknown tokens {len(back)} are decoded otherwise"
        )
        # The differences that docs/tokenizers.md names, on texts of random characters too.
        # A converted model takes the longest user-defined piece first, so many ties fall otherwise.
        most = len(plain) // (5 if str(TIES) in name else 10)
        most = 0 if name.startswith("mistral-common") else most
        self.wrong += max(0, len(unlike) - most) + len(back)

    def check_tekken(self, name, path):
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer

        theirs = Tekkenizer.from_file(path)
        ids = [theirs.encode(text, bos=False, eos=False) for text in self.texts]
        self.check(name, self.ours(path, ""), ids, self.texts)

    def learned(self, corpus, split, form, size, least=2):
        """Merges and vocabulary beside those of Hugging Face's trainer."""
        theirs = Tokenizer(models.BPE())
        if form != "none":
            theirs.normalizer = {"nfc": normalizers.NFC(), "nfkc": normalizers.NFKC()}[form]
        bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split == "gpt2")
        cut = pre_tokenizers.Split(Regex(GPT4), "isolated")
        theirs.pre_tokenizer = bytes_ if split == "gpt2" else pre_tokenizers.Sequence([cut, bytes_])
        theirs.decoder = decoders.ByteLevel()
        theirs.train(
            [corpus],
            trainers.BpeTrainer(
                vocab_size=size,
                min_frequency=least,
                show_progress=False,
                special_tokens=["<|endoftext|>"],
                initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            ),
        )
        path = self.path("tokenizer.json")
        command = [self.bpe, "learn", "--bytes", "--vocab-size", str(size), "--split", split]
        command += ["--normalize", form, "--min-frequency", str(least)]
        subprocess.run(
            command + ["--input", corpus, "--output", path], check=True, stderr=subprocess.DEVNULL
        )
        with open(path, encoding="utf-8") as file:
            ours = json.load(file)["model"]
        expected = json.loads(theirs.to_str())["model"]
        same = ours["merges"] == expected["merges"] and ours["vocab"] == expected["vocab"]
        print(
            f"learned {split} {form} {size}: {len(ours['merges'])} merges, {'the same' if same else 'DIFFERENT'}"
        )
        self.wrong += not same
        return path


def of_transformers(path):
    """The tokenizer that transformers makes of a SentencePiece model."""
    from transformers.convert_slow_tokenizer import SentencePieceExtractor, SpmConverter

    extractor = SentencePieceExtractor(path)
    vocab = extractor.extract(None)["vocab"]
    return SpmConverter.build_tokenizer_from_spm_proto(extractor.proto, vocab)


def unlike(tokenizer, path):
    tokenizer.save(path)
    return path


def own_tokenizers(c, corpus):
    """Tokenizers of the parts that Llama 2, Mistral and T5 have."""
    with open(corpus, encoding="utf-8", newline="") as file:
        lines = file.read().split("\n")
    single = [f"<0x{i:02X}>" for i in range(256)]
    # Llama 2: the whole text is one piece.
    trained = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.train_from_iterator(
        lines,
        trainers.BpeTrainer(
            vocab_size=3000,
            special_tokens=["<unk>", "<s>", "</s>"] + single,
            limit_alphabet=400,
            show_progress=False,
        ),
    )
    for scheme in ("llama", "first", "always", "never"):
        llama = Tokenizer.from_str(trained.to_str())
        data = json.loads(llama.to_str())
        data["added_tokens"] = data["added_tokens"][:3]
        replace = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
        back = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
        strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
        steps = [back, {"type": "ByteFallback"}, {"type": "Fuse"}, strip]
        data["decoder"] = {"type": "Sequence", "decoders": steps}
        if scheme == "llama":
            prepend = {"type": "Prepend", "prepend": SPACE}
            data["normalizer"] = {"type": "Sequence", "normalizers": [prepend, replace]}
            data["pre_tokenizer"] = None
        else:
            data["pre_tokenizer"] = {
                "type": "Metaspace",
                "replacement": SPACE,
                "prepend_scheme": scheme,
                "split": scheme == "always",
            }
        llama = Tokenizer.from_str(json.dumps(data))
        llama.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 1)]
        )
        c.check_hugging_face(f"Llama 2, {scheme}", unlike(llama, c.path("llama.json")))
    # SentencePiece, and T5's parts with its table of replacements.
    for kind, options in (
        ("unigram", {}),
        ("unigram", {"byte_fallback": True, "normalization_rule_name": "identity"}),
        ("unigram", {"user_defined_symbols": ["<sep>", "ab c"], "add_dummy_prefix": False}),
        ("unigram", {"user_defined_symbols": TIES, "byte_fallback": True}),
        ("bpe", {"byte_fallback": True, "remove_extra_whitespaces": False}),
        ("bpe", {"user_defined_symbols": ["<sep>", "ab"], "normalization_rule_name": "nfkc_cf"}),
        ("bpe", {"split_by_whitespace": False}),
    ):
        prefix = c.path("sp")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([line for line in lines if line.strip()]),
            model_prefix=prefix,
            model_type=kind,
            vocab_size=4000,
            character_coverage=0.99,
            hard_vocab_limit=False,
            minloglevel=2,
            **options,
        )
        name = f"SentencePiece {kind} {options}"
        c.check_sentencepiece(name, prefix + ".model")
        if options.get("user_defined_symbols") != TIES:  # tokenizer.json does not choose by scores
            c.check_converted(name, prefix + ".model")
        if kind == "unigram" and not options:
            t5(c, prefix + ".model")


def fields_of(message):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 2:
            size = varint()
            value = message[at : at + size]
            at += size
        elif tag & 7 == 5:
            (value,) = struct.unpack_from("<f", message, at)
            at += 4
        else:
            value = varint()
        yield tag >> 3, value


def t5(c, path):
    with open(path, "rb") as file:
        model = list(fields_of(file.read()))
    pieces = [dict(fields_of(value)) for number, value in model if number == 1]
    charsmap = dict(fields_of(next(value for number, value in model if number == 3)))[2]
    vocabulary = [(piece[1].decode(), piece.get(2, 0.0)) for piece in pieces]
    tokenizer = Tokenizer(models.Unigram(vocabulary, 0, False))
    tokenizer.add_special_tokens(["</s>", "<unk>"])
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(charsmap),
            normalizers.Strip(left=False, right=True),
            normalizers.Replace(Regex(" {2,}"), SPACE),
        ]
    )
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 2)]
    )
    for name, cut in (
        ("Metaspace", pre_tokenizers.Metaspace()),
        (
            "WhitespaceSplit, Metaspace",
            pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]),
        ),
    ):
        tokenizer.pre_tokenizer = cut
        c.check_hugging_face(f"T5, {name}", unlike(tokenizer, c.path("t5.json")))


def packaged(c):
    """Tokenizers that packages bring."""

    def files(package, inner, pattern):
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            print(f"{package} is not installed")
            return []
        place = spec.submodule_search_locations[0]
        return sorted(glob.glob(os.path.join(place, inner, pattern)))

    for path in files("mistral_common", "data", "*.model.v*"):
        if not path.endswith("m1"):
            c.check_sentencepiece("mistral-common, " + os.path.basename(path), path)
            c.check_converted("mistral-common, " + os.path.basename(path), path)
    for path in files("mistral_common", "data", "tekken_*.json"):
        c.check_tekken("mistral-common, " + os.path.basename(path), path)
    for path in files("litellm", "litellm_core_utils/tokenizers", "*"):
        if os.path.isdir(path):
            continue
        with open(path, "rb") as file:
            start = file.read(8)
        if path.endswith(".json"):
            c.check_hugging_face("litellm, " + os.path.basename(path), path)
        elif start.startswith(b"IQ== 0"):
            for name, pattern in (("GPT-2", GPT2), ("GPT-4", GPT4)):
                c.check_tiktoken(f"litellm, {os.path.basename(path)[:8]}, {name}", path, pattern)
    for path in files("whisper", "assets", "*.tiktoken"):
        c.check_tiktoken("openai-whisper, " + os.path.basename(path), path, GPT2)


def main():
    with tempfile.TemporaryDirectory() as folder:
        c = Comparison(sys.argv[1], sys.argv[2], folder)
        corpus = c.path("corpus")
        with open(corpus, "w", encoding="utf-8", newline="") as out:
            out.write("\n".join(texts_of(6000, 7)) + "\nno end")
        for split, form, size in (
            ("gpt2", "none", 3000),
            ("gpt4", "none", 8000),
            ("llama3", "none", 100000),
            ("gpt4", "nfc", 4000),
            ("gpt4", "nfkc", 4000),
        ):
            path = c.learned(corpus, split, form, size)
            c.check_hugging_face(f"ids of {split} {form} {size}", path)
        repeated = c.path("repeated")  # a token is made in two ways
        rng = random.Random(3)
        with open(repeated, "w", encoding="utf-8") as out:
            for _ in range(4000):
                out.write(
                    " ".join(rng.choice("-=aab") * rng.randint(1, 40) for _ in range(4)) + "\n"
                )
                out.write("".join(rng.choice("ab") for _ in range(rng.randint(1, 12))) + "\n")
        for least in (1, 2, 50):
            c.check_hugging_face(
                f"repeated, at least {least}", c.learned(repeated, "gpt4", "none", 1500, least)
            )
        own_tokenizers(c, corpus)
        packaged(c)
    print("all the same" if c.wrong == 0 else f"{c.wrong} DIFFERENT")
    return 1 if c.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
