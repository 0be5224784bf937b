"""A nap: what one session's window is worth is kept before the window is lost (SPEC 6).

Promises that the messages, the memories made of them and the record of the run
are one write, that the same nap again adds nothing, and that it needs no
language model. Start at ``nap.py``; what is worth keeping is decided in ``distil``.
"""
