"""What several inputs do together: interactions, and shares of the variance."""
