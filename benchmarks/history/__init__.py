"""Predictions from history alone, judged by a corpus of real event logs, and the program that recorded it."""
