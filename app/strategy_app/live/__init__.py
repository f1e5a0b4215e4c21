"""A run that is being followed: one reader per run, and what it sends to browsers.

No Streamlit: the canvas receives this by WebSocket.
"""
