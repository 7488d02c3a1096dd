"""What several features do together: interactions, and shares of the variance."""
