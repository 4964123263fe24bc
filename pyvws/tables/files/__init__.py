"""Tables on disk and in memory: read, in steps too, laid out anew, and written."""
