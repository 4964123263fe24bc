"""The samplers of a pseudo posterior, one a module, and what Stan engines share."""
