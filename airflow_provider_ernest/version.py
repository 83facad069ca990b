"""The version of the package, apart from its public names: whoever states it would import all of them."""

__version__ = "0.2.0"
