"""What `skvarimp.inspection` puts in place of scikit-learn's slow parts."""
