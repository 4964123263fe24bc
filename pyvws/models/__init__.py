"""The families of outcomes, one a module, over a shared regression base."""
