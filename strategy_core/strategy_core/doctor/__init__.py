"""What an installation of the lab has, what it lacks, and what each missing part costs.

Free of TensorFlow: a process of its own imports it, with a time limit. It installs nothing.
"""
