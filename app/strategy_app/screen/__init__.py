"""Shows answers (`strategy_profiles.answers`) on a page of Streamlit."""
