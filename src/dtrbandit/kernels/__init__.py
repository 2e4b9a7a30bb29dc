"""Numerics that know no domain word: arrays in, arrays out."""
