#!/usr/bin/env python3
"""One governed turn of an agent; the person at the terminal decides each call.

usage: ask.py claude|codex --frame FILE -p PROMPT [other options of mh-run]

Needs Python 3.8 and nothing else, and mh-run on PATH. Each call that the frame admits is shown
with its input, and you answer:

    y          it runs as it is
    n          it does not run; you are asked why, and the agent reads your words
    e          it runs with another input: in $VISUAL or $EDITOR, else typed as one line of JSON

Ctrl-C stops the turn, a second one at once. Ctrl-D: you decide nothing more, and every further
call is denied. A call that you leave alone is denied when its time is up (--deadline SECONDS).

The agent's answer goes to standard output and all else to the terminal, so that
`answer=$(ask.py ...)` works; the exit code is mh-run's.

How it works: mh-run prints one JSON object a line, each an event. To one that says
`"event": "tool.requested", "decision_required": true` it wants a command on its standard input,
one JSON object a line too, and it answers every command with one `command.result`.
"""

import json
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time


def clean(text):
    """Text of somebody else's, with nothing in it that a terminal would obey."""
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in str(text))


class Lines:
    """The lines that come in at a descriptor, as they come."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.rest = b""

    def read(self):
        """The lines that are whole by now; None when there will be no more."""
        try:
            piece = os.read(self.descriptor, 65536)
        except OSError:
            piece = b""
        if not piece:
            return None
        *whole, self.rest = (self.rest + piece).split(b"\n")
        return [line.decode("utf-8", "replace") for line in whole]


class Refused(Exception):
    """What keeps the turn from being started."""


class Client:
    """A run of mh-run, and the person."""

    def __init__(self, arguments):
        try:
            self.terminal = os.open("/dev/tty", os.O_RDWR)
        except OSError as error:
            raise Refused(f"there is no terminal here to ask at ({error.strerror}); ask.sh goes by a rule and needs none")
        if shutil.which("mh-run") is None:
            raise Refused("there is no mh-run on PATH; put it there")
        # mh-run has a session of its own: Ctrl-C is for this program, which then says `interrupt`
        self.run = subprocess.Popen(
            ["mh-run", arguments[0], "--decisions", "ask", *arguments[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.waiting = []  # calls that wait for a decision, the oldest first, which is the one shown
        self.step = None  # what the person is being asked: "decide", "reason" or "input"
        self.sent = {}  # our commands that have no answer yet: id -> the call, or None
        self.number = 0
        self.interrupted = False
        self.events = 0
        self.closed = None

    def say(self, text):
        left = text.encode("utf-8", "replace")
        while left:
            left = left[os.write(self.terminal, left):]

    # -- to mh-run

    def command(self, name, call=None, **fields):
        """Send it; False where nobody takes it any more."""
        self.number += 1
        line = {"format": "metaharness.command/1", "id": str(self.number), "command": name, **fields}
        self.sent[line["id"]] = call
        try:
            self.run.stdin.write(json.dumps(line).encode() + b"\n")
            self.run.stdin.flush()
        except (OSError, ValueError):
            return False  # it has ended, and its last lines say how, or we have said that we say no more
        return True

    def decide(self, decision):
        """Send it; the call stays in front until mh-run has said that it took it."""
        call = self.waiting[0]
        self.step = None
        self.command("tool.decide", call, call_id=call["call_id"], decision=decision)

    def hang_up(self):
        self.say("\nNothing more is decided here; further calls are denied.\n")
        self.waiting, self.step = [], None
        try:
            self.run.stdin.close()
        except OSError:
            pass

    def interrupt(self):
        self.say("\nStopping the turn...\n")
        self.waiting, self.step = [], None
        if self.interrupted or not self.command("interrupt", reason="the person at the terminal stopped it"):
            self.run.terminate()
        self.interrupted = True

    # -- from mh-run

    def hear(self, line):
        event = json.loads(line)
        self.events += 1
        kind = event["event"]
        if kind == "tool.requested" and event["decision_required"]:
            event["until"] = time.monotonic() + event["deadline_ms"] / 1000
            self.waiting.append(event)
        elif kind == "tool.decided":
            self.decided(event)
        elif kind == "command.result":
            self.answered(event["id"], event["outcome"])
        elif kind == "tool.result":
            # the vendor does not always say whether it failed
            state = {True: "failed", False: "done"}.get(event["is_error"], "ended")
            self.say(f"  {state}: {clean(event['content'] or '')[:500]}\n")
        elif kind == "warning":
            self.say(f"  note: {clean(event['message'])}\n")
        elif kind == "text":
            self.say(f"  agent: {clean(event['text'])}\n")
        elif kind == "session.ended" and event["final_answer"]:
            print(event["final_answer"]["text"], flush=True)
        elif kind == "stream.closed":
            self.closed = event

    def decided(self, event):
        """Whoever decided: it does not wait any more."""
        done = [call for call in self.waiting if call["call_id"] == event["call_id"]]
        if not done:
            return
        if event["decided_by"] == "deadline":
            self.say(f"\n  too late: the time for {clean(done[0]['name'])} was up, and it was denied\n")
        if done[0] is self.waiting[0]:
            self.step = None
        self.waiting.remove(done[0])

    def answered(self, number, outcome):
        """A command of ours was taken, or refused by a code that never changes."""
        call = self.sent.pop(number, None)
        if outcome["result"] == "ok":
            self.waiting = [other for other in self.waiting if other is not call]
            return
        refused = outcome["refused"]
        self.say(f"  refused, {refused['code']}: {clean(refused['reason'])}\n")
        if refused["code"] in ("TOO_LATE", "UNKNOWN_CALL"):
            self.waiting = [other for other in self.waiting if other is not call]
        # any other, as UNSUPPORTED_CONTROL for an input that the tool cannot take: it still waits,
        # and stands in front, so it is asked about again

    # -- the person

    def ask(self):
        """Show the call that stands in front, unless that is done already."""
        if self.step or not self.waiting or any(self.sent.values()):
            return
        call = self.waiting[0]
        left = call["until"] - time.monotonic()
        operations = ", ".join(operation["op"] for operation in call.get("operations", []))
        agent = f" (sub-agent {clean(call['agent_id'])})" if call.get("agent_id") else ""
        self.say(f"\n{clean(call['name'])}{agent} needs {clean(operations)}; {left:.0f} s to decide\n")
        self.say(clean(json.dumps(call["input"], indent=2, ensure_ascii=False)) + "\n")
        # what was typed before this was seen is no answer to it
        termios.tcflush(self.terminal, termios.TCIFLUSH)
        self.step = "decide"
        self.say("run it? y, n or e(dit): ")

    def typed(self, line):
        if self.step == "reason":
            if line.strip():
                self.decide({"decision": "deny", "reason": line.strip()})
            else:
                self.say("a reason, please; the agent goes by it: ")
        elif self.step == "input":
            self.replace(line)
        elif self.step == "decide":
            word = line.strip().lower()
            if word in ("y", "yes"):
                self.decide({"decision": "allow"})
            elif word in ("n", "no"):
                self.step = "reason"
                self.say("why not? ")
            elif word in ("e", "edit"):
                self.edit()
            else:
                self.say("y, n or e: ")

    def edit(self):
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor:
            self.step = "input"
            self.say("the input, as one line of JSON: ")
            return
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(self.waiting[0]["input"], file, indent=2, ensure_ascii=False)
            file.flush()
            tty = {"stdin": self.terminal, "stdout": self.terminal, "stderr": self.terminal}
            try:
                failed = subprocess.call([*shlex.split(editor), file.name], **tty)
            except OSError as error:
                failed = error
            with open(file.name, encoding="utf-8", errors="replace") as again:
                text = again.read()
        if failed:
            self.say(f"{clean(editor)}: {failed}; nothing is changed\nrun it? y, n or e(dit): ")
        else:
            self.replace(text)

    def replace(self, text):
        try:
            value = json.loads(text)
        except ValueError as error:
            self.step = "decide"
            self.say(f"that is no JSON ({error})\nrun it? y, n or e(dit): ")
            return
        self.decide({"decision": "replace", "input": value})

    # -- all of it

    def work(self):
        # Ctrl-C comes in like all else, so that it never falls into the middle of anything
        signals, wakes = os.pipe()
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes)
        signal.signal(signal.SIGINT, lambda *_: None)
        told = [
            (Lines(self.run.stdout.fileno()), self.hear),
            (Lines(self.run.stderr.fileno()), lambda line: self.say(f"  {clean(line)}\n")),
            (Lines(self.terminal), self.typed),
        ]
        running = {self.run.stdout.fileno(), self.run.stderr.fileno()}
        with selectors.DefaultSelector() as selector:
            selector.register(signals, selectors.EVENT_READ)
            for lines, tell in told:
                selector.register(lines.descriptor, selectors.EVENT_READ, (lines, tell))
            while running:
                for key, _ in selector.select():
                    if key.fd == signals:
                        os.read(signals, 64)
                        self.interrupt()
                        continue
                    lines, tell = key.data
                    heard = lines.read()
                    for line in heard or []:
                        tell(line)
                    if heard is None:
                        selector.unregister(key.fd)
                        running.discard(key.fd)
                        if key.fd == self.terminal:
                            self.hang_up()
                self.ask()
        return self.end()

    def end(self):
        code = self.run.wait()
        if code < 0:
            code = 128 - code  # killed by a signal: shells count it so
        if self.events == 0:
            return code  # refused before it began, and its own words say why
        if self.closed is None or self.closed["events"] != self.events - 1:
            self.say("the run was cut short: its last lines are missing\n")
            return code or 1
        self.say(f"the turn is over: {self.closed['reason']}\n")
        return code


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    try:
        return Client(arguments).work()
    except Refused as refused:
        print(f"ask.py: {refused}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"ask.py: {error.filename or 'the run'}: {error.strerror}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
