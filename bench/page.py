# SPDX-License-Identifier: Apache-2.0
"""report.json as one page of HTML that needs nothing else: no network, no script."""
from plot import Plot, dots, many_dots, series, short, spread, text

STYLE = """
:root{color-scheme:light dark;--ink:#1c1f23;--soft:#5c6570;--line:#d5dae0;--page:#fff;--c0:#1f6fb4;--c1:#c2571a;
--c2:#2b8a57;--c3:#8650ad;--c4:#9a7b0a}
@media (prefers-color-scheme:dark){:root{--ink:#e4e7ea;--soft:#9aa4af;--line:#3a4149;--page:#16191c;--c0:#5aa9e6;
--c1:#f0935a;--c2:#5cc28c;--c3:#bd93de;--c4:#d9b93f}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:84rem;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,"DejaVu Sans",sans-serif}
h1{font-size:1.5rem;margin:0 0 .2rem}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}p{margin:.3rem 0;max-width:65rem}
.soft,figure p,.legend{color:var(--soft);font-size:.87rem}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(30rem,100%),1fr));gap:1.5rem 2rem}
.small{margin-top:1rem}
figure{margin:0;min-width:0}figcaption{font-weight:600}
.legend span{margin-right:1.1em;display:inline-block}svg{width:100%;height:auto;display:block}
svg.key{display:inline-block;width:.7em;height:.7em;margin-right:.35em}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.87rem}
th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--soft);font-weight:600}th:first-child,td:first-child,.words td,.words th{text-align:left}
.words td{white-space:normal;overflow-wrap:anywhere}
pre{overflow-x:auto;font-size:.82rem;background:color-mix(in srgb,var(--line) 35%,transparent);padding:.6rem .8rem}
summary{cursor:pointer;margin:.6rem 0}
.grid{stroke:var(--line);stroke-width:1;fill:none;opacity:.6}.axis{stroke:var(--soft);fill:none}
.tick,.note{fill:var(--soft);font-size:11px}.note{paint-order:stroke;stroke:var(--page);stroke-width:3px}.label{fill:var(--ink);font-size:12px}
.stem{stroke-width:7;opacity:.28;fill:none}.line{fill:none;stroke-width:2}.dashed{stroke-dasharray:5 4;stroke-width:1.5}.whisker{stroke-width:1.6;fill:none}
.dot.hollow{fill:var(--page);stroke-width:1.5}
""" + "".join(f".c{i}{{stroke:var(--c{i})}}.dot.c{i}{{fill:var(--c{i})}}.dot.hollow.c{i}{{fill:var(--page)}}" for i in range(5)) + ".ink{stroke:var(--ink)}"

UNITS = {"prefill": "tokens/s", "decode": "tokens/s", "load": "GB/s"}
TITLES = {"levels": "Levels", "pages": "Pages", "pinning": "Workers pinned or not", "placement": "Placement over nodes"}


def table(head, rows, words=False):
    body = "".join("<tr>" + "".join(f"<td>{text(c)}</td>" for c in row) + "</tr>" for row in rows)
    return (f'<div class="scroll"><table{" class=words" if words else ""}><thead><tr>'
            f'{"".join(f"<th>{text(h)}</th>" for h in head)}</tr></thead><tbody>{body}</tbody></table></div>')


def three(values, scale=1.0):
    return " ".join(f"{v * scale:.3g}" for v in values)


# --- the roofline ---

FAMILIES = (("c0", "int8 products"), ("c3", "int16 products"), ("c2", "float products, attention"))


def family(row):
    if row["kernel"] == "attend" or row["activations"] == "f32":
        return "c2"
    return "c3" if row["activations"] == "int16" else "c0"


def named(row):
    shape = f"head dim {row['head_dim']}, {row['tokens']} queries" if row["head_dim"] else f"{row['tokens']} tokens"
    return (f"{row['kernel']} {row['type']} {row['activations']}, {shape}, from {row['from']}: "
            f"{row['macs_per_s'] / 1e9:.1f} GMAC/s, {row['bytes_per_s'] / 1e9:.1f} GB/s, {100 * row['of_roof']:.0f} % of the roof")


def roof(plot, limit, read, words, colour):
    """Up the slant of a memory to a peak, and on."""
    knee = limit / read
    low, high = plot.x.low, plot.x.high
    plot.line([(low, low * read / 1e9), (min(knee, high), min(limit, high * read) / 1e9)], colour, dashed=True)
    plot.note(low * 1.1, low * 1.1 * read / 1e9, words)


