"""Another implementation of epoch files, in their plain form, as the public write-ups have it:

    plain.py ENDPOINT BUCKET PREFIX VALIDITY_MS

The highest PREFIXlock-%010d.json counts, {"validity_ms": N, "expired": false} in it; whoever finds
it expired, or not written for N ms by the store's clock, creates the next one with If-None-Match.
Knows nothing of s3lect, and shares no code with it. Prints "leads N AT", "renewed N AT", "follows N",
with AT in ns of lease time: when it began to lead, or sent the write. SIGTERM gives the epoch
up.
"""

import email.utils
import hashlib
import hmac
import http.client
import json
import re
import signal
import sys
import time
import urllib.parse

KEY_ID, SECRET, REGION = "test", "testtest", "us-east-1"


def now_ns():
    boottime = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    suspended = boottime - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) + suspended


class Store:
    def __init__(self, endpoint, bucket):
        self.host = urllib.parse.urlsplit(endpoint).netloc
        self.bucket = bucket

    def ask(self, method, key, query=None, body=b"", headers=None):
        """Status, headers and body of one signed request."""
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = urllib.parse.quote(f"/{self.bucket}/{key}")
        query = urllib.parse.urlencode(sorted((query or {}).items()), quote_via=urllib.parse.quote)
        digest = hashlib.sha256(body).hexdigest()
        signed = {"host": self.host, "x-amz-date": now, "x-amz-content-sha256": digest}
        signed.update(headers or {})
        names = ";".join(sorted(signed))
        lines = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
        request = "\n".join([method, path, query, lines, names, digest])
        scope = f"{now[:8]}/{REGION}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(request.encode()).hexdigest()])
        key = ("AWS4" + SECRET).encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        signed["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={KEY_ID}/{scope},SignedHeaders={names},Signature={signature}"
        )
        connection = http.client.HTTPConnection(self.host, timeout=5)
        connection.request(method, path + ("?" + query if query else ""), body, signed)
        reply = connection.getresponse()
        result = reply.status, reply.headers, reply.read()
        connection.close()
        return result


class Candidate:
    def __init__(self, store, prefix, validity_ms):
        self.store, self.prefix, self.validity_ms = store, prefix, validity_ms
        self.epoch = 0  # that it leads
        self.seen = 0
        self.leaving = False

    def key(self, epoch):
        return f"{self.prefix}lock-{epoch:010d}.json"

    def say(self, what, epoch, at=None):
        print(what, epoch, at or now_ns(), flush=True)

    def write(self, epoch, expired, headers=None):
        body = json.dumps({"validity_ms": self.validity_ms, "expired": expired}).encode()
        return self.store.ask("PUT", self.key(epoch), body=body, headers=headers)[0]

    def newest(self):
        query = {"list-type": "2", "prefix": self.prefix + "lock-"}
        status, _, body = self.store.ask("GET", "", query)
        assert status == 200, body
        return max((int(n) for n in re.findall(r"lock-(\d{10})\.json</Key>", body.decode())), default=0)

    def is_over(self, epoch):
        status, headers, body = self.store.ask("GET", self.key(epoch))
        if status != 200:
            return False
        date, modified = (
            email.utils.parsedate_to_datetime(headers[name]) for name in ("Date", "Last-Modified")
        )
        lock = json.loads(body)
        age_ms = (date - modified).total_seconds() * 1000
        # Both times have a grain of a second.
        return lock["expired"] or age_ms > lock["validity_ms"] + 1000

    def turn(self):
        """One look at the store; the pause until the next one, in s."""
        if self.epoch > 0:
            at = now_ns()
            assert self.write(self.epoch, self.leaving) == 200
            self.say("left" if self.leaving else "renewed", self.epoch, at)
            return self.validity_ms / 5000
        newest = self.newest()
        if newest > 0 and not self.is_over(newest):
            if newest != self.seen:
                self.say("follows", newest)
            self.seen = newest
        elif self.write(newest + 1, False, {"if-none-match": "*"}) == 200:
            self.epoch = newest + 1
            self.say("leads", self.epoch)
        return 0.2

    def run(self):
        while not self.leaving:
            pause = self.turn()
            signal.sigtimedwait([signal.SIGTERM], pause) and self.leave()

    def leave(self):
        self.leaving = True
        if self.epoch > 0:
            self.turn()


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    Candidate(Store(sys.argv[1], sys.argv[2]), sys.argv[3], int(sys.argv[4])).run()
