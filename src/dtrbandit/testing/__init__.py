"""Contracts that extensions must keep, shipped so that their authors can run them."""

from dtrbandit.testing.environment_contract import EnvironmentContract
from dtrbandit.testing.policy_contract import PolicyContract
from dtrbandit.testing.storage_contract import StorageContract

__all__ = ["EnvironmentContract", "PolicyContract", "StorageContract"]
