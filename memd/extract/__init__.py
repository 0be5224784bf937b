"""Extract things, statements, times and events from texts, and classify turns in passing.

Rules for several languages, each in linear time. Pure.
"""
