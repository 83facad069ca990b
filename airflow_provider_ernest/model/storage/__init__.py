"""How a store keeps its documents: files, the catalogue of them, what is torn, left over or removed."""
