"""Constants to compute with by hand."""

from dtrbandit.theory import Constants

CASE = Constants(
    d=3, x_max=2.0, x_inf=1.0, b_max=5.0, sigma=0.5,
    alpha=(1.0, 1.0), gamma=(1.5, 0.75), delta=(0.5, 0.25), phi=(0.1, 0.2),
)  # fmt: skip