def roofline(level, rows):
    rows = [r for r in rows if r["macs"] and r["level"] == level["level"]]
    peaks = (("int8 peak", level["int8_macs_per_s"], "c0"), ("f32 peak", level["f32_macs_per_s"], "c2"))
    plot = Plot(f"Roofline of {level['level']}, one thread", "multiply-adds per byte of weights or of keys and values",
                "GMAC/s", ([r["macs"] / r["bytes"] for r in rows], 10, False),
                ([r["macs_per_s"] / 1e9 for r in rows] + [p / 1e9 for _, p, _ in peaks], 10, False))
    top = max(p for _, p, _ in peaks)
    for place in ("memory", "l2"):
        roof(plot, top, level["read_bytes_per_s"][place],
             f"{'memory' if place == 'memory' else 'L2 cache'} {short(level['read_bytes_per_s'][place] / 1e9)} GB/s", "ink")
    for words, peak, colour in peaks:
        plot.line([(plot.x.low, peak / 1e9), (plot.x.high, peak / 1e9)], colour, dashed=True)
        plot.note(plot.x.low, peak / 1e9, f"{words} {short(peak / 1e9)}")
    for r in rows:
        plot.point(r["macs"] / r["bytes"], r["macs_per_s"] / 1e9, family(r), named(r), r["from"] == "memory")
    for colour, words in FAMILIES:
        plot.legend(colour, words)
    plot.legend("c0", "from memory", hollow=True)
    return plot.figure(f"int8 peak {level['int8_macs_per_cycle']:.0f} multiply-adds per cycle of the measured clock. "
                       "An int16 product takes two int8 ones.")


def types_figures(levels, rows):
    """Levels beside one another, a line for each type of weights."""
    colours = {m["level"]: f"c{i % 5}" for i, m in enumerate(levels)}
    for title, unit, tokens, source, rate in (
            ("Many tokens: 64, weights from the L2 cache", "GMAC/s", 64, "l2", "macs_per_s"),
            ("One token: weights from memory", "GB/s of packed weights", 1, "memory", "bytes_per_s")):
        found = {}
        for r in rows:
            if (r["kernel"], r["tokens"], r["from"]) == ("matmul", tokens, source) and r["activations"] != "int16":
                found.setdefault(r["type"], {})[r["level"]] = r[rate] / 1e9
        if found:
            yield many_dots(title, unit, list(found.items()), colours)


def best_share(rows, level, kernel, place):
    found = [r["of_roof"] for r in rows if (r["level"], r["kernel"], r["from"]) == (level, kernel, place)]
    return f"{100 * min(found):.0f} to {100 * max(found):.0f} %" if found else ""


def kernels_section(kernels):
    if not kernels:
        return ""
    rows, levels = kernels["kernels"], kernels["levels"]
    head = ["level", "int8 GMAC/s", "per cycle", "f32 GMAC/s", "L1 GB/s", "L2 GB/s", "memory GB/s", "products of L2 roof",
            "of memory roof", "attention of L2 roof"]
    limits = [[m["level"], f"{m['int8_macs_per_s'] / 1e9:.1f}", f"{m['int8_macs_per_cycle']:.1f}",
               f"{m['f32_macs_per_s'] / 1e9:.1f}", *(f"{m['read_bytes_per_s'][p] / 1e9:.1f}" for p in ("l1", "l2", "memory")),
               best_share(rows, m["level"], "matmul", "l2"), best_share(rows, m["level"], "matmul", "memory"),
               best_share(rows, m["level"], "attend", "l2")] for m in levels]
    drawn = [m for m in levels if m["level"] != "ref"] or levels
    every = [[r["kernel"], r["type"], r["activations"], r["tokens"] or "", r["head_dim"] or "", r["from"], r["level"],
              three(r["seconds"], 1e6), f"{r['bytes_per_s'] / 1e9:.2f}", f"{r['macs_per_s'] / 1e9:.2f}" if r["macs"] else "",
              f"{100 * r['of_roof']:.0f} %" if r["of_roof"] else "", r["name"]] for r in rows]
    return ("<h2>Kernels</h2>" + table(head, limits)
            + f'<p class="soft">Clock {kernels["clock_hz"] / 1e9:.2f} GHz, by a chain of dependent additions.</p>'
            + f'<div class="figures">{"".join([*(roofline(m, rows) for m in drawn), *types_figures(levels, rows)])}</div>'
            + f"<details><summary>All {len(rows)} measurements</summary>"
            + table(["kernel", "type", "input", "tokens", "head dim", "from", "level", "µs, min median max", "GB/s", "GMAC/s",
                     "of roof", "function"], every) + "</details>")


