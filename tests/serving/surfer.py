"""Somebody with a browser that has no script: it keeps cookies, reads forms, and sends them."""

from __future__ import annotations

import http.client
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urlencode

from serving.served import WITHIN, Served


class Form(NamedTuple):
    """A form of a page: where it goes, and what its fields hold."""

    action: str
    fields: dict[str, str]


class Shown(NamedTuple):
    """What came back."""

    status: int
    headers: list[tuple[str, str]]
    text: str

    def header(self, name: str) -> str:
        return dict(self.headers).get(name, "")

    def forms(self) -> list[Form]:
        reader = _Forms()
        reader.feed(self.text)
        return reader.found

    def form(self, action: str) -> Form:
        (found,) = [form for form in self.forms() if form.action.endswith(action)]
        return found


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.found.append(Form(given.get("action") or "", {}))
        elif tag in ("input", "select") and self.found and given.get("type") != "checkbox":
            self.found[-1].fields[given.get("name") or ""] = given.get("value") or ""


class Surfer:
    """A browser without a script. ``cookies`` may be looked at and spoilt."""

    def __init__(self, served: Served) -> None:
        self._port = served.port
        self.cookies: dict[str, str] = {}

    def send(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Shown:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=WITHIN)
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            connection.request(method, path, body, {"Cookie": cookie, **(headers or {})})
            answer = connection.getresponse()
            shown = Shown(answer.status, [(k.lower(), v) for k, v in answer.getheaders()], answer.read().decode())
        finally:
            connection.close()
        for name, value in shown.headers:
            if name == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0].strip('"')
        return shown

    def get(self, path: str) -> Shown:
        """Get a page, wherever it leads to."""
        shown = self.send("GET", path)
        while shown.status == 303:
            shown = self.send("GET", shown.header("location"))
        return shown

    def post(self, form: Form, **typed: str) -> Shown:
        """Send a form with what is typed, and go where it leads to."""
        shown = self.submit(form.action, {**form.fields, **typed})
        return self.get(shown.header("location")) if shown.status == 303 else shown

    def submit(self, action: str, fields: dict[str, str]) -> Shown:
        return self.send("POST", action, urlencode(fields).encode())

    def log_in(self, key: str) -> Shown:
        return self.post(self.get("/ui/login").form("/ui/login"), key=key)
