"""The pages in a real browser: Chromium, with its script, its Content-Security-Policy and its keyboard."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from extras import needed
from serving.served import Served

playwright = needed("playwright.sync_api")

CHROMIUM = Path("/usr/bin/chromium")
QUIET = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
WITHIN = 60_000  # milliseconds, on a machine with much else to do
ROLES = ("administrator", "statistician", "site", "auditor")
TRIAL = "/ui/trials/pilot"
EVIL = [
    "<script>window.struck=1</script>",
    "\"><img src=x onerror='window.struck=1'>",
    "\u202egnp.exe",
    "nul\x00nul",
    "=cmd|' /C calc'!A0",
    "'; DROP TABLE records;--",
    "../../etc/passwd",
    "a/b?c#d&e%20%3Cscript%3E",
    "{{ 7 * 7 }}",
    "javascript:window.struck=1",
]


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with one trial."""
    for module in ("starlette", "jinja2", "uvicorn"):
        needed(module)
    service = Served(tmp_path_factory.mktemp("browser"), behind_proxy=False)
    service.create("pilot")
    yield service
    service.stop()


@pytest.fixture(scope="module")
def keys_of_single(single: Served) -> dict[str, str]:
    place = {"site": {"trial": "pilot", "site": "north"}}
    return {role: single.new_key(role, f"the {role}", **place.get(role, {})) for role in ROLES}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists() and not os.environ.get("CI"):
        pytest.skip(f"there is no {CHROMIUM}")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=str(CHROMIUM), args=QUIET)
        yield found
        found.close()