# --- the engine ---

def rates(point, amount):
    """tokens/s as (min, median, max) from seconds as (min, median, max)."""
    low, middle, high = point["seconds"]
    return amount / high, amount / middle, amount / low


def per_ms(seconds):
    return tuple(1e3 * s for s in seconds)


def prompts_figure(points):
    return series("Prefill over the length of the prompt", "tokens of the prompt", "tokens/s",
                  [(p["tokens"], rates(p, p["tokens"])) for p in points], unit="tokens/s").figure()


def batches_figure(points):
    measured = [(p["batch"], rates(p, p["batch"])) for p in points]
    first_n, first = measured[0]
    top = max(s[2] for _, s in measured)
    ideal = [(n, n / first_n * first[1]) for n, _ in measured if n / first_n * first[1] <= 1.3 * top]
    reference = ("in proportion to the first", ideal) if len(ideal) > 1 else None
    return series("Decode over sequences at once", "sequences", "tokens/s, all together", measured, unit="tokens/s",
                  reference=reference).figure()


def contexts_figure(points):
    base = points[0]
    expected = [(p["context"], 1e3 * (base["seconds"][1] + p["added_bytes_seconds"])) for p in points]
    return series("Latency of a token over the context", "positions that are filled", "ms per token",
                  [(p["context"], per_ms(p["seconds"])) for p in points], x_log=0, unit="ms",
                  reference=("the first, and reading the added keys and values at the read bandwidth", expected)
                  if len(points) > 1 else None).figure()


def usable(points):
    return [p for p in points if p["seconds"][0] > 0]


def sweeps_section(sweeps):
    figures, rows = [], []
    for name, what, draw in (("prompts", "tokens", prompts_figure), ("batches", "batch", batches_figure),
                             ("contexts", "context", contexts_figure)):
        points = usable([p for s in sweeps.values() for p in s.get(name, [])])
        if points:
            figures.append(draw(points))
        rows += [[name, p[what], f"{p['tokens_per_s']:.1f}", three(p["seconds"], 1e3),
                  f"{1e3 * p['added_seconds']:.3f}" if "added_seconds" in p else "",
                  f"{1e3 * p['added_bytes_seconds']:.3f}" if "added_seconds" in p else ""] for p in points]
    if not figures:
        return ""
    return ("<h2>The engine</h2>" + f'<div class="figures">{"".join(figures)}</div>'
            + "<details><summary>The same as a table</summary>"
            + table(["sweep", "at", "tokens/s, best", "ms, min median max", "ms over the first", "ms to read the added bytes"],
                    rows) + "</details>")


def taken(run, what):
    if what == "load":
        return run["load_bytes_per_s"] / 1e9
    return run[what]["tokens_per_s"]


def compare_section(compare):
    out = []
    for kind, variants in compare.items():
        variants = {name: runs for name, runs in variants.items() if runs}
        if not variants:
            continue
        figures = []
        for what in ("prefill", "decode") + (("load",) if kind == "pages" else ()):
            groups = [(name, spread([taken(r, what) for r in runs])) for name, runs in variants.items()]
            figures.append(dots(what, UNITS[what], groups))
        rows = [[name, *(three(spread([taken(r, w) for r in runs])) for w in ("prefill", "decode", "load")),
                 f"{runs[0]['pages']['1g_bytes'] / 1e6:.0f} / {runs[0]['pages']['2m_bytes'] / 1e6:.0f} / "
                 f"{runs[0]['pages']['other_bytes'] / 1e6:.0f}", len(runs)] for name, runs in variants.items()]
        out.append(f"<h2>{text(TITLES.get(kind, kind))}</h2>"
                   + table(["", "prefill tokens/s", "decode tokens/s", "load GB/s", "MB on 1 GiB / 2 MiB / other pages",
                            "rounds"], rows)
                   + f'<div class="figures small">{"".join(figures)}</div>')
    if out:
        out[0] += '<p class="soft">Rounds alternate between the variants; each is a fresh process. Min, median, max.</p>'
    return "".join(out)


