"""Backward induction: a regression for each stage and arm, the last stage first, and what each unit has in it."""
