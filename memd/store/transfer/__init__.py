"""Export and import a whole profile as records that do not depend on a store's keys.

An import keeps all dates and ids, stores nothing twice, and never overwrites newer data.
"""
