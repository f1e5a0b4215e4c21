"""What is said of each question about a run: one module a question, for every surface.

`analysis` measures; a question's module puts its numbers into an `answers.answer.Answer`.
"""
