"""A small agent: it asks a model what to do, does it, and goes on until the model gives an answer or gives up.

It starts its own model endpoint on loopback, so it needs no network. The model is no intelligence: it follows rules, and
its answers are always the same. Everything else is as with a real one: messages in, messages out, and each call costs.
"""

from __future__ import annotations

import ast
import json
import operator
import os
import re
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PRICES = {"small": 0.000_01, "large": 0.000_1}  # USD for each token
MOST_TURNS = 8
_SUM = re.compile(r"\d+(?:\s*[-+*]\s*\d+)+")
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


# -- the model


def reply(model: str, messages: list[dict[str, str]]) -> dict[str, str]:
    """Returns what the model says next: a call of a tool, an answer, or that it gives up."""
    task = messages[0]["content"]
    if "impossible" in task:
        return {"give_up": "nobody can do that"}
    if "hard" in task and model == "small" and "step by step" not in task:
        return {"give_up": f"that is too hard for the model {model}"}
    results = [message["content"] for message in messages if message["role"] == "tool"]
    sums = _SUM.findall(task)
    if len(results) < len(sums):
        return {"call": "calculate", "argument": sums[len(results)]}
    return {"answer": ", ".join(results) or f"I have nothing to calculate in: {task}"}


class Model(BaseHTTPRequestHandler):
    """Answers `POST /chat` with the next message, and with the number of tokens that it read and wrote."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = reply(asked["model"], asked["messages"])
        words = " ".join([*(one["content"] for one in asked["messages"]), *said.values()])
        body = json.dumps({"message": said, "tokens": len(words.split())}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


# -- the agent


def calculate(text: str) -> int:
    """The tool of the agent. It knows numbers, `+`, `-` and `*`, and runs nothing else."""

    def value(node: ast.AST) -> int:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return int(_OPERATORS[type(node.op)](value(node.left), value(node.right)))
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        raise ValueError(f"not a sum: {text}")

    return value(ast.parse(text, mode="eval").body)


class Agent:
    def __init__(self, url: str, model: str, task: str) -> None:
        self.tokens = 0
        self._url = url
        self._model = model
        self._messages = [{"role": "user", "content": task}]
        self._usage = os.fdopen(int(os.environ["TENAX_USAGE_FD"]), "w", buffering=1)

    def work(self) -> dict[str, Any]:
        """Returns what goes into the result file."""
        for _ in range(MOST_TURNS):
            said = self._ask()
            if "answer" in said:
                return {"status": "completed", "output": {"answer": said["answer"], "model": self._model}}
            if "give_up" in said:
                return {"status": "failed", "error": said["give_up"]}
            self._messages += [
                {"role": "assistant", "content": f"{said['call']}({said['argument']})"},
                {"role": "tool", "content": str(calculate(said["argument"]))},
            ]
        return {"status": "failed", "error": f"no answer after {MOST_TURNS} turns"}

    def _ask(self) -> dict[str, str]:
        body = json.dumps({"model": self._model, "messages": self._messages}).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self._url}/chat", body)) as answer:  # noqa: S310
            said = json.load(answer)
        self.tokens += said["tokens"]
        print(json.dumps(self.usage), file=self._usage)
        return dict(said["message"])

    @property
    def usage(self) -> dict[str, float]:
        return {"tokens": self.tokens, "cost_usd": round(self.tokens * PRICES[self._model], 6)}


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    task = Path(os.environ["TENAX_PROMPT_FILE"]).read_text("utf-8")
    agent = Agent(f"http://127.0.0.1:{server.server_port}", os.environ["TENAX_MODEL"] or "small", task)
    result = agent.work() | {"usage": agent.usage}
    Path(os.environ["TENAX_OUTBOX"], "task.txt").write_text(task, "utf-8")
    Path(os.environ["TENAX_RESULT_FILE"]).write_text(json.dumps(result), "utf-8")


if __name__ == "__main__":
    main()
