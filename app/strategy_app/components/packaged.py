"""Components whose JavaScript and CSS are files under `app/strategy_app/frontend`, served once and
cached.

Streamlit finds such files through the manifest of an installed package. An editable install of a
distribution that holds several packages is not found that way, so the same manifest is registered
here, with the manager of the runtime that draws the page (`AppTest` makes one for each test).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

FRONTEND = Path(__file__).parent.parent / "frontend"
_PACKAGE = "strategy-lab"


class Packaged:
    """A component of the lab, named after its folder under `app/strategy_app/frontend`."""

    def __init__(self, folder: str, *, isolate_styles: bool = True) -> None:
        self.name = f"{_PACKAGE}.{folder}"
        self._folder = folder
        self._isolate_styles = isolate_styles
        self._mount: Any = None

    def __call__(self, *, key: str, data: dict[str, Any], **options: Any) -> Any:
        """Draw it. The same `key` is the same instance: it is not mounted again."""
        manager = get_bidi_component_manager()
        if manager.get_component_asset_root(self.name) is None:
            manifest = ComponentManifest(_PACKAGE, "1", [ComponentConfig(self._folder, ".")])
            manager.register_from_manifest(manifest, FRONTEND)
        if self._mount is None:
            self._mount = st.components.v2.component(
                self.name,
                html='<div class="strategy-lab"></div>',
                css=f"{self._folder}/style.css",
                js=f"{self._folder}/index.js",
                isolate_styles=self._isolate_styles,
            )
        return self._mount(key=key, data=data, **options)
