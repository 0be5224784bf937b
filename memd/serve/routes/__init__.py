"""The methods of the socket, a module for each area; ``routes.py`` has them all."""
