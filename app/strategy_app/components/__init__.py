"""Streamlit components whose canvas JavaScript draws, mounted once.

The JavaScript itself is in `app/strategy_app/frontend`.
"""
