"""From a table and settings to release/ and confidential/."""
