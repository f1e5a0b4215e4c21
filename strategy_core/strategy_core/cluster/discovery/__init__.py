"""Finds the tasks of a cluster: addresses, resolvers, and whether they answer.

TensorFlow's resolvers run in a child process (`resolvers`); nothing else imports TensorFlow.
"""
