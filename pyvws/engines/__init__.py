"""The samplers of a pseudo posterior, one a module, and the code that Stan engines share."""
