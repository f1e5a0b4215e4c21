"""MkDocs calls this: the pages in the folders of `plugins/` are pages of the site, too."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for page in sorted(ROOT.glob("plugins/*/*.md")):
        address = page.relative_to(ROOT).as_posix()
        files.append(File.generated(config, address, abs_src_path=str(page)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Links lead from file to file of the repository; the site has the pages of `docs/` on top."""
    up = "../" * page.file.src_uri.count("/")
    if page.file.src_uri.startswith("plugins/"):
        return markdown.replace(f"]({up}docs/", f"]({up}")
    return markdown.replace(f"]({up}../plugins/", f"]({up}plugins/")
