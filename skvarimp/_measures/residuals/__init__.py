"""Entries as predicted from the other columns: `conditional="residuals"`."""
