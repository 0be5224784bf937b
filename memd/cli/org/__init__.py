"""What everybody knows: facts, their past, proposals, the graph, the owner's signature."""
