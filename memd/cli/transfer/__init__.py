"""Import of notes, sessions and exports of other programs; export of memories."""