def phases_section(sweep):
    """Shares of worker 0's time in the graph, of the sweep that the glance tells of."""
    phases = (sweep or {}).get("phases", {})
    names = list(dict.fromkeys(name for p in phases.values() for name in p if name != "steps"))
    rows = []
    for key, what in (("few_tokens", "few tokens (decode)"), ("many_tokens", "many tokens (prefill)")):
        found = {name: phases.get(key, {}).get(name, [0, 0]) for name in names}
        total = sum(map(sum, found.values()))
        if total > 0:
            rows.append([what, f"{1e3 * total / max(1, phases[key]['steps']):.3f}",
                         *(f"{100 * run / total:.1f} %" for run, _ in found.values()),
                         f"{100 * sum(wait for _, wait in found.values()) / total:.1f} %"])
    if not rows:
        return ""
    return ("<h2>Where the time of a step goes</h2>" + table(["steps of", "ms in the graph", *names, "waiting"], rows)
            + '<p class="soft">Worker 0, phase by phase; waiting: until the other workers have arrived.</p>')


def links_section(links):
    if not links:
        return ""
    nodes = sorted({l["memory_node"] for l in links})
    found = {(l["reading_node"], l["memory_node"]): l["bytes_per_s"] for l in links}
    rows = [[f"workers of node {a}", *(f"{found.get((a, b), 0) / 1e9:.2f}" for b in nodes)] for a in nodes]
    return "<h2>Read bandwidth, GB/s</h2>" + table(["", *(f"memory of node {b}" for b in nodes)], rows)


# --- the whole ---

def base_sweep(report):
    return report["sweeps"].get("one") or next(iter(report["sweeps"].values()), None)


def glance(report):
    base = base_sweep(report)
    if not base:
        return ""
    d = base["decode"]
    rows = [["prefill", f"{base['prefill']['tokens_per_s']:.1f} tokens/s", f"best of prompts of {base['prefill']['tokens']:.0f} tokens"],
            ["decode", f"{d['tokens_per_s']:.1f} tokens/s", f"{d['tokens']:.0f} tokens, {d['batch']:.0f} sequence(s)"],
            ["read by decode", f"{d['bytes_per_s'] / 1e9:.2f} GB/s",
             f"{100 * d['bandwidth_fraction']:.0f} % of the read bandwidth: packed weights, keys and values"],
            ["read bandwidth", f"{base['read_bandwidth_bytes_per_s'] / 1e9:.2f} GB/s", f"all {base['threads']} workers over 1 GiB, the best"],
            ["load", f"{base['load_bytes_per_s'] / 1e9:.2f} GB/s", f"{base['load_seconds']:.2f} s, packed and placed"],
            ["computed by", base["level"], f"{base['threads']} workers on {base['nodes']} node(s)"
             f"{'' if base['pinned'] else ', not pinned'}, activations {base['activations']}"]]
    return table(["", "", ""], rows, words=True)


def page(report):
    """The page, as text."""
    base = next(iter(report["sweeps"].values()), {})
    model = base.get("model", {})
    host = report["host"]
    title = f"Tenon on {host.get('CPU', 'this host')}"
    skipped = "".join(f"<li>{text(s)}</li>" for s in report["skipped"])
    return (f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{text(title)}</title><style>{STYLE}</style></head><body><h1>{text(title)}</h1>"
            f'<p class="soft">{text(model.get("name", ""))}, {text(model.get("architecture", ""))}, '
            f'{text(model.get("types", ""))}; {text(report["model_file"])}; {text(report["tenon"])}; {text(report["date"])}'
            f'{"; quick form: times say little" if report["quick"] else ""}</p>'
            + glance(report) + links_section(base.get("links")) + phases_section(base_sweep(report))
            + sweeps_section(report["sweeps"])
            + compare_section(report["compare"]) + kernels_section(report["kernels"])
            + ("<h2>Left out</h2><ul>" + skipped + "</ul>" if skipped else "")
            + "<h2>Host</h2>" + table(["", ""], sorted(host.items()), words=True)
            + "<h2>Commands</h2><pre>" + text("\n".join(report["commands"])) + "</pre></body></html>\n")
