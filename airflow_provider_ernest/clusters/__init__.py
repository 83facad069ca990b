"""Kinds of clusters: each starts and ends its machines, behind the same documents."""
