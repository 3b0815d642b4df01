# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG text for a page that opens alone: colours are classes of the page, all text is escaped here."""
import html
import math
import re

WIDTH, HEIGHT = 620, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 18, 14, 46


# What no XML may hold, and what turns the direction of the text around it.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def text(value):
    return html.escape(UNSEEN.sub("\ufffd", str(value)), quote=True)


def short(value):
    """1234567 -> "1.23M"; three digits that count."""
    if value == 0 or (value == int(value) and abs(value) < 1e4):
        return f"{value:.0f}"
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


class Axis:
    """Values of one direction onto pixels."""

    def __init__(self, values, first, last, log=0, zero=False, tight=False):
        """log: the base of the ticks (2 or 10), 0 for linear; zero: begins there; tight: ends at the last value."""
        values = [v for v in values if v is not None and math.isfinite(v) and (v > 0 or not log)]
        low, high = (min(values), max(values)) if values else (1, 2)
        self.first, self.last, self.log = first, last, log
        if log:
            self.low = log ** math.floor(math.log(low, log) + 1e-9)
            self.high = log ** math.ceil(math.log(high, log) - 1e-9)
            if self.low == self.high:
                self.high *= log
        else:
            self.low = 0 if zero else low
            self.high = high if high > self.low else self.low + 1
            self.step = self.round_step((self.high - self.low) / 5)
            if not tight:
                self.high = math.ceil(self.high / self.step - 1e-9) * self.step

    @staticmethod
    def round_step(rough):
        power = 10 ** math.floor(math.log10(rough))
        return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)

    def at(self, value):
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.first + min(max(share, 0), 1) * (self.last - self.first)

    def ticks(self):
        if self.log:
            n = round(math.log(self.high / self.low, self.log))
            each = max(1, math.ceil(n / 8))
            return [self.low * self.log ** i for i in range(0, n + 1, each)]
        return [self.low + self.step * i for i in range(math.floor((self.high - self.low) / self.step + 1e-9) + 1)]


class Plot:
    def __init__(self, title, x_label, y_label, x, y):
        """x, y: (values, log base, begins at zero) that the axes have to hold."""
        self.title, self.labels = title, (x_label, y_label)
        self.parts, self.notes, self.legend_items = [], [], []
        self.x = Axis(x[0], LEFT, WIDTH - RIGHT, x[1], x[2], tight=True)
        self.y = Axis(y[0], HEIGHT - BOTTOM, TOP, y[1], y[2])

    def add(self, part):
        self.parts.append(part)

    def line(self, points, colour, dashed=False):
        pixels = " ".join(f"{self.x.at(a):.1f},{self.y.at(b):.1f}" for a, b in points)
        self.add(f'<polyline class="line {colour}{" dashed" if dashed else ""}" points="{pixels}"/>')

    def point(self, a, b, colour, said, hollow=False):
        self.add(f'<circle class="dot {colour}{" hollow" if hollow else ""}" cx="{self.x.at(a):.1f}" '
                 f'cy="{self.y.at(b):.1f}" r="3.5"><title>{text(said)}</title></circle>')

    def whisker(self, a, low, high, colour):
        at = self.x.at(a)
        self.add(f'<path class="whisker {colour}" d="M{at:.1f} {self.y.at(low):.1f}V{self.y.at(high):.1f}"/>')

    def note(self, a, b, words, anchor="start"):
        """On top of all else."""
        x = min(max(self.x.at(a), LEFT + 4), WIDTH - RIGHT - 4)
        self.notes.append(f'<text class="note" x="{x:.1f}" y="{self.y.at(b) - 5:.1f}" text-anchor="{anchor}">'
                          f'{text(words)}</text>')

    def legend(self, colour, words, hollow=False):
        self.legend_items.append(key(colour, words, hollow))

    def axes(self):
        for v in self.y.ticks():
            y = self.y.at(v)
            yield f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
            yield f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{short(v)}</text>'
        for v in self.x.ticks():
            x = self.x.at(v)
            yield f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
            yield f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{short(v)}</text>'
        yield f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>'
        yield (f'<text class="label" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
               f'{text(self.labels[0])}</text>')
        middle = (TOP + HEIGHT - BOTTOM) / 2
        yield (f'<text class="label" x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">'
               f'{text(self.labels[1])}</text>')

    def figure(self, caption=""):
        inside = "".join([*self.axes(), *self.parts, *self.notes])
        legend = f'<p class="legend">{"".join(self.legend_items)}</p>' if self.legend_items else ""
        caption = f"<p>{text(caption)}</p>" if caption else ""
        return (f'<figure><figcaption>{text(self.title)}</figcaption>{legend}'
                f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(self.title)}">{inside}</svg>'
                f'{caption}</figure>')


