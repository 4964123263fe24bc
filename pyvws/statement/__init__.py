"""The privacy cost of a release, and the words of its statement."""
