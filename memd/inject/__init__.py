"""Put memories into prompts: fenced, within a budget, each memory once.

A source that fails is left out, so that the assistant gets its prompt in any case.
"""
