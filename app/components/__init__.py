"""The page's own components: canvases that JavaScript draws, mounted once."""
