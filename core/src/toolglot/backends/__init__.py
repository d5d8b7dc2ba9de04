"""Engines that have no model of their own, behind the engine protocol."""
