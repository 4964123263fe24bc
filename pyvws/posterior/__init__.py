"""The pseudo posterior, the clamp, the draws of a fit, and predictions from draws."""
