"""The least that Streamlit can show: a sentence, and one chart without data. Served by itself.

python -m benchmarks.programs.empty_page --port N
"""

from __future__ import annotations

import sys

import plotly.graph_objects as go
import streamlit as st


def page() -> None:
    st.html('<div class="lab-headline">Nothing.</div>')
    if "charts" in st.query_params:
        st.plotly_chart(go.Figure())


def main() -> None:
    options = {
        "server.address": "127.0.0.1",
        "server.port": int(sys.argv[sys.argv.index("--port") + 1]),
        "server.headless": True,
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": False,
        "client.toolbarMode": "minimal",
    }
    st.App(__file__).run(config=options)


if st.runtime.exists():
    page()
elif __name__ == "__main__":
    main()
