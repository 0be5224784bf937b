"""The embedding model and the re-ranker: fetched, installed, and run in a thread each.

No other package loads a model.
"""
