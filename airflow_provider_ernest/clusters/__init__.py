"""What starts and ends machines: one cluster kind a module, all of them behind the same documents."""
