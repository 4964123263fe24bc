"""The pseudo posterior, the clamp, and what its draws predict."""
