"""A lecture of eleven scenes; each has one idea, one question and the recording that answers it.

One scene, one file in `scenes`. Its module has `TITLE`, `RECORDING` (a program of the Contexts page
or a run) and `ask(recording)`, which computes the question and its right answer from the recording.
`course` has their order. Free of TensorFlow.
"""
