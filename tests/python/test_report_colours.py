"""Contrasts of the report pages' colours, light and dark, as WCAG 2.1 computes and demands them: 4.5 for text (1.4.3),
3 for what is needed to understand a chart (1.4.11)."""

import re

import pytest
from conftest import SOURCE

TEXT, GRAPHICS = 4.5, 3.0
CSS = (SOURCE / "client" / "report" / "page.css").read_text()
REGIONS = [f"region-{n}" for n in range(6)]
OUTCOMES = [f"outcome-{n}" for n in range(8)]


def variables(text):
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})\b", text))


LIGHT = variables(re.search(r":root \{(.*?)\n\}", CSS, re.S).group(1))
DARK = LIGHT | variables(re.search(r"prefers-color-scheme: dark\) \{(.*?)\n\}", CSS, re.S).group(1))


def channels(colour):
    return [int(colour[n:n + 2], 16) / 255 for n in (1, 3, 5)]


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour, ground, opacity=1.0):
    """Of `colour`, so far opaque, on `ground`."""
    on, below = channels(colour), channels(ground)
    light, dark = sorted((luminance([opacity * c + (1 - opacity) * b for c, b in zip(on, below)]), luminance(below)),
                         reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_definition():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#000000", "#ffffff", opacity=0) == pytest.approx(1)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read(colours):
    pairs = [(ink, ground) for ink in ("ink", "soft", "accent") for ground in ("paper", "card", "code")]
    pairs += [("region-ink", ground) for ground in (*REGIONS, "core")]
    weak = {pair: value for pair in pairs if (value := contrast(*map(colours.get, pair))) < TEXT}
    assert not weak


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_charts_can_be_read(colours):
    weak = {name: value for name in ("accent", "mark", "bad", "soft", "ink", "point", *OUTCOMES)
            if (value := contrast(colours[name], colours["card"])) < GRAPHICS}
    # Few points are seen one by one; of many it is the cloud that says something.
    few = float(re.search(r"\.points\.few \{[^}]*opacity: ([.\d]+)", CSS).group(1))
    if (value := contrast(colours["point"], colours["card"], few)) < GRAPHICS:
        weak["few points"] = value
    assert not weak


def test_every_colour_that_is_used_is_defined():
    used = set(re.findall(r"var\(--([\w-]+)\)", CSS))
    for script in (SOURCE / "client" / "report").glob("*.js"):
        used |= set(re.findall(r"var\(--([\w-]+)\)", script.read_text()))
    assert used - set(LIGHT) <= {"band"}  # the only one that lets through what is below
