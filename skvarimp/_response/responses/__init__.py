"""One file a kind of model: its ICE curves, exactly."""
