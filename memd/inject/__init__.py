"""Put memories into prompts: fenced, within a budget, each memory once.

A fault in a memory never costs an assistant its prompt: what fails is left out.
"""
