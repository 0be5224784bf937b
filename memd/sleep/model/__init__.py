"""What a language model writes in naps and nights, with its checks; imported only with a model."""
