"""What an installation of the lab has, what it lacks, and what each missing part costs.

`report` has the checks in order; `verb` prints them, and `page` shows them. It installs nothing,
and imports TensorFlow in a process of its own, with a time limit (`installation`).
"""
