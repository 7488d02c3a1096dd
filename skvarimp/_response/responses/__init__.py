"""One file per kind of model: its ICE curves, exactly."""
