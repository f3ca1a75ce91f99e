"""A report as one HTML file: nothing is loaded from anywhere."""

import base64
import html
from collections.abc import Iterable, Sequence

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
img { max-width: 100%; }
table { border-collapse: collapse; } th, td { padding: .25rem .8rem; text-align: right; }
th { border-bottom: 2px solid #888; } td { border-bottom: 1px solid #ddd; }
td.word, th.word { text-align: left; }
.right { color: #2f7d54; } .wrong { color: #c8443c; font-weight: bold; }
p.note { color: #666; font-size: .9rem; }
"""


def page(title: str, *blocks: str) -> str:
    """A whole document from blocks of HTML."""
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    body = "\n".join((f"<h1>{html.escape(title)}</h1>", *blocks))
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def heading(text: str) -> str:
    """Begins a section."""
    return f"<h2>{html.escape(text)}</h2>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph, plain or of a kind: `note`, `right` or `wrong`."""
    return f'<p class="{kind}">{html.escape(text)}</p>'


def picture(png: bytes, description: str) -> str:
    """A PNG inside the page itself."""
    data = base64.b64encode(png).decode()
    return f'<img alt="{html.escape(description)}" src="data:image/png;base64,{data}">'


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Words to the left, numbers to the right."""
    rows = [list(row) for row in rows]
    words = [isinstance(value, str) for value in rows[0]]

    def line(tag: str, values: Sequence[object]) -> str:
        cells = (
            f'<{tag} class="{"word" if word else ""}">{html.escape(_text(value))}</{tag}>'
            for value, word in zip(values, words, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    lines = [line("th", header), *(line("td", row) for row in rows)]
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def _text(value: object) -> str:
    return value if isinstance(value, str) else f"{value:.1f}"
