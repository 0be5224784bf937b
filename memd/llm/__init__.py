"""The optional language model: who answers, within which budget, and what happens without it.

Promises: nothing of it is loaded where no provider is set; every prompt that leaves is screened
for secrets; a provider that fails costs detail, never a memory. It never writes memories.
"""
