"""A dozen times that are to be watched over commits, by asv.

pip install asv virtualenv
cd benchmarks/tracked && asv run HEAD~10..HEAD && asv publish && asv preview
"""
