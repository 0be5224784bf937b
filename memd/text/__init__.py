"""Clean, chunk, count, route and score texts.

Pure functions: no module loads a model, and only ``tokens`` opens a file, a model's vocabulary.
"""
