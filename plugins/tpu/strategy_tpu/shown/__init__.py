"""What is said of TPU cores: a question, its page, and the layout in the form of a new run.

Nothing here imports TensorFlow.
"""
