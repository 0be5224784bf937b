"""The optional language model: providers, budget, and the fallback without it.

Nothing of it is loaded if no provider is set; every outgoing prompt is screened for secrets;
a failing provider costs detail, never a memory. It never writes memories.
"""
