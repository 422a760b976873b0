#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: 2026 The Hull authors
"""Stores that misbehave: hostile_store.py LOG [ADDRESS]

Listens on two ports of the address (the loopback) and prints their numbers. Over HTTP the
first part of a path says what a GET gets (HTTP below); PUT stores what DELETE
removes, under the path's last parts. Over Redis the number of the database
says it (REDIS below). Every request is a line of LOG: method, path, the header
Authorization and X-Key. Ends when its standard input does.
"""
import os
import socketserver
import sys
import threading
import time

LOG = open(sys.argv[1], "a", buffering=1)
values, tries, lock = {}, {}, threading.Lock()


def answer(status, body=b"", more=b"", length=None):
    return (b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n%s\r\n" %
            (status, len(body) if length is None else length, more) + body)


def drip(to, data):
    """Two seconds for the whole, each piece a line of the log."""
    size = len(data) // 40 + 1
    for i in range(0, len(data), size):
        LOG.write(f"drip {i // size}\n")
        to.wfile.write(data[i:i + size])
        time.sleep(0.05)


class Http(socketserver.StreamRequestHandler):
    def say(self, data):
        self.wfile.write(data)

    def trickle(self, data, pause=0.05):
        for i in range(len(data)):
            self.say(data[i:i + 1])
            time.sleep(pause)

    def forever(self, data, pause=0):
        while True:
            self.say(data)
            time.sleep(pause)

    def close_now(self):
        self.close = True

    def get(self, mode, path, value):
        """What a GET of path answers."""
        port = self.server.server_address[1]
        here = b"http://127.0.0.1:%d" % port
        other = b"http://localhost:%d" % port
        with lock:
            tries[path] = n = tries.get(path, 0) + 1
        plain = {
            "good": lambda: self.say(answer(200, value)),
            "cut": lambda: (self.say(answer(200, value[:-1],
                                            length=len(value))),
                            self.close_now()),
            "short": lambda: self.say(answer(200, value[:-1])),
            "longer": lambda: self.say(answer(200, value + b"x" * 5000)),
            "lies": lambda: self.say(answer(200, value, length=10)),
            "huge": lambda: self.say(answer(200, value, length=1 << 40)),
            "endless": lambda: (self.say(
                b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n"),
                self.forever(b"10000\r\n" + b"x" * 65536 + b"\r\n")),
            "steady": lambda: (self.say(
                b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n"),
                self.forever(b"800\r\n" + b"x" * 2048 + b"\r\n", 0.1)),
            "headers": lambda: (self.say(b"HTTP/1.1 200 X\r\n"),
                                self.forever(b"X-A: " + b"y" * 4000 +
                                             b"\r\n")),
            "early": lambda: self.forever(b"HTTP/1.1 100 Continue\r\n\r\n"),
            "garbage": lambda: self.say(answer(200, os.urandom(3000))),
            "nohttp": lambda: (self.say(os.urandom(300)), self.close_now()),
            "empty": lambda: self.say(answer(200)),
            "loop": lambda: self.say(answer(302, more=b"Location: %s%s\r\n" %
                                            (here, path.encode()))),
            "file": lambda: self.say(answer(
                302, more=b"Location: file:///etc/passwd\r\n")),
            "user": lambda: self.say(answer(
                302, more=b"Location: http://u:p@127.0.0.1/\r\n")),
            "near": lambda: self.say(answer(
                307, more=b"Location: %s\r\n" %
                path.replace("/near/", "/good/").encode())),
            "far": lambda: self.say(answer(
                307, more=b"Location: %s%s\r\n" %
                (other, path.replace("/far/", "/good/").encode()))),
            "silent": lambda: time.sleep(3600),
            "slow": lambda: self.trickle(answer(200, value)),
            "drip": lambda: drip(self, answer(200, value)),
            "hang": lambda: (self.say(answer(200, value[:len(value) // 2],
                                             length=len(value))),
                             time.sleep(3600)),
            "error": lambda: self.say(answer(500)),
            "busy": lambda: self.say(answer(200, value) if n > 2 else
                                     answer(503 if n == 1 else 429)),
            "drop": lambda: (self.say(answer(200, value)) if n > 1 else None,
                             self.close_now()),
            "denied": lambda: self.say(answer(403)),
            "flood": lambda: (self.say(answer(404, length=1 << 40)),
                              self.forever(b"x" * 65536)),
        }
        plain.get(mode, lambda: self.say(answer(404)))()

    def handle(self):
        self.close = False
        while not self.close:
            words = self.rfile.readline().decode("latin-1").split()
            if len(words) < 2:
                return
            method, path = words[:2]
            fields = {}
            while line := self.rfile.readline().strip():
                name, _, text = line.partition(b":")
                fields[name.strip().lower()] = text.strip().decode("latin-1")
            body = self.rfile.read(int(fields.get(b"content-length", 0)))
            LOG.write(f"{method} {path} {fields.get(b'authorization', '-')} "
                      f"{fields.get(b'x-key', '-')}\n")
            mode, _, name = path[1:].partition("/")
            if method == "GET" and (name in values or mode != "good"):
                self.get(mode, path, values.get(name, b"v" * 200))
            elif method == "PUT" and mode == "putmoved":
                self.say(answer(302, more=b"Location: /good/x\r\n"))
            elif method == "PUT":
                values[name] = body
                self.say(answer(201))
            elif method == "DELETE":
                values.pop(name, None)
                self.say(answer(204))
            elif method == "HEAD":
                self.say(answer(200 if name in values else 404))
            else:
                self.say(answer(404))


# database -> what GET answers
REDIS = {
    1: b"$-1\r\n",
    2: b"garbage\r\n" * 100,
    3: b"$100000000000\r\nxx",
    4: b"*1000000000\r\n" * 10,
    5: b"*1\r\n" * 10000,
    6: b"-ERR \x1b[31mred\x00\xff\r\n",
    7: b":1\r\n",
    8: b"$10\r\n12345",
    9: b"",
    10: b"$-5\r\n",
    11: b"+OK\r\n",
    12: b"$300\r\n" + b"x" * 300 + b"\r\n",
    13: None,   # a byte at a time
    14: ...,    # bytes without end
}
REDIS_DRIPS = 15  # what was SET, slowly


class Redis(socketserver.StreamRequestHandler):
    def read_command(self):
        head = self.rfile.readline()
        out = []
        for _ in range(int(head[1:] or 0)):
            size = int(self.rfile.readline()[1:])
            out.append(self.rfile.read(size + 2)[:-2])
        return out

    def handle(self):
        db = 0
        while words := self.read_command():
            LOG.write(f"redis {db} {words[0].decode()}\n")
            if words[0] == b"SELECT":
                db = int(words[1])
                self.wfile.write(b"+OK\r\n")
                continue
            if words[0] == b"SET":
                values[words[1]] = words[2]
                self.wfile.write(b"+OK\r\n")
                continue
            if db == REDIS_DRIPS and words[0] == b"GET" and words[1] in values:
                value = values[words[1]]
                drip(self, b"$%d\r\n%s\r\n" % (len(value), value))
                continue
            say = REDIS.get(db, b"$-1\r\n")
            if say is None:
                for _ in range(100000):
                    self.wfile.write(b"$")
                    time.sleep(0.05)
            elif say is ...:
                self.wfile.write(b"$500000000\r\n")
                while True:
                    self.wfile.write(b"x" * 65536)
            self.wfile.write(say)
            if db in (8, 9):
                return


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request, address):
        pass  # the other end went away


def main():
    ports = []
    for handler in (Http, Redis):
        server = Server((sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1",
                         0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ports.append(str(server.server_address[1]))
    print(" ".join(ports), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
