"""Contracts that extensions must keep, shipped so that their authors can run them."""

from dtrbandit.testing.policy_contract import PolicyContract

__all__ = ["PolicyContract"]
