"""Runs on disk: what was asked, what happened, what it means. No TensorFlow, no Streamlit."""
