"""What the plot-*.py scripts share: arguments, matplotlib, rows of spans."""

import os
import sys


def fail(text):
    """Ends the script with `SCRIPT: error: text`."""
    sys.exit(f"{os.path.basename(sys.argv[0])}: error: {text}")


def arguments(doc, known):
    """(input path, output path, {name: value}) of `IN OUT --name=value ..`; prints doc if
    a name is not in known or a path is missing."""
    plain = [a for a in sys.argv[1:] if not a.startswith("--")]
    flags = [a[2:].partition("=") for a in sys.argv[1:] if a.startswith("--")]
    given = {name: value for name, equals, value in flags if equals}
    if len(plain) != 2 or len(given) != len(flags) or set(given) - set(known):
        sys.exit(doc)
    return plain[0], plain[1], given


def pyplot():
    """matplotlib.pyplot for files, without a display."""
    try:
        import matplotlib
    except ImportError:
        fail("needs matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as module
    return module


def colours(plt, names, palette="tab20"):
    """{name: colour}, the same for the same names."""
    cmap = plt.get_cmap(palette)
    return {name: cmap(i % cmap.N) for i, name in enumerate(names)}


def spans(plt, rows, unit):
    """Figure and axes with one bar a span: rows is {label: [(kind, begin, length)]}, from the
    top down; a colour a kind, begin and length in `unit`."""
    kinds = sorted({kind for row in rows.values() for kind, _, _ in row})
    colour = colours(plt, kinds)
    figure, axes = plt.subplots(figsize=(16, 0.45 * len(rows) + 1.5))
    used = {}
    for y, row in enumerate(rows.values()):
        for kind, begin, length in row:
            used[kind] = axes.barh(y, length, left=begin, height=0.8, color=colour[kind])
    axes.set_yticks(range(len(rows)), list(rows), fontsize=7)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.legend(list(used.values()), list(used), fontsize=6, loc="upper left",
                bbox_to_anchor=(1.0, 1.0))
    return figure, axes


def save(figure, path):
    figure.tight_layout()
    figure.savefig(path, dpi=130)
