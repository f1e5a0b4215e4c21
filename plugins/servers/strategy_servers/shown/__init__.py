"""What is said of parameter servers: a question and its page. Imports no TensorFlow."""
