"""Estimators of the Q-functions (paper, section 3.1): backward induction and optimistic ridge."""
