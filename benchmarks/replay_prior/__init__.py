"""What the replay of an earlier run is worth to the design of samples and to the model fitted to them."""