class Watched:
    """A tab of which everything is noted that should not be: errors, dialogs, violations of the policy."""

    def __init__(self, browser: Any, address: str, width: int) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 844}, base_url=address)
        self.context.set_default_timeout(WITHIN)
        self.wrong: list[str] = []
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("dialog", self._dismiss)
        self.page.on("console", self._note)

    def _dismiss(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _note(self, message: Any) -> None:
        if message.type in ("error", "warning") and "status of 4" not in message.text:  # a refused form has a status
            self.wrong.append(f"console: {message.text}")

    def log_in(self, key: str) -> Any:
        self.page.goto("/ui/login")
        self.page.get_by_label("Your key").fill(key)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url("**/ui/trials**")
        return self.page

    def wide(self) -> int:
        found: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return found


@pytest.fixture
def tab(browser: Any, single: Served) -> Iterator[Callable[..., Watched]]:
    """Open tabs. At the end none of them may have seen anything wrong."""
    opened: list[Watched] = []

    def open_tab(width: int = 1280, service: Served = single) -> Watched:
        opened.append(Watched(browser, f"http://127.0.0.1:{service.port}", width))
        return opened[-1]

    yield open_tab
    for each in opened:
        each.context.close()
    assert [wrong for each in opened for wrong in each.wrong] == []


@pytest.mark.parametrize(
    ("role", "place", "heading"),
    [
        ("statistician", "", "Overview"),
        ("administrator", "", "Overview"),
        ("site", "/bedside", "Bedside"),
        ("auditor", "/integrity", "Integrity"),
    ],
)
def test_each_role_is_at_its_page_one_click_after_the_key(
    tab: Callable[..., Watched], keys_of_single: dict[str, str], role: str, place: str, heading: str
) -> None:
    page = tab().log_in(keys_of_single[role])

    assert page.url.endswith(TRIAL + place)
    assert page.get_by_role("heading", level=1).inner_text().startswith(heading)
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/ui/login")
    page.goto(TRIAL)
    assert page.url.endswith("/ui/login")


def test_a_wrong_key_is_told_and_focused(tab: Callable[..., Watched]) -> None:
    page = tab().page
    page.goto("/ui/login")
    page.get_by_label("Your key").fill("dtrb_wrong")
    page.get_by_role("button", name="Log in").click()

    alert = page.get_by_role("alert")
    playwright.expect(alert).to_be_focused()
    assert "No valid key" in alert.inner_text()


def test_a_nurse_enrols_with_errors_shown_and_a_double_click(
    tab: Callable[..., Watched], single: Served, keys_of_single: dict[str, str]
) -> None:
    page = tab(390).log_in(keys_of_single["site"])
    page.get_by_label("Unit id").fill("N-1")
    page.get_by_label("x", exact=True).fill("1,5")
    page.get_by_role("button", name="Enrol").click()
    playwright.expect(page.get_by_role("alert")).to_be_focused()
    kept = page.get_by_label("Unit id").input_value(), page.get_by_label("x", exact=True).input_value()
    described = page.get_by_label("x", exact=True).get_attribute("aria-invalid")
    page.get_by_label("x", exact=True).fill("1.5")
    before = single.records("/trials/pilot")
    page.get_by_role("button", name="Enrol").dblclick()
    page.wait_for_url("**/unit?id=N-1*")

    arm = single.get("/trials/pilot/units/N-1").json["arms"]["first"]
    assert kept == ("N-1", "1,5")
    assert described == "true"
    assert page.locator(".give .now strong").inner_text() == arm
    assert single.records("/trials/pilot") == before + 2


def test_strange_ids_are_shown_as_they_are_and_nothing_runs(
    tab: Callable[..., Watched], single: Served, keys_of_single: dict[str, str]
) -> None:
    """F8. What the service refuses cannot be shown; what it takes is escaped."""
    taken = [
        unit for unit in EVIL if single.post("/trials/pilot/units", {"unit": unit, "context": {"x": 1.0}}).status == 200
    ]
    watched = tab()
    page = watched.log_in(keys_of_single["administrator"])

    for path in ("/units", "/integrity", "/bedside", "", "/outcomes"):
        page.goto(TRIAL + path)
        assert page.evaluate("window.struck") is None
    for number in range(len(taken)):
        page.goto(f"{TRIAL}/units")
        links = page.locator("table.list tbody th a")
        text = links.nth(number).inner_text()
        links.nth(number).click()
        page.wait_for_url("**/unit?id=*")
        assert page.get_by_role("heading", level=1).inner_text() == f"Unit {text}"
        assert "\u202e" not in page.content()
        assert page.evaluate("window.struck") is None
    assert len(taken) >= 5


def test_a_strange_id_that_is_typed_comes_back_as_it_was(
    tab: Callable[..., Watched], keys_of_single: dict[str, str]
) -> None:
    page = tab().log_in(keys_of_single["site"])
    page.get_by_label("Unit id").fill(EVIL[1])
    page.get_by_role("button", name="Enrol").click()
    playwright.expect(page.get_by_role("alert")).to_be_visible()

    assert page.get_by_label("Unit id").input_value() == EVIL[1]
    assert page.evaluate("window.struck") is None


def test_numbers_move_by_themselves_when_a_unit_enrols(
    tab: Callable[..., Watched], single: Served, keys_of_single: dict[str, str]
) -> None:
    page = tab().log_in(keys_of_single["statistician"])
    playwright.expect(page.locator("#freshness")).to_contain_text("follows the log", timeout=WITHIN)
    page.get_by_text("The numbers").first.click()
    tile = page.locator(".tiles dd").first
    before = int(tile.inner_text().replace(",", ""))

    single.post("/trials/pilot/units", {"unit": "live-1", "context": {"x": 0.5}})
    single.post("/trials/pilot/units", {"unit": "live-2", "context": {"x": 0.5}})

    playwright.expect(tile).to_have_text(str(before + 2), timeout=WITHIN)
    playwright.expect(page.locator("#freshness")).to_contain_text("Up to date", timeout=WITHIN)
    assert page.locator("#charts details").first.get_attribute("open") is not None


def test_a_key_is_enough_without_a_mouse(tab: Callable[..., Watched], keys_of_single: dict[str, str]) -> None:
    page = tab().page
    page.goto("/ui/login")
    page.keyboard.press("Tab")
    skip = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "key"
    page.keyboard.type(keys_of_single["site"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/bedside")
    page.get_by_label("Unit id").focus()
    page.keyboard.type("K-1")
    page.keyboard.press("Tab")
    page.keyboard.type("0.5")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    page.keyboard.press("Enter")
    page.wait_for_url("**/unit?id=K-1*")

    assert skip == "Skip to the content"
    assert outline == "solid"
    assert page.get_by_role("status").first.inner_text() == "Enrolled, and on record."


@pytest.mark.parametrize("role", ROLES)
def test_a_phone_shows_every_page_without_scrolling_sideways(
    tab: Callable[..., Watched], single: Served, keys_of_single: dict[str, str], role: str
) -> None:
    single.post("/trials/pilot/units", {"unit": "wide" * 40, "context": {"x": 0.5}, "site": "north"})
    watched = tab(390)
    page = watched.log_in(keys_of_single[role])
    pages = [link.get_attribute("href") for link in page.locator("nav a").all()]

    for path in [*pages, f"{TRIAL}/unit?id={'wide' * 40}"]:
        page.goto(path)
        assert watched.wide() == 0, path


def test_every_field_has_a_label_and_every_page_one_heading_of_the_first_rank(
    tab: Callable[..., Watched], keys_of_single: dict[str, str]
) -> None:
    page = tab().log_in(keys_of_single["administrator"])

    for path in ("", "/allocation", "/outcomes", "/learning", "/bedside", "/units", "/integrity"):
        page.goto(TRIAL + path)
        bare = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]), select')].filter(e => !e.labels.length).length"
        )
        assert bare == 0
        assert page.get_by_role("heading", level=1).count() == 1
        assert page.locator("html").get_attribute("lang") == "en"
        twice = page.evaluate(
            "(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(e => e.id))"
        )
        assert twice == 0


