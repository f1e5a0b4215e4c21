"""Parts that every page is made of: tiles, empty states, the run picker, banners."""
