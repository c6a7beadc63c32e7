"""Makes the site of more than `docs/`: of README.md, and of every file of the repository that a page links to.

Pages of `docs/` keep their path without `docs/`, README.md is the home page, and everything else keeps the path that it has
in the repository. Links are rewritten accordingly, so that documents link to each other in the way that works in the
repository. A directory in the navigation (`decisions/`) stands for its pages, by name.
"""

import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
HOME = "README.md"
# Where the library is that draws diagrams, and where it goes. The theme would load it from another server.
MERMAID = os.environ.get("GANCHO_SITE_MERMAID")
SCRIPT = "assets/mermaid.min.js"
STYLE = "assets/site.css"


def site_path(path):
    """Where a file of the repository is in the site."""
    return "index.md" if path == HOME else path.removeprefix("docs/")


def repository_path(page_path):
    """The reverse, for a page."""
    if page_path == "index.md":
        return HOME
    return f"docs/{page_path}" if (ROOT / "docs" / page_path).is_file() else page_path


def outside_of_code(markdown, change):
    """Changes what is not in a fenced block."""
    in_code = False
    for line in markdown.split("\n"):
        if line.lstrip().startswith("```"):
            in_code = not in_code
            yield line
        else:
            yield line if in_code else change(line)


def target_of(document, link):
    """The file of the repository that a link of a document leads to, or nothing if it leads elsewhere."""
    file = link.partition("#")[0]
    if not file or ":" in file:
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(document), file))
    if (ROOT / path).is_dir():
        path = posixpath.join(path, "README.md")
    return path if not path.startswith("..") and (ROOT / path).is_file() else None


def targets(document):
    found = set()

    def see(line):
        found.update(filter(None, (target_of(document, link) for _, link, _ in LINK.findall(line))))
        return line

    list(outside_of_code((ROOT / document).read_text(), see))
    return found


def on_config(config):
    config.extra_css.append(STYLE)
    config.nav = [expanded(entry) for entry in config.nav]
    return config


def expanded(entry):
    if isinstance(entry, str):
        return entry
    [(title, content)] = entry.items()
    if isinstance(content, str):
        return entry
    pages = []
    for item in content:
        if isinstance(item, str) and item.endswith("/"):
            below = sorted((ROOT / "docs" / item).glob("*.md"))
            pages += [item + page.name for page in below if page.name != "README.md"]
        else:
            pages.append(expanded(item))
    return {title: pages}


def on_files(files, config):
    files.append(File.generated(config, STYLE, content=Path(__file__).with_name("site.css").read_bytes()))
    if MERMAID:
        files.append(File.generated(config, SCRIPT, content=Path(MERMAID).read_bytes()))
    wanted = [HOME] + [f"docs/{file.src_uri}" for file in files if file.src_uri.endswith(".md")]
    seen = set(wanted)
    while wanted:
        document = wanted.pop()
        if not document.startswith("docs/"):
            files.append(File.generated(config, site_path(document), content=(ROOT / document).read_bytes()))
        linked = targets(document) - seen if document.endswith(".md") else set()
        seen |= linked
        wanted += [path for path in linked if not path.startswith("docs/")]
    return files


def on_page_markdown(markdown, page, **_):
    document = repository_path(page.file.src_uri)
    folder = posixpath.dirname(page.file.src_uri) or "."

    def rewrite(match):
        target = target_of(document, match[2])
        if target is None:
            return match[0]
        anchor = "".join(match[2].partition("#")[1:])
        return match[1] + posixpath.relpath(site_path(target), folder) + anchor + match[3]

    return "\n".join(outside_of_code(markdown, lambda line: LINK.sub(rewrite, line)))


def on_post_page(output, page, **_):
    if not MERMAID or 'class="mermaid"' not in output:
        return output
    script = posixpath.relpath(SCRIPT, page.url or ".")
    return output.replace("</head>", f'<script src="{script}"></script></head>', 1)
