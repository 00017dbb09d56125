"""The pages of `mdh report` in a headless Chromium: wide and narrow, light and dark.

Skipped where there is no Chromium. MDH_REPORT_PICTURES: a folder for pictures of all pages.
"""

import os
import pathlib
import subprocess

import pytest

from browser import Browser, find_chromium

PAGES = ("job", "runs", "gpu", "many", "hostile", "empty", "cache", "no_cache")
LOOKS = [(1280, False), (1280, True), (390, False), (390, True)]
LIMIT_S = 2.0


@pytest.fixture(scope="module")
def browser():
    program = find_chromium()
    if program is None:
        pytest.skip("there is no Chromium: Debian's package is chromium")
    with Browser(program) as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = os.environ.get("MDH_BIN")
    program = pathlib.Path(folder or "/nonexistent").parent / "tests" / "report_pages"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    pages = tmp_path_factory.mktemp("pages")
    subprocess.run([program, pages], check=True)
    return pages


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width,dark", LOOKS)
def test_a_page_is_drawn_and_fits(browser, pages, name, width, dark):
    browser.open(f"file://{pages / name}.html", width, dark=dark)
    assert browser.complaints() == []
    assert browser.evaluate("typeof window.hacked") == "undefined"
    assert browser.evaluate("document.querySelectorAll('section').length") >= 3
    # What is wider than the page scrolls within its own box.
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    too_wide = """[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, pre, svg')
        && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""
    assert browser.evaluate(too_wide) == []
    # Every chart has been drawn, and nothing in it has a place that is no number.
    assert browser.evaluate("[...document.querySelectorAll('.chart')].every(c => c.firstChild)")
    assert browser.evaluate("document.querySelector('main').innerHTML.match(/NaN|undefined|Infinity/)") is None
    if pictures := os.environ.get("MDH_REPORT_PICTURES"):
        height = browser.evaluate("document.documentElement.scrollHeight")
        browser.open(f"file://{pages / name}.html", width, height, dark)
        browser.picture(f"{pictures}/{name}-{width}-{'dark' if dark else 'light'}.png")


def test_labels_do_not_run_out_of_their_charts(browser, pages):
    for name in ("job", "runs", "gpu", "cache"):
        for width in (390, 1280):
            browser.open(f"file://{pages / name}.html", width)
            outside = """[...document.querySelectorAll('svg')].flatMap(svg => {
                const box = svg.getBoundingClientRect();
                return [...svg.querySelectorAll('text')].filter(t => { const b = t.getBoundingClientRect();
                    return b.left < box.left - 2 || b.right > box.right + 2; }).map(t => t.textContent); })"""
            assert browser.evaluate(outside) == [], (name, width)


def test_texts_can_be_read(browser, pages):
    """Contrast of at least 4.5 of all text outside of charts, as WCAG 2.1 AA asks."""
    script = """(() => {
      const channel = c => (c /= 255, c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
      const parse = text => text.match(/[\\d.]+/g).map(Number);
      const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
      const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
        if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
      const bad = new Set();
      for (const e of document.querySelectorAll('main *:not(svg *)')) {
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
        const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
        if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) bad.add(e.textContent.slice(0, 40));
      }
      return [...bad]; })()"""
    for dark in (False, True):
        browser.open(f"file://{pages / 'job'}.html", 1280, dark=dark)
        assert browser.evaluate(script) == []


def test_ten_thousand_trials_open_soon(browser, pages):
    page = pages / "many.html"
    assert page.stat().st_size <= 3 << 20
    browser.open(f"file://{page}", 1280)  # once for what the browser itself has to read
    seconds = min(browser.open(f"file://{page}", 1280) for _ in range(3))
    assert seconds <= LIMIT_S


def test_a_point_says_what_it_is(browser, pages):
    browser.open(f"file://{pages / 'job'}.html", 1280)
    text = browser.evaluate("""(() => {
      const svg = document.querySelector('.chart svg'), box = svg.getBoundingClientRect();
      const [x, y] = svg.querySelector('.points').getAttribute('d').match(/M([\\d.]+) ([\\d.]+)/).slice(1).map(Number);
      const unit = box.width / svg.viewBox.baseVal.width;
      svg.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + x * unit, clientY: box.top + y * unit, bubbles: true}));
      return document.getElementById('tip').textContent; })()""")
    assert text.startswith("trial 1: ")
    assert "tile L1 i: " in text


def test_records_can_be_found_and_sorted(browser, pages):
    browser.open(f"file://{pages / 'cache'}.html", 1280)
    rows = "document.querySelectorAll('tbody tr').length"
    assert browser.evaluate(rows) == 60
    browser.evaluate("(() => { const i = document.querySelector('input'); i.value = 'PINNED'; i.dispatchEvent(new Event('input')); })()")
    assert browser.evaluate(rows) == 12
    times = "[...document.querySelectorAll('tbody tr')].map(r => parseFloat(r.cells[3].textContent))"
    browser.evaluate("document.querySelectorAll('th button')[3].click()")
    ascending = browser.evaluate(times)
    assert ascending == sorted(ascending)
    browser.evaluate("document.querySelectorAll('th button')[3].click()")
    assert browser.evaluate(times) == ascending[::-1]
