"""The pages of `mdh report` in a headless Chromium: wide and narrow, light and dark.

Skipped where there is no Chromium. MDH_REPORT_PICTURES: a folder for pictures of all pages.
"""

import contextlib
import os
import pathlib
import subprocess
import tempfile

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


@contextlib.contextmanager
def make_pages():
    """A folder with all pages."""
    folder = os.environ.get("MDH_BIN")
    program = pathlib.Path(folder or "/nonexistent").parent / "tests" / "report_pages"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    with tempfile.TemporaryDirectory(prefix="mdh-pages-") as pages:
        subprocess.run([program, pages], check=True)
        yield pathlib.Path(pages)


@pytest.fixture(scope="module")
def pages():
    with make_pages() as pages:
        yield pages


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


# Boxes of texts on the screen, and points of paths, as functions of the scripts below.
GEOMETRY = """
  const boxes = root => [...root.querySelectorAll('text.halo')].map(t => [t.textContent, t.getBoundingClientRect()]);
  const onScreen = (svg, [x, y]) => { const p = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM()); return [p.x, p.y]; };
  const holds = (box, [x, y]) => x > box.left && x < box.right && y > box.top + 2 && y < box.bottom - 2;
"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["job", "runs", "gpu"])
def test_labels_of_the_roofline_lie_on_no_points(browser, pages, name, width):
    browser.open(f"file://{pages / name}.html", width)
    covered = f"""(() => {{ {GEOMETRY}
      const svg = document.querySelector('svg[aria-label=roofline]');
      const points = svg.querySelector('.points').getAttribute('d').match(/M[^h]+/g).map(
          m => onScreen(svg, m.slice(1).split(' ').map(Number)));
      return boxes(svg).filter(([, box]) => points.some(p => holds(box, p))).map(([text]) => text); }})()"""
    assert browser.evaluate(covered) == []
    # One roof: that of the type that is computed with.
    assert browser.evaluate("[...document.querySelectorAll('svg[aria-label=roofline] text')]"
                            ".filter(t => t.textContent.includes('peak')).length") == 1


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", ["job", "runs", "gpu"])
def test_every_line_of_the_convergence_has_a_label(browser, pages, name, width):
    browser.open(f"file://{pages / name}.html", width)
    charts = f"""(() => {{ {GEOMETRY}
      return [...document.querySelectorAll('svg[aria-label$="best time so far"]')].map(svg => {{
        const labels = boxes(svg), meet = (a, b) => a.top < b.bottom - 3 && b.top < a.bottom - 3;
        return [svg.querySelectorAll('.reference').length, labels.length,
                labels.filter(([, a], n) => labels.some(([, b], m) => n < m && meet(a, b))).length]; }}); }})()"""
    for lines, labels, overlaps in browser.evaluate(charts):
        assert lines == labels > 1 and overlaps == 0
    # The sample's curve ends at another time than its record has.
    assert browser.evaluate("document.body.textContent.includes('result, measured again: 79.1')")


@pytest.mark.parametrize("name", ["job", "gpu"])
def test_the_decomposition_can_be_read(browser, pages, name):
    browser.open(f"file://{pages / name}.html", 1280)
    crossed = f"""(() => {{ {GEOMETRY}
      const svg = document.querySelector('svg[aria-label^="de- and re"]'), labels = boxes(svg);
      const crossed = new Set();
      for (const path of svg.querySelectorAll('.zoom')) {{
        for (const line of path.getAttribute('d').match(/M[^M]+/g)) {{
          const [from, to] = line.slice(1).split('L').map(p => p.split(' ').map(Number));
          for (let n = 0; n <= 20; ++n) {{
            const at = onScreen(svg, [0, 1].map(k => from[k] + (to[k] - from[k]) * n / 20));
            for (const [text, box] of labels) if (holds(box, at)) crossed.add(text);
          }}
        }}
      }}
      return [...crossed]; }})()"""
    assert browser.evaluate(crossed) == []
    # The legend has the colours that occur, and says what they stand for.
    drawn, legend, texts = browser.evaluate("""(() => {
      const fills = [...document.querySelectorAll('.tile-edge, .tile-first')].map(e => e.style.fill).filter(f => f.includes('region'));
      const key = document.querySelector('.scroll:has(svg[aria-label^="de- and re"])').parentElement.querySelector('.key');
      return [[...new Set(fills)].sort(), [...key.querySelectorAll('i')].map(i => i.style.background).filter(f => f.includes('region')).sort(),
              key.textContent]; })()""")
    assert drawn == legend
    assert "main memory" in texts or "device memory" in texts


def test_the_bars_say_what_they_are(browser, pages):
    browser.open(f"file://{pages / 'job'}.html", 1280)
    bars = "document.querySelectorAll('svg[aria-label^=\"variance explained\"] .bar').length"
    assert 1 <= browser.evaluate(bars) <= 6
    assert browser.evaluate("document.body.textContent.includes('bars do not add up to 100')")


def test_figures_that_say_nothing_are_left_out(browser, pages):
    browser.open(f"file://{pages / 'empty'}.html", 1280)
    assert browser.evaluate("document.body.textContent.includes(\"asked for bya user of the daemon's machine\")")
    browser.open(f"file://{pages / 'cache'}.html", 1280)
    assert browser.evaluate("document.body.textContent.includes('> 100')")
    # Two calls make no histogram.
    browser.evaluate("""(() => { const data = JSON.parse(document.getElementById('data').textContent);
      data.lookups.outcomes.forEach((o, n) => { o.count = n === 0 ? 2 : 0; });
      data.lookups.latencies.forEach((l, n) => { l.calls = n === 4 ? 2 : 0; });
      drawCachePage(data); })()""")
    assert browser.evaluate("document.body.textContent.includes('2 found; replies were ready within 16')")
    assert browser.evaluate("document.querySelectorAll('.chart').length") == 1


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