# -- a trial that is locked while pages are open -----------------------------------------------------------------


def lock(served: Served, trial: str) -> None:
    assert served.post(f"/trials/{trial}/lock", {"reason": "approved"}).status == 200


def test_a_form_that_was_opened_in_rehearsal_and_is_sent_after_the_lock_is_refused(
    tab: Callable[..., Watched], served: Served, trial: str, keys: dict[str, str]
) -> None:
    """The page is not told of the lock, as when the form is sent in the same moment."""
    watched = tab(390, served)
    watched.page.route("**/events", lambda route: route.fulfill(status=204))
    page = watched.log_in(keys["site"])
    page.get_by_label("Unit id").fill("TEST-1")
    page.get_by_label("x", exact=True).fill("0.5")

    lock(served, trial)
    page.get_by_role("button", name="Enrol").click()
    playwright.expect(page.get_by_role("heading", level=1)).to_have_text("This form was opened in the rehearsal")

    assert "The trial was locked at 20" in page.get_by_role("alert").inner_text()
    assert page.locator("#banner strong").inner_text() == "LIVE"
    assert served.records(f"/trials/{trial}") == 1
    assert watched.wide() == 0
    page.get_by_role("link", name="Open the form anew").click()
    page.wait_for_url("**/bedside")
    page.get_by_label("Unit id").fill("REAL-1")
    page.get_by_label("x", exact=True).fill("0.5")
    page.get_by_role("button", name="Enrol").click()
    page.wait_for_url("**/unit?id=REAL-1*")
    assert served.records(f"/trials/{trial}") == 3


