"""What a user installs: the wheel, by pip, uv and pipx, and the container."""