def spread(values):
    """(min, median, max)"""
    values = sorted(values)
    middle = len(values) // 2
    return values[0], values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2, values[-1]


def series(title, x_label, y_label, points, x_log=2, unit="", reference=None, y_zero=True):
    """One quantity over another: points are (x, (min, median, max)); reference is (words, [(x, y)…])."""
    line = reference[1] if reference else []
    plot = Plot(title, x_label, y_label, ([x for x, _ in points], x_log, True),
                ([y for _, s in points for y in s] + [y for _, y in line], 0, y_zero))
    if reference:
        plot.line(line, "c1", dashed=True)
        plot.legend("c0", "measured: median, min to max")
        plot.legend("c1", reference[0])
    plot.line([(x, s[1]) for x, s in points], "c0")
    for x, s in points:
        plot.whisker(x, s[0], s[2], "c0")
        plot.point(x, s[1], "c0", f"{x}: {s[0]:.4g} {s[1]:.4g} {s[2]:.4g} {unit}")
    return plot


ROW, NAMES, SIDE = 24, 110, 60          # pixels: a line of a figure of rows, its words, what is left free


def rows_figure(title, unit, names, values, draw, legend=""):
    """A line for each name; draw(axis, i, y) makes its marks.  From zero, so that lengths compare."""
    axis = Axis(values, NAMES, WIDTH - SIDE, zero=True, tight=True)
    foot = ROW * len(names)
    parts = [f'<path class="grid" d="M{axis.at(v):.1f} 0V{foot}"/><text class="tick" x="{axis.at(v):.1f}" y="{foot + 14}" '
             f'text-anchor="middle">{short(v)}</text>' for v in axis.ticks()]
    for i, name in enumerate(names):
        y = ROW * (i + 0.5)
        parts.append(f'<text class="label" x="{NAMES - 8}" y="{y + 4:.1f}" text-anchor="end">{text(name[:16])}</text>')
        parts.append(draw(axis, i, y))
    parts.append(f'<path class="axis" d="M{NAMES} 0V{foot}H{WIDTH - SIDE}"/><text class="label" '
                 f'x="{(NAMES + WIDTH - SIDE) / 2}" y="{foot + 31}" text-anchor="middle">{text(unit)}</text>')
    return (f'<figure><figcaption>{text(title)}</figcaption>{legend}<svg viewBox="0 0 {WIDTH} {foot + 34}" role="img" '
            f'aria-label="{text(title)}">{"".join(parts)}</svg></figure>')


def dots(title, unit, groups):
    """Variants side by side: groups are (name, (min, median, max))."""
    def draw(axis, i, y):
        name, s = groups[i]
        low, middle, high = (axis.at(v) for v in s)
        said = text(f"{name}: {s[0]:.4g} {s[1]:.4g} {s[2]:.4g} {unit}")
        return (f'<path class="stem c0" d="M{NAMES} {y:.1f}H{middle:.1f}"/>'
                f'<path class="whisker ink" d="M{low:.1f} {y:.1f}H{high:.1f}M{low:.1f} {y - 5:.1f}v10M{high:.1f} {y - 5:.1f}v10"/>'
                f'<circle class="dot c0" cx="{middle:.1f}" cy="{y:.1f}" r="4.5"><title>{said}</title></circle>'
                f'<text class="note" x="{high + 8:.1f}" y="{y + 4:.1f}">{short(s[1])}</text>')
    return rows_figure(title, unit, [name for name, _ in groups], [v for _, s in groups for v in s], draw)


def key(colour, words, hollow=False):
    return (f'<span><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><circle class="dot {colour}'
            f'{" hollow" if hollow else ""}" cx="5" cy="5" r="4"/></svg>{text(words)}</span>')


def many_dots(title, unit, groups, colours):
    """Several values of each name in one line: groups are (name, {key: value}), colours {key: class}."""
    def draw(axis, i, y):
        name, found = groups[i]
        return f'<path class="grid" d="M{NAMES} {y:.1f}H{WIDTH - SIDE}"/>' + "".join(
            f'<circle class="dot {colours[k]}" cx="{axis.at(v):.1f}" cy="{y:.1f}" r="4.5"><title>'
            f'{text(f"{name}, {k}: {v:.4g} {unit}")}</title></circle>' for k, v in found.items())
    legend = f'<p class="legend">{"".join(key(colour, k) for k, colour in colours.items())}</p>'
    return rows_figure(title, unit, [name for name, _ in groups], [v for _, f in groups for v in f.values()], draw, legend)