def test_a_nurses_open_form_is_told_of_the_lock_and_keeps_what_was_typed(
    tab: Callable[..., Watched], served: Served, trial: str, keys: dict[str, str]
) -> None:
    served.post(f"/trials/{trial}/units", {"unit": "old", "context": {"x": 0.5}, "site": "north"})
    page = tab(390, served).log_in(keys["site"])
    note, button = page.locator("form [data-outdated]"), page.get_by_role("button", name="Enrol")
    page.get_by_label("Unit id").fill("TEST-1")
    before = page.locator("#banner strong").inner_text(), page.title(), note.is_visible(), button.is_enabled()

    lock(served, trial)
    playwright.expect(page.locator("#banner strong")).to_have_text("LIVE", timeout=WITHIN)
    playwright.expect(page.locator("#list")).to_contain_text("Nobody", timeout=WITHIN)

    assert before == ("REHEARSAL", "Bedside · dtrbandit · REHEARSAL", False, True)
    assert page.title() == "Bedside · dtrbandit · LIVE"
    assert page.get_by_label("Unit id").input_value() == "TEST-1"
    assert "This form was opened in the rehearsal" in note.inner_text()
    assert button.is_disabled()
    note.get_by_role("link").click()
    playwright.expect(button).to_be_enabled()
    assert page.locator("[data-outdated]").count() == 0


def test_the_page_of_a_unit_of_the_rehearsal_does_not_pass_for_one_of_the_live_trial(
    tab: Callable[..., Watched], served: Served, trial: str, keys: dict[str, str]
) -> None:
    served.post(f"/trials/{trial}/units", {"unit": "u1", "context": {"x": 0.5}, "site": "north"})
    page = tab(390, served).log_in(keys["site"])
    page.get_by_role("link", name="u1").click()
    page.wait_for_url("**/unit?id=u1")

    lock(served, trial)
    playwright.expect(page.locator("#banner strong")).to_have_text("LIVE", timeout=WITHIN)

    assert "the arms below are not those of the live trial" in page.locator("main > [data-outdated]").inner_text()
    assert "line-through" in page.locator(".give strong").evaluate("e => getComputedStyle(e).textDecoration")
    assert page.locator("[data-once] button:enabled").count() == 0


def test_a_readers_open_page_follows_the_trial_from_rehearsal_to_live_to_its_end(
    tab: Callable[..., Watched], served: Served, trial: str, keys: dict[str, str]
) -> None:
    served.post(f"/trials/{trial}/units", {"unit": "old", "context": {"x": 0.5}})
    page = tab(1280, served).log_in(keys["statistician"])
    page.goto(f"/ui/trials/{trial}")
    word, tile = page.locator("#banner strong"), page.locator(".tiles dd").first
    playwright.expect(page.locator("#freshness")).to_have_text("This page follows the log", timeout=WITHIN)
    before = word.inner_text(), tile.inner_text()

    lock(served, trial)
    playwright.expect(word).to_have_text("LIVE", timeout=WITHIN)
    playwright.expect(tile).to_have_text("0", timeout=WITHIN)
    served.post(f"/trials/{trial}/end", {"reason": "complete"})
    playwright.expect(word).to_have_text("ENDED", timeout=WITHIN)
    playwright.expect(page.locator("#numbers")).to_contain_text("Ended: complete", timeout=WITHIN)

    assert before == ("REHEARSAL", "1")
    assert "live" not in page.locator("#freshness").inner_text().lower()


def test_a_page_that_was_out_of_view_when_the_trial_was_locked_says_so_when_it_is_seen_again(
    tab: Callable[..., Watched], served: Served, trial: str, keys: dict[str, str]
) -> None:
    watched = tab(1280, served)
    with watched.page.expect_response("**/events"):
        page = watched.log_in(keys["site"])
    turn = "hidden => {{ Object.defineProperty(document, 'hidden', {{ value: hidden, configurable: true }}); {} }}"
    turn = turn.format("document.dispatchEvent(new Event('visibilitychange'))")
    word = page.locator("#banner strong")

    with page.expect_event("requestfailed", lambda request: request.url.endswith("/events")):
        page.evaluate(turn, True)  # its stream ends
    lock(served, trial)
    before = word.inner_text()
    page.evaluate(turn, False)
    playwright.expect(word).to_have_text("LIVE", timeout=WITHIN)

    assert before == "REHEARSAL"
