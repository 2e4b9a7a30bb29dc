"""The plain refit: the policies as they are read off the paper, fitting everything again after each fact."""
