"""Predictability: how much a release tells an attacker who already holds a part of the data."""
