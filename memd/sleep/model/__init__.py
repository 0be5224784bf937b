"""What a language model writes in naps and nights, and its checks; imported only with a model."""
