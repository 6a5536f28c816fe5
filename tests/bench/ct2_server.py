#!/usr/bin/env python3
"""CTranslate2 behind an HTTP server, as a peer of nine_serve (tests/bench/serve.py measures both).

  ct2_server.py MODEL TOKENIZER [--kind completions|translate] [--port 18113] [--threads 2]
                [--type float32|bfloat16|...] [--batch 64] [--beam 5]

MODEL is a folder that CTranslate2 opens; TOKENIZER is a tokenizer.json, or - for words between
blanks. Answers /v1/completions (sampled at temperature 1, as OpenAI's default) or /translate.
One thread computes: it takes all requests that wait, at most --batch, as one batch, and CTranslate2
drops the rows that have ended. /health answers when the model is open.
"""
import argparse
import http.server
import json
import queue
import threading

import ctranslate2


class Request:
    def __init__(self, tokens, most):
        self.tokens, self.most = tokens, most
        self.made, self.done = None, threading.Event()


class Model:
    def __init__(self, o):
        kind = ctranslate2.Translator if o.kind == "translate" else ctranslate2.Generator
        self.model = kind(o.model, "cpu", compute_type=o.type, intra_threads=o.threads)
        self.o, self.waiting = o, queue.Queue()
        self.tokenizer = None
        if o.tokenizer != "-":
            from tokenizers import Tokenizer

            self.tokenizer = Tokenizer.from_file(o.tokenizer)

    def tokens(self, text):
        return self.tokenizer.encode(text).tokens if self.tokenizer else text.split()

    def text(self, tokens):
        if not self.tokenizer:
            return " ".join(tokens)
        return self.tokenizer.decode([self.tokenizer.token_to_id(t) for t in tokens])

    def compute(self):
        while True:
            batch = [self.waiting.get()]
            while len(batch) < self.o.batch and not self.waiting.empty():
                batch.append(self.waiting.get())
            if self.o.kind == "translate":
                found = self.model.translate_batch([r.tokens for r in batch], beam_size=self.o.beam)
                made = [result.hypotheses[0] for result in found]
            else:
                found = self.model.generate_batch(
                    [r.tokens for r in batch],
                    max_length=max(r.most for r in batch),
                    sampling_topk=0,
                    include_prompt_in_result=False,
                )
                made = [result.sequences[0][: r.most] for result, r in zip(found, batch)]
            for request, tokens in zip(batch, made):
                request.made = tokens
                request.done.set()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # the header and the body leave together, or each answer waits for an ACK
    disable_nagle_algorithm = True
    model = None

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def do_GET(self):
        self.answer({"status": "ok"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = body["q"] if "q" in body else body["prompt"]
        request = Request(self.model.tokens(text), body.get("max_tokens", 16))
        self.model.waiting.put(request)
        request.done.wait()
        text = self.model.text(request.made)
        if "q" in body:
            return self.answer({"translatedText": text})
        usage = {"completion_tokens": len(request.made)}
        return self.answer({"choices": [{"text": text}], "usage": usage})

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("tokenizer")
    parser.add_argument("--kind", choices=["completions", "translate"], default="completions")
    parser.add_argument("--port", type=int, default=18113)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--type", default="float32")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--beam", type=int, default=5)
    o = parser.parse_args()
    Handler.model = Model(o)
    threading.Thread(target=Handler.model.compute, daemon=True).start()
    Server(("127.0.0.1", o.port), Handler).serve_forever()


main()
