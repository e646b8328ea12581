"""What an operator does to a tree: check and repair it, try failures again, pause and stop, test the mount."""
