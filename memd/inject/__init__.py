"""Memories are put into prompts: fenced, within a budget, each once.

Never raises for a prompt's sake: what fails is left out.
"""
