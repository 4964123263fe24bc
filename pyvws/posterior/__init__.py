"""The pseudo posterior, the clamp, the draws of a fit, and what the draws predict."""
