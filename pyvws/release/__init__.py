"""A run: it turns a table and settings into the folders release/ and confidential/."""
