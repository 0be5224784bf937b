"""The embedding model and the re-ranker: fetched, installed, run in a thread each.

Nothing else loads a model.
"""
