"""The demonstration on the EC2 test bed: real machines' behaviour, and nothing to pay."""
