#!/usr/bin/env python3
"""Throughput and latency of a server that answers /v1/completions or /translate.

  serve.py URL [--model NAME] [--path completions|translate] [--input FILE] [--clients 1 8 64]
           [--requests 200] [--max-tokens 64] [--token TOKEN]

Each client sends its requests one after the other on one connection. The prompts are the lines of
FILE in turns. Prints for each number of clients: requests, tokens (of `usage`) or sentences a
second, and the 50th and the 99th percentile of a request's time. The same script measures
llama.cpp's server, which answers /v1/completions too.
"""
import argparse
import json
import socket
import threading
import time
import urllib.parse


class Connection:
    """A connection that is kept. It does little itself, because it shares the cores with the server."""

    def __init__(self, url, path, token):
        self.socket = socket.create_connection((url.hostname, url.port), timeout=600)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.head = f"POST {path} HTTP/1.1\r\nHost: {url.hostname}:{url.port}\r\n"
        self.head += "Content-Type: application/json\r\n"
        if token:
            self.head += f"Authorization: Bearer {token}\r\n"

    def post(self, body):
        self.socket.sendall(f"{self.head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.received()
        head, _, text = answer.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        sizes = [line for line in lines if line.lower().startswith(b"content-length:")]
        size = int(sizes[0].split(b":")[1])
        while len(text) < size:
            text += self.received()
        return int(lines[0].split()[1]), text

    def received(self):
        part = self.socket.recv(65536)
        if not part:
            raise SystemExit("the server ended the connection")
        return part


def client(o, url, bodies, times, tokens, failures):
    path = "/translate" if o.path == "translate" else "/v1/completions"
    connection = Connection(url, path, o.token)
    for body in bodies:
        begin = time.perf_counter()
        status, text = connection.post(body)
        times.append(time.perf_counter() - begin)
        if status != 200:
            failures.append(f"{status}: {text[:200]}")
        elif o.path == "translate":
            tokens.append(1)
        else:
            tokens.append(json.loads(text)["usage"]["completion_tokens"])


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--model")
    parser.add_argument("--path", choices=["completions", "translate"], default="completions")
    parser.add_argument("--input")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--token")
    o = parser.parse_args()
    lines = open(o.input).read().splitlines() if o.input else ["the"]
    url = urllib.parse.urlparse(o.url)
    print(f"{'clients':>8} {'requests/s':>11} {'tokens/s':>10} {'50%, ms':>9} {'99%, ms':>9}")
    for clients in o.clients:
        bodies = []
        for i in range(max(o.requests, clients)):
            line = lines[i % len(lines)]
            body = {"q": line} if o.path == "translate" else {"prompt": line, "seed": i}
            if o.path == "completions":
                body["max_tokens"] = o.max_tokens
            if o.model:
                body["model"] = o.model
            bodies.append(json.dumps(body).encode())
        times, tokens, failures = [], [], []
        threads = [
            threading.Thread(
                target=client, args=(o, url, bodies[c::clients], times, tokens, failures)
            )
            for c in range(clients)
        ]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - begin
        if failures:
            raise SystemExit(f"{len(failures)} requests failed, the first with {failures[0]}")
        print(
            f"{clients:8} {len(times) / seconds:11.1f} {sum(tokens) / seconds:10.1f}"
            f" {1000 * percentile(times, 0.5):9.1f} {1000 * percentile(times, 0.99):9.1f}"
        )


main()
