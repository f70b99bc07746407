"""What is wrong with a built page in a real browser: overflow, pictures, formulas, links."""

import re
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

FOUND = r"""
(width) => {
  const found = [];
  const say = (kind, what) => found.push([kind, what]);
  const name = (e) => e.tagName.toLowerCase() + (e.className ? '.' + e.className : '')
    + ' "' + e.textContent.replace(/\s+/g, ' ').trim().slice(0, 60) + '"';
  const article = document.querySelector('article')
    || document.querySelector('main') || document.body;
  const root = document.documentElement;
  if (root.scrollWidth > width) say('overflow', `${root.scrollWidth} px wide in ${width}`);

  for (const e of article.querySelectorAll('*')) {
    const hides = ['hidden', 'clip'].includes(getComputedStyle(e).overflowX);
    if (hides && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1) say('clipped', name(e));
  }
  if (width >= 1000) for (const e of article.querySelectorAll('pre, table, div.math')) {
    const box = e.tagName === 'TABLE' ? e.parentElement : e;
    if (box.scrollWidth > box.clientWidth + 1) say('scrolls', name(e));
  }
  for (const e of document.images) if (!e.naturalWidth) say('picture', e.getAttribute('src'));

  const formulas = [...article.querySelectorAll('math')];
  for (const e of formulas) {
    const box = e.closest('div.math, td, dd, dt, li, p, h1, h2, h3') || article;
    const [own, around] = [e.getBoundingClientRect(), box.getBoundingClientRect()];
    const room = getComputedStyle(box).overflowX === 'auto' ? box.scrollWidth : around.width;
    if (own.width < 2 || own.height < 2) say('formula', 'empty: ' + name(e));
    if (own.left < around.left - 2 || own.right > around.left + room + 2)
      say('formula', 'outside its box: ' + name(e));
  }
  const fonts = [...document.fonts].filter((f) => f.status === 'loaded').map((f) => f.family);
  const math = fonts.some((family) => family.includes('Pages Math'));
  if (formulas.length && !math) say('formula', 'the mathematical font was not loaded');
  const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement.closest('pre, code, script, style, math')) continue;
    if (/\\[a-zA-Z]{2,}|:math:|\$\$/.test(node.data)) say('formula', 'TeX: ' + node.data.trim());
  }
  return found;
}
"""


def wrong(page, path, width):
    """Pairs (kind, what) of what is wrong with a page at a width, the browser's own remarks too."""
    heard = []

    def on_console(message):
        if message.type == "error":
            heard.append(("console", message.text))

    def on_request(request):
        if urlsplit(request.url).scheme not in {"file", "data"}:
            heard.append(("network", request.url))

    def on_error(error):
        heard.append(("console", str(error)))

    listeners = {"console": on_console, "request": on_request, "pageerror": on_error}
    for event, listener in listeners.items():
        page.on(event, listener)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(path.as_uri())
    page.evaluate("document.fonts.ready")
    found = [tuple(pair) for pair in page.evaluate(FOUND, width)]
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    return found + heard


HREF = re.compile(r'<a\b[^>]*?\bhref="([^"]*)"')
ID = re.compile(r'\b(?:id|name)="([^"]*)"')


def broken_links(pages):
    """Pairs (page, link) of links inside the pages to a file or a place that is not there."""
    texts = {path: path.read_text(encoding="utf-8") for path in pages}
    places = {path: set(ID.findall(text)) for path, text in texts.items()}
    for path, text in texts.items():
        for link in sorted(set(HREF.findall(text))):
            address, place = urldefrag(urljoin(path.as_uri(), link.replace("&amp;", "&")))
            parts = urlsplit(address)
            if parts.scheme != "file":
                continue
            target = Path(unquote(parts.path))
            known = places.get(target)
            if not target.exists() or (place and known is not None and unquote(place) not in known):
                yield path, link
